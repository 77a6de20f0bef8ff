"""`athand flows …`: everything that can be done with recorded sessions."""

from athand.adapters.cli import flows_exchange, flows_find, flows_record, flows_replay
from athand.adapters.cli.groups import SectionedGroup

flows = SectionedGroup(
    "flows",
    help="UI sessions that were walked, and what is known about each screen.",
    sections={
        "Find": flows_find.commands,
        "Record": flows_record.commands,
        "Use again": flows_replay.commands,
        "Keep and move": flows_exchange.commands,
    },
)

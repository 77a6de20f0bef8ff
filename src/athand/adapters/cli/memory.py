"""`athand memory …`: everything that can be done with memories."""

from athand.adapters.cli import memory_change, memory_exchange, memory_find, memory_relate, memory_session
from athand.adapters.cli.groups import SectionedGroup

memory = SectionedGroup(
    "memory",
    help="Keep and find what should be remembered.",
    sections={
        "Keep and find": memory_find.commands,
        "Change": memory_change.commands,
        "Replace and relate": memory_relate.commands,
        "Time and sessions": memory_session.commands,
        "Everything": memory_exchange.commands,
    },
)

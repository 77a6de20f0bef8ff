"""`athand docs …`: everything that can be done with documents."""

from athand.adapters.cli import docs_find, docs_folders, docs_read
from athand.adapters.cli.groups import SectionedGroup

docs = SectionedGroup(
    "docs",
    help="Index folders of files, find passages in them, read them.",
    sections={
        "Folders": docs_folders.commands,
        "Find": docs_find.commands,
        "Look around and read": docs_read.commands,
    },
)

"""`athand memory …`: count all memories, write them to a file, read them from one."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import echo, pluralize

if TYPE_CHECKING:
    from athand.memories import Memories

commands = click.Group()


@command(commands, "stats")
@options.of("memories:Memories.stats", "project")
def stats(session: Session, /, project: str | None) -> None:
    """Count memories by project, sector, tier and type."""
    with session.open() as athand:
        found = athand.memories.stats(project)
    if not session.print_plain(found, data="memories"):
        from athand.adapters.cli.render_memories import print_stats

        print_stats(session.console(), found)


@command(commands, "export")
@click.argument("path")
@options.of("memories:Memories.export", "project")
def export(session: Session, /, path: str, project: str | None) -> None:
    """Write everything to PATH as JSON lines; `-` writes to standard output.

    Importing the file gives the same memories, deleted ones too, with their sessions and relations.
    """
    with session.open() as athand:
        if path == "-":
            _write_to_standard_output(athand.memories, project)
            return
        count = athand.memories.export(path, project=project)
    if session.as_json:
        session.show({"memories": count})
    elif session.quiet:
        echo(count)
    else:
        session.say(f"Exported {pluralize(count, 'memory', 'memories')} to {path}")


def _write_to_standard_output(memories: "Memories", project: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memories.jsonl"
        memories.export(file, project=project)
        with file.open("rb") as source:
            shutil.copyfileobj(source, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@command(commands, "import", creates=True)
@click.argument("path")
@options.of("memories:Memories.import_", "project", "format")
def import_(session: Session, /, path: str, **given: str | None) -> None:
    """Read memories from PATH, all of them or none; `-` reads standard input.

    PATH is an export, a Markdown note or a folder of them, or the file of the MCP reference memory server. What is
    there already is not added twice.

    \b
    Examples:
      athand memory import memories.jsonl
      athand memory import ~/notes --project home
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand, _open_file(path) as file, session.show_progress("Importing") as progress:
        imported = athand.memories.import_(file, progress=progress, **given)
    known = f"; {imported.memories - imported.new:,} were there already" if imported.new < imported.memories else ""
    text = f"Imported {pluralize(imported.new, 'new memory', 'new memories')} from {path}{known}"
    session.report(imported, text) if not session.quiet else echo(imported.new)


@contextmanager
def _open_file(path: str) -> Iterator[str]:
    """The path of a file that can be read more than once."""
    if path != "-":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "standard-input"
        file.write_bytes(sys.stdin.buffer.read())
        yield str(file)

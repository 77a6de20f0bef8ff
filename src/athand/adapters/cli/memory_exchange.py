"""`athand memory …`: all of them at once, counted, written to a file, read from one."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import pluralize

if TYPE_CHECKING:
    from athand.memories import Memories

commands = click.Group()


@command(commands, "stats")
@options.project
def stats(session: Session, /, project: str | None) -> None:
    """Count what there is."""
    with session.open() as athand:
        found = athand.memories.stats(project)
    if not session.print_plain(found, data="memories"):
        from athand.adapters.cli.render_stats import print_stats

        print_stats(session.console(), found)


@command(commands, "export")
@click.argument("path")
@options.project
def export(session: Session, /, path: str, project: str | None) -> None:
    """Write everything to PATH as JSON lines; `-` writes to standard output.

    Importing the file gives the same memories, deleted ones too, with their sessions and relations.
    """
    with session.open() as athand:
        if path == "-":
            _to_standard_output(athand.memories, project)
            return
        written = athand.memories.export(path, project=project)
    _tell(session, written, f"Exported {pluralize(written, 'memory', 'memories')} to {path}")


def _to_standard_output(memories: "Memories", project: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memories.jsonl"
        memories.export(file, project=project)
        with file.open("rb") as source:
            shutil.copyfileobj(source, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@command(commands, "import")
@click.argument("path")
@click.option("--project", metavar="NAME", help="Where notes and foreign memories belong; an export says it itself.")
@click.option("--format", type=click.Choice(options.FORMATS), help="What the file is; found out, if not given.")
def import_(session: Session, /, path: str, **given: str | None) -> None:
    """Read memories from PATH, all of them or none; `-` reads standard input.

    PATH is an export, a Markdown note or a folder of them, or the file of the MCP reference memory server. What is
    there already is not added twice.

    \b
    Examples:
      athand memory import memories.jsonl
      athand memory import ~/notes --project home
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand, _file(path) as file, _progress(session) as progress:
        read = athand.memories.import_(file, progress=progress, **given)
    known = f"; {read.memories - read.new:,} were there already" if read.new < read.memories else ""
    text = f"Imported {pluralize(read.new, 'new memory', 'new memories')} from {path}{known}"
    session.report(read, text) if not session.quiet else click.echo(read.new)


@contextmanager
def _file(path: str) -> Iterator[str]:
    """The path of a file that can be read more than once."""
    if path != "-":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "standard-input"
        file.write_bytes(sys.stdin.buffer.read())
        yield str(file)


@contextmanager
def _progress(session: Session) -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (" Importing", BarColumn(), MofNCompleteColumn(separator=" / "), TimeRemainingColumn())
    console = session.console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=session.quiet or not console.is_terminal
    ) as progress:
        task = progress.add_task("Importing", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _tell(session: Session, count: int, text: str) -> None:
    if session.as_json:
        session.show({"memories": count})
    elif session.quiet:
        click.echo(count)
    else:
        session.say(text)

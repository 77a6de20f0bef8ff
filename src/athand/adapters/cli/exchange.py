"""`athand export` and `import`: all that is yours, as one file, and back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.session import Session, command, exit_on_sigterm
from athand.adapters.cli.words import pluralize, to_one_line

if TYPE_CHECKING:
    from athand.archive import Archived

_top = click.Group()


@command(_top, "export")
@click.argument("path")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def export(session: Session, /, path: str, force: bool) -> None:
    """Write all that is yours to one file.

    Memories with their sessions and relations, flows, tools with what you decided about them, and which folders you
    added; what is in the folders stays there. The file (a zip with JSON lines) can be read into a store of any engine.

    \b
    Example:
      athand export athand.zip
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with exit_on_sigterm(), session.open() as athand, _progress(session) as progress:
        done = athand.export(path, progress=progress, force=force)
    _tell(session, done, f"Exported to {path}")


@command(_top, "import")
@click.argument("path")
def import_(session: Session, /, path: str) -> None:
    """Read such a file into this store.

    What is there already stays as it is and is not added twice. Read only files of your own: they also say which tools
    you have approved.

    \b
    Example:
      athand import athand.zip
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with exit_on_sigterm(), session.open() as athand, _progress(session) as progress:
        done = athand.import_(path, progress=progress)
    for problem in done.problems:
        session.say(f" {click.style('!', fg='yellow')} {to_one_line(problem)}")
    _tell(session, done, f"Imported what is new in {path}")
    if done.folders and not session.as_json:
        session.say(" Folders are read with the next search, or now with: athand docs refresh")


def _tell(session: Session, done: "Archived", text: str) -> None:
    counts = done.to_dict()
    if session.as_json:
        session.show(counts)
        return
    nouns = {"memories": ("memory", "memories"), "sessions": ("flow", "flows"), "tools": ("tool", "tools")}
    nouns |= {"servers": ("server", "servers"), "rules": ("rule", "rules"), "folders": ("folder", "folders")}
    session.say(f"{text}: {', '.join(pluralize(counts[name], *noun) for name, noun in nouns.items())}")


@contextmanager
def _progress(session: Session) -> Iterator[Callable[[str, int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(" {task.description}"),
        BarColumn(),
        MofNCompleteColumn(separator=" / "),
        TimeRemainingColumn(),
    )
    console = session.console(stderr=True)
    hidden = session.quiet or session.as_json or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total or None)

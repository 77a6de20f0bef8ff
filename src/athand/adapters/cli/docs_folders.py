"""`athand docs …`: add folders, see how they are, keep them fresh, forget them."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.answers import NO_FOLDERS
from athand.adapters.cli.session import Session, command, confirm
from athand.adapters.cli.words import format_duration, pluralize
from athand.errors import NotFound

if TYPE_CHECKING:
    from athand.app import Athand
    from athand.documents import Folder

commands = click.Group()

Progress = Callable[[int, int], None]


@command(commands, "add")
@click.argument("path", metavar="FOLDER")
@click.option("--name", "folder_id", metavar="ID", help="What to call it; the folder's own name, if not given.")
@click.option("--project", metavar="NAME", help="Whose memories it is searched beside; all projects, if not given.")
def add(session: Session, /, path: str, **given: Any) -> None:
    """Index a folder of files, and keep it in mind.

    Text, Markdown, HTML, tables, source code, notebooks, PDF and office files are read; what .gitignore and
    .athandignore leave out is left out. One that is known already is brought up to date. Its files are not changed.

    \b
    Examples:
      athand docs add ~/notes
      athand docs add ./docs --name handbook --project shop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        with indexing_bar(session, given["folder_id"] or Path(path).name or path) as progress:
            folder = athand.documents.add(path, **options.drop_unset(given), progress=progress)
        _tell_indexed(session, athand, folder, progress.seconds)
    if not session.as_json:
        session.say(f' Ask it:  athand docs search "…" --folder {folder.folder_id}')


def _tell_indexed(session: Session, athand: "Athand", folder: "Folder", seconds: float) -> None:
    """What there is now in a folder, what was left out, and what is wrong."""
    if session.print_plain(folder, data="folder_id"):
        return
    from athand.adapters.cli.render_folders import print_indexed

    click.echo(
        f"Indexed {click.style(folder.folder_id, fg='cyan')}: {pluralize(folder.documents, 'document')} in "
        f"{pluralize(folder.chunks, 'chunk')} · {format_duration(seconds)}"
    )
    problems = athand.documents.problems(folder.folder_id) if folder.problems else []
    print_indexed(session.console(stderr=True), folder, problems)


@command(commands, "status")
@click.argument("folder", metavar="[FOLDER]", required=False)
@click.option("--problems", "with_problems", is_flag=True, help="Every file that could not be read, and why.")
def status(session: Session, /, folder: str | None, with_problems: bool) -> None:
    """Show the folders, how they are, and what is wrong.

    A folder is pending, indexing, ready, in error, or offline: then it is not there now, and what was indexed is still
    found. With --problems and --json, or -q, only the problems are printed.

    \b
    Examples:
      athand docs status
      athand docs status notes --problems
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        problems = athand.documents.problems(folder)
        folders = [each for each in athand.documents.list_folders() if folder in (None, each.folder_id)]
    if session.print_plain(
        problems if with_problems else folders, data="document_id" if with_problems else "folder_id"
    ):
        return
    from athand.adapters.cli.render_folders import print_folders, print_problems

    console = session.console()
    if folders:
        print_folders(console, folders)
    if with_problems and problems:
        console.print()
        print_problems(console, problems)
    if advice := _after_status(folders, folder, with_problems=with_problems):
        session.say(advice)


def _after_status(folders: "list[Folder]", asked: str | None, *, with_problems: bool) -> str:
    """What to know or to do next."""
    if not folders:
        return NO_FOLDERS
    if not any(each.problems for each in folders):
        return "\n No problems." if with_problems else ""
    again = f"athand docs status{f' {asked}' if asked else ''} --problems"
    return "" if with_problems else f"\n See what is wrong with:  {again}"


@command(commands, "refresh")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1)
def refresh(session: Session, /, folders: tuple[str, ...]) -> None:
    """Bring folders up to date now: those named, else all that are there.

    A search looks for changes by itself; this waits until every one of them is indexed.

    \b
    Example:
      athand docs refresh notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    fresh = []
    with session.open() as athand:
        known = athand.documents.list_folders()
        for folder_id in folders or [each.folder_id for each in known if each.state != "offline"]:
            with indexing_bar(session, folder_id) as progress:
                fresh.append(athand.documents.refresh(folder_id, progress=progress))
            if not session.as_json:
                _tell_indexed(session, athand, fresh[-1], progress.seconds)
    if session.as_json:
        session.print_plain(fresh)
    elif not known:
        session.say(NO_FOLDERS)


@command(commands, "watch")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1)
def watch(session: Session, /, folders: tuple[str, ...]) -> None:
    """Index what changes, as it changes, until you press Ctrl-C.

    One line for each time that something has changed: the folder, how many paths, and what is in it now.

    \b
    Example:
      athand docs watch notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        known = {each.folder_id: each for each in athand.documents.list_folders()}
        if not known:
            raise NotFound(NO_FOLDERS)

        def changed(folder_id: str, paths: int) -> None:
            now = {each.folder_id: each for each in athand.documents.list_folders()}
            _tell_change(session, now[folder_id], known.get(folder_id), paths)
            known[folder_id] = now[folder_id]

        athand.documents.watch(list(folders) or None, changed=changed)
        session.say(f" Watching {', '.join(folders or known)}. Stop with Ctrl-C.")
        threading.Event().wait()


def _tell_change(session: Session, folder: "Folder", before: "Folder | None", paths: int) -> None:
    if session.as_json:
        session.show({"paths": paths, "folder": folder.to_dict()})
        return
    if session.quiet:
        click.echo(folder.folder_id)
        return
    same = before is not None and before.generation == folder.generation
    what = f"{pluralize(paths, 'path')} changed" if paths else "looked at"
    click.echo(
        f" {datetime.now():%H:%M:%S}  {click.style(folder.folder_id, fg='cyan')}  {what} · "
        f"{'nothing to index' if same else 'indexed'} · {pluralize(folder.documents, 'document')}, "
        f"{pluralize(folder.chunks, 'chunk')}"
        + (f" · {pluralize(folder.problems, 'problem')}" if folder.problems else "")
    )


@command(commands, "remove")
@options.folder_id
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(session: Session, /, folder_id: str, yes: bool) -> None:
    """Forget a folder and its index; its files are not touched.

    \b
    Example:
      athand docs remove notes --yes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        athand.documents.problems(folder_id)  # an unknown name is said before anything is asked
        if not yes:
            confirm(f"Forget what was indexed of {folder_id!r}?")
        removed = athand.documents.remove(folder_id)
    if not session.print_plain(removed, data="folder_id"):
        name, documents = click.style(folder_id, fg="cyan"), pluralize(removed.documents, "document")
        session.say(f"Forgot {name} with {documents}. The files are still in {removed.path}")


class _Told:
    """Takes progress, and knows how long it took."""

    def __init__(self, show: Progress) -> None:
        self._show, self._began = show, time.perf_counter()

    def __call__(self, done: int, total: int) -> None:
        self._show(done, total)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began


@contextmanager
def indexing_bar(session: Session, name: str) -> Iterator[_Told]:
    """A bar on a terminal, until the work is done; nothing elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(" Indexing {task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(separator=" / "),
        TextColumn("files ·"),
        TimeRemainingColumn(),
    )
    console = session.console(stderr=True)
    hidden = session.quiet or session.as_json or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(name, total=None)
        yield _Told(lambda done, total: bar.update(task, completed=done, total=total))

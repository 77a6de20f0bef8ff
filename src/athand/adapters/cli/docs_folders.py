"""`athand docs …`: add folders, show their state, keep their indexes up to date, forget them."""

import threading
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.answers import NO_FOLDERS
from athand.adapters.cli.completion_values import complete_folder
from athand.adapters.cli.session import Session, command, confirm, exit_on_sigterm
from athand.adapters.cli.words import echo, format_duration, pluralize
from athand.errors import NotFound

if TYPE_CHECKING:
    from athand.app import Athand
    from athand.documents import Folder

commands = click.Group()


@command(commands, "add", creates=True)
@click.argument("path", metavar="FOLDER")
@options.of("documents:Documents.add", "folder_id", flags="--name")
@options.of("documents:Documents.add", "project")
def add(session: Session, /, path: str, **given: Any) -> None:
    """Index a folder of files, so that it can be searched.

    Text, Markdown, HTML, tables, source code, notebooks, PDF and office files are read; what .gitignore and
    .athandignore leave out is left out. A folder that is known already is brought up to date. Files are never changed.

    \b
    Examples:
      athand docs add ~/notes
      athand docs add ./docs --name handbook --project shop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with exit_on_sigterm(), session.open() as athand:
        started, name = time.perf_counter(), given["folder_id"] or Path(path).name or path
        with session.show_progress(f"Indexing {name}", unit="files") as progress:
            folder = athand.documents.add(path, **options.drop_unset(given), progress=progress)
        _print_indexed(session, athand, folder, time.perf_counter() - started)
    if not session.as_json:
        session.say(f' Ask it:  athand docs search "…" --folder {folder.folder_id}')


def _print_indexed(session: Session, athand: "Athand", folder: "Folder", seconds: float) -> None:
    """What is in a folder now, what was left out, and which files have problems."""
    if session.print_plain(folder, data="folder_id"):
        return
    from athand.adapters.cli.render_documents import print_indexed

    echo(
        f"Indexed {click.style(folder.folder_id, fg='cyan')}: {pluralize(folder.documents, 'document')} in "
        f"{pluralize(folder.chunks, 'chunk')} · {format_duration(seconds)}"
    )
    problems = athand.documents.problems(folder.folder_id) if folder.problems else []
    print_indexed(session.console(stderr=True), folder, problems)


@command(commands, "status")
@click.argument("folder", metavar="[FOLDER]", required=False, shell_complete=complete_folder)
@click.option("--problems", "with_problems", is_flag=True, help="List every file that could not be read, and why.")
def status(session: Session, /, folder: str | None, with_problems: bool) -> None:
    """Show the folders, their states and their problems.

    A folder is pending, indexing, ready, in error, or offline: not reachable now, but what was indexed is still found.
    One that is imported came with an archive, and is not read before you refresh it by its name.
    With --problems and --json, or -q, only the problems are printed.

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
    from athand.adapters.cli.render_documents import print_folders, print_problems

    console = session.console()
    if folders:
        print_folders(console, folders)
    if with_problems and problems:
        console.print()
        print_problems(console, problems)
    if advice := _advise(folders, folder, with_problems=with_problems):
        session.say(advice)


def _advise(folders: "list[Folder]", folder_id: str | None, *, with_problems: bool) -> str:
    """What to do next."""
    if not folders:
        return NO_FOLDERS
    if not any(each.problems for each in folders):
        return "\n No problems." if with_problems else ""
    again = f"athand docs status{f' {folder_id}' if folder_id else ''} --problems"
    return "" if with_problems else f"\n See the problems with:  {again}"


@command(commands, "refresh")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, shell_complete=complete_folder)
def refresh(session: Session, /, folders: tuple[str, ...]) -> None:
    """Bring the indexes of these folders up to date; default: of all that are not offline or imported.

    A search looks for changes by itself; this command waits until all of them are indexed.

    \b
    Example:
      athand docs refresh notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    refreshed = []
    with exit_on_sigterm(), session.open() as athand:
        known = athand.documents.list_folders()
        for folder_id in folders or [each.folder_id for each in known if each.state not in ("offline", "imported")]:
            started = time.perf_counter()
            with session.show_progress(f"Indexing {folder_id}", unit="files") as progress:
                folder = athand.documents.refresh(folder_id, progress=progress)
            refreshed.append(folder)
            if not session.as_json:
                _print_indexed(session, athand, folder, time.perf_counter() - started)
    if session.as_json:
        session.print_plain(refreshed)
    elif not known:
        session.say(NO_FOLDERS)


@command(commands, "watch")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, shell_complete=complete_folder)
def watch(session: Session, /, folders: tuple[str, ...]) -> None:
    """Watch folders and index what changes, until you press Ctrl-C.

    Prints a line for each change: the folder, how many paths changed, and what is in it now.

    \b
    Example:
      athand docs watch notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with exit_on_sigterm(), session.open() as athand:
        known = {each.folder_id: each for each in athand.documents.list_folders()}
        if not known:
            raise NotFound(NO_FOLDERS)

        def report_change(folder_id: str, paths: int) -> None:
            now = {each.folder_id: each for each in athand.documents.list_folders()}
            _print_change(session, now[folder_id], known.get(folder_id), paths)
            known[folder_id] = now[folder_id]

        athand.documents.watch(list(folders) or None, changed=report_change)
        session.say(f" Watching {', '.join(folders or known)}. Stop with Ctrl-C.")
        threading.Event().wait()


def _print_change(session: Session, folder: "Folder", before: "Folder | None", paths: int) -> None:
    if session.as_json:
        session.show({"paths": paths, "folder": folder.to_dict()})
        return
    if session.quiet:
        echo(folder.folder_id)
        return
    same = before is not None and before.generation == folder.generation
    what = f"{pluralize(paths, 'path')} changed" if paths else "looked at"
    echo(
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
        athand.documents.problems(folder_id)  # fails for an unknown name, before anything is asked
        if not yes:
            confirm(f"Forget what was indexed of {folder_id!r}?")
        removed = athand.documents.remove(folder_id)
    if not session.print_plain(removed, data="folder_id"):
        name, documents = click.style(folder_id, fg="cyan"), pluralize(removed.documents, "document")
        session.say(f"Forgot {name} with {documents}. The files are still in {removed.path}")

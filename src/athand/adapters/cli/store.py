"""Commands on the whole store: copy and distribute it, back it up and restore it, export and import user data."""

import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.session import Session, command, confirm, exit_on_sigterm
from athand.adapters.cli.words import echo, format_size, pluralize, to_one_line
from athand.errors import NotFound

if TYPE_CHECKING:
    from athand.archive import ExportCounts

_top = click.Group()


@click.group("store")
def store() -> None:
    """Create a store, copy it to another engine, or distribute it over machines."""


@command(store, "init", creates=True)
def init(session: Session) -> None:
    """Create the store, if it is not there yet.

    Commands that write create it, too; those that only read a store that --store names want it to be there.

    \b
    Example:
      athand store init --store ~/work.db
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        location = athand.status().store["location"]
    if session.as_json:
        session.show({"store": location})
    elif session.quiet:
        echo(location)
    else:
        session.say(f"The store is {location}")


@command(store, "copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(session: Session, source: str, target: str) -> None:
    """Copy everything to a new store, and compare both.

    FROM and TO are files or postgresql:// addresses. TO must be empty, or a copy of FROM that was cut off: then it
    goes on. FROM stays as it is.

    \b
    Example:
      athand store copy ~/athand.db postgresql://me@db.example.com/athand
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if "://" not in source and not Path(source).expanduser().exists():
        raise NotFound(f"There is no store {source}. Nothing was copied.")
    session.store = source
    with session.open() as athand, session.show_progress("Copying") as progress:
        rows = athand.copy_to(target, progress=progress)
    if session.as_json:
        session.show({"rows": rows, "verified": True})
        return
    for table, count in rows.items():
        session.say(f" {table:<16} {count:>9,}")
    session.say(" Copied and compared: every row and the whole index are the same.")


@command(store, "distribute")
def distribute(session: Session) -> None:
    """Distribute a PostgreSQL store over a Citus cluster."""
    with session.open() as athand:
        done = athand.distribute()
    if session.as_json:
        session.show({"tables": done})
        return
    for table, what in done.items():
        session.say(f" {table:<18} {what}")
    session.say(" Done." if done else " All tables are distributed already.")


@command(_top, "backup")
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def backup(session: Session, /, path: str | None, force: bool) -> None:
    """Copy the store to a file while it is in use.

    The copy is a snapshot of everything, is verified before it gets its name, and only you can read it. Without PATH
    it is put beside the store. Use the tools of PostgreSQL for stores on PostgreSQL.

    \b
    Examples:
      athand backup
      athand backup ~/backups/monday.db
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with exit_on_sigterm(), session.open() as athand:
        target = path or _default_backup_path(str(athand.status().store["location"]))
        written = athand.back_up(target, force=force)
    size = written.stat().st_size
    if session.as_json:
        session.show({"backup": str(written), "bytes": size, "verified": True})
    elif session.quiet:
        echo(str(written))
    else:
        session.say(f"Copied the store to {written} ({format_size(size)}) and verified it.")
        session.say(f" Put it back with: athand restore {shlex.quote(str(written))}")


def _default_backup_path(location: str) -> str:
    """A path beside the store, with the time in its name."""
    place = Path(location if "://" not in location and location != ":memory:" else "athand.db")
    return str(place.with_name(f"{place.stem}-{datetime.now():%Y-%m-%d-%H%M%S}.backup{place.suffix or '.db'}"))


@command(_top, "restore")
@click.argument("path")
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(session: Session, /, path: str, yes: bool) -> None:
    """Put a backup in the place of the store.

    The backup is verified first, and the store as it was is kept beside it. Nothing else may have the store open.

    \b
    Example:
      athand restore ~/backups/monday.db
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.app import restore as put_back
    from athand.config import load_settings

    location = session.store or load_settings(data_dir=session.data_dir).location
    if not yes and Path(location).expanduser().exists():
        confirm(f"Put {path} in the place of {location}?")
    with exit_on_sigterm():
        aside = put_back(location, path)
    if session.as_json:
        session.show({"store": location, "kept": None if aside is None else str(aside)})
    elif session.quiet:
        echo(location)
    else:
        session.say(f"Restored {location} from {path}.")
        if aside is not None:
            session.say(f" The store as it was before is kept in {aside}")


@command(_top, "export")
@click.argument("path")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def export(session: Session, /, path: str, force: bool) -> None:
    """Write all your data to one file.

    Memories with their sessions and relations, flows, tools with what you decided about them, and which folders you
    added; what is in the folders stays there. The file (a zip with JSON lines) can be read into a store of any engine.

    \b
    Example:
      athand export athand.zip
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with exit_on_sigterm(), session.open() as athand, session.show_progress("Exporting") as progress:
        done = athand.export(path, progress=lambda what, done, total: progress(done, total, what), force=force)
    _report_archive(session, done, f"Exported to {path}")


@command(_top, "import", creates=True)
@click.argument("path")
def import_(session: Session, /, path: str) -> None:
    """Read an exported file into this store.

    What is there already stays as it is and is not added twice. Tools wait for your approval, their servers for your
    trust, and folders are not read before you ask for it, as if you had never seen them: each is named.

    \b
    Example:
      athand import athand.zip
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with exit_on_sigterm(), session.open() as athand, session.show_progress("Importing") as progress:
        done = athand.import_(path, progress=lambda what, done, total: progress(done, total, what))
    for each in done.waiting:
        session.say(f" {to_one_line(each)}")
    _report_archive(session, done, f"Imported what is new in {path}")


def _report_archive(session: Session, done: "ExportCounts", text: str) -> None:
    counts = done.to_dict()
    for problem in done.problems:
        session.say(f" {click.style('!', fg='yellow')} {to_one_line(problem)}")
    if session.as_json:
        session.show(counts)
        return
    nouns = {"memories": ("memory", "memories"), "sessions": ("flow", "flows"), "tools": ("tool", "tools")}
    nouns |= {"servers": ("server", "servers"), "rules": ("rule", "rules"), "folders": ("folder", "folders")}
    session.say(f"{text}: {', '.join(pluralize(counts[name], *noun) for name, noun in nouns.items())}")

"""`athand backup` and `restore`: the whole store as a file, and back."""

import shlex
from datetime import datetime
from pathlib import Path

import click

from athand.adapters.cli.session import Session, command, confirm, exit_on_sigterm
from athand.adapters.cli.words import format_size

_top = click.Group()


@command(_top, "backup")
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def backup(session: Session, /, path: str | None, force: bool) -> None:
    """Copy the store to a file while it is in use.

    The copy is one moment of everything, is read and verified before it gets its name, and is for your eyes alone.
    Without PATH it is put beside the store. Stores on PostgreSQL are copied by the tools of PostgreSQL.

    \b
    Examples:
      athand backup
      athand backup ~/backups/monday.db
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with exit_on_sigterm(), session.open() as athand:
        target = path or _beside(str(athand.status().store["location"]))
        written = athand.back_up(target, force=force)
    size = written.stat().st_size
    if session.as_json:
        session.show({"backup": str(written), "bytes": size, "verified": True})
    elif session.quiet:
        click.echo(str(written))
    else:
        session.say(f"Copied the store to {written} ({format_size(size)}) and verified it.")
        session.say(f" Put it back with: athand restore {shlex.quote(str(written))}")


def _beside(location: str) -> str:
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
        click.echo(location)
    else:
        session.say(f"{location} is what {path} was.")
        if aside is not None:
            session.say(f" The store as it was before is kept in {aside}")

"""Commands about the store itself: moving it, and spreading it over machines."""

import sys
from pathlib import Path

import click

from athand.adapters.cli.session import Session, command
from athand.errors import NotFound


@click.group("store")
def store() -> None:
    """Move the store to another engine, or spread it over machines."""


@command(store, "copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(session: Session, source: str, target: str) -> None:
    """Copy everything to a new store, and compare both.

    FROM and TO are files or postgresql:// addresses. TO must be empty, or a copy of FROM that was cut off: then it
    goes on. FROM stays as it is.

    \b
      athand store copy ~/athand.db postgresql://me@db.example.com/athand
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if "://" not in source and not Path(source).expanduser().exists():
        raise NotFound(f"There is no store {source}. Nothing was copied.")
    session.store = source
    columns = (TextColumn(" Copying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = session.quiet or session.as_json or not sys.stderr.isatty()
    with (
        session.open() as athand,
        Progress(*columns, console=session.console(stderr=True), transient=True, disable=hidden) as bar,
    ):
        task = bar.add_task("")
        rows = athand.copy_to(target, progress=lambda done, total: bar.update(task, completed=done, total=total))
    if session.as_json:
        session.show({"rows": rows, "verified": True})
        return
    for table, count in rows.items():
        session.say(f" {table:<16} {count:>9,}")
    session.say(" Copied and compared: every row and the whole index are the same.")


@command(store, "distribute")
def distribute(session: Session) -> None:
    """Spread a PostgreSQL store over a Citus cluster."""
    with session.open() as athand:
        done = athand.distribute()
    if session.as_json:
        session.show({"tables": done})
        return
    for table, what in done.items():
        session.say(f" {table:<18} {what}")
    session.say(" Done." if done else " All tables are spread already.")

"""Online backup and restore of a SQLite database; a process killed in between loses nothing."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from athand.distribution import upgrade_hint
from athand.errors import Conflict, DataError, NotFound, StoreBusy, StoreError
from athand.files import create_private, sync
from athand.store.sqlite import maintenance
from athand.store.sqlite.schema import APPLICATION_ID, VERSION

_BUSY_MILLISECONDS = 2_000
_DISK = (apsw.FullError, apsw.IOError)


def back_up(source: apsw.Connection, target: Path, *, force: bool) -> None:
    """Writes a snapshot to a private file, under a temporary name until it is verified."""
    if os.path.lexists(target) and not force:
        raise Conflict(f"{target} is there already. Give another path, or --force to write over it.")
    with _temporary_file(target) as unfinished:
        source.execute("VACUUM INTO ?", (str(unfinished),))  # without deleted data
        _verify(unfinished)
        sync(unfinished)
        unfinished.replace(target)


def restore(location: Path, backup: Path, now: datetime) -> Path | None:
    """Replaces a database that no process has open; returns where the old one was moved, if there was one."""
    if not backup.is_file():
        raise NotFound(f"There is no backup {backup}. Make one with: athand backup PATH")
    if location.exists() and backup.samefile(location):
        raise Conflict(f"{backup} is the store itself. Give the path of a backup.")
    with _temporary_file(location) as staged:
        _copy_file(backup, staged)
        _verify(staged)
        sync(staged)
        aside = location.with_name(f"{location.name}.before-{now:%Y%m%dT%H%M%S.%f}")
        if not location.exists():
            _move_into_place(location, staged, aside)
            return None
        try:
            _overwrite(location, staged, aside)
        except (apsw.NotADBError, apsw.CorruptError):  # unreadable, so no process reads it
            aside.unlink(missing_ok=True)
            os.link(location, aside)
            _move_into_place(location, staged, aside)
        return aside


def _move_into_place(location: Path, staged: Path, aside: Path) -> None:
    """Renames the copy to the store; a log left there belongs to the old database and moves with it."""
    for end in ("-wal", "-shm"):
        if Path(f"{location}{end}").exists():
            Path(f"{location}{end}").replace(f"{aside}{end}")
    shutil.rmtree(f"{location}-vectors", ignore_errors=True)
    staged.replace(location)


def _overwrite(location: Path, staged: Path, aside: Path) -> None:
    """Copies the database aside, then overwrites its pages in one transaction."""
    with _exclusive_connection(location) as store:
        _copy_aside(store, aside)
        shutil.rmtree(f"{location}-vectors", ignore_errors=True)  # derived from the old database
        with (
            closing(apsw.Connection(str(staged), flags=apsw.SQLITE_OPEN_READONLY)) as source,
            store.backup("main", source, "main") as copy,
        ):
            copy.step()


def _copy_aside(store: apsw.Connection, aside: Path) -> None:
    create_private(aside)
    try:
        copy_pages(store, aside)
    except apsw.Error:
        aside.unlink()
        raise


@contextmanager
def _exclusive_connection(location: Path) -> Iterator[apsw.Connection]:
    """A connection with an exclusive lock, the write-ahead log checkpointed."""
    with closing(apsw.Connection(str(location), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            connection.execute("BEGIN EXCLUSIVE; COMMIT")
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreBusy(
                f"Another process has {location} open. Stop it first: athand serve, athand mcp, or an MCP client."
            ) from error
        yield connection


def copy_pages(source: apsw.Connection, target: Path) -> None:
    """Copies a database page by page, damaged pages too."""
    with closing(apsw.Connection(str(target))) as copy, copy.backup("main", source, "main") as pages:
        pages.step()


def _copy_file(backup: Path, target: Path) -> None:
    try:
        with closing(apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)) as source:
            copy_pages(source, target)
    except _DISK:
        raise
    except apsw.Error as error:
        raise DataError(f"{backup} is no backup of Athand, or damaged. Nothing was changed.") from error


def _verify(path: Path) -> None:
    """Raises if a copy is not ours, of a newer version, or damaged."""
    try:
        with closing(apsw.Connection(str(path))) as copy:
            version = int(copy.pragma("user_version"))
            if copy.pragma("application_id") != APPLICATION_ID or not version:
                raise DataError("The copy is not a database of Athand. Nothing was changed.")
            if version > VERSION:
                raise DataError(
                    f"The copy is of a newer Athand (schema {version}, this one knows {VERSION}). Nothing was "
                    f"changed. Upgrade with: {upgrade_hint()}"
                )
            findings = maintenance.check_integrity(copy)
    except apsw.Error as error:
        findings = [str(error)]
    if findings:
        raise DataError(f"The copy is damaged, so nothing was changed: {findings[0]}. See: athand doctor")


@contextmanager
def _temporary_file(target: Path) -> Iterator[Path]:
    """A private file beside the target; deleted in the end, unless it was renamed."""
    path = target.with_name(f".{target.name}.unfinished-{os.getpid()}-{threading.get_ident()}")
    try:
        create_private(path)
        try:
            yield path
        finally:
            for name in (path, path.with_name(f"{path.name}-journal")):
                name.unlink(missing_ok=True)
        sync(target.parent)
    except OSError as error:
        raise StoreError(f"{target} cannot be written ({error.strerror}). Choose another path.") from error
    except _DISK as error:
        raise StoreError(
            f"{target} cannot be written: the disk may be full or failing, or a size limit was reached. "
            "Nothing was changed."
        ) from error

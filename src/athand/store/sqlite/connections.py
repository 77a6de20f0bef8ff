"""Connections to a database file: the pool, opening, checkpoints, and error messages."""

import os
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import uniform

import apsw

from athand.errors import AthandError, Conflict, DataError, StoreBusy, StoreError
from athand.files import make_private_folder
from athand.store.contract import READ_ERRORS, Schema
from athand.store.sqlite.damage import find_damaged_rows
from athand.store.sqlite.schema import is_current, migrate, version_of
from athand.store.sqlite.sql import add_functions
from athand.store.sqlite.writer import name_writer

BUSY_SECONDS = 30  # that a write waits for others
READER_SECONDS = 5  # that emptying the log waits for readers, while nobody can write
_POLL_SECONDS = 0.001, 0.01  # how often it looks, at random: nobody who waits for long falls behind newcomers
MEMORY = ":memory:"
_POOL_SIZE = 8
_CHECKPOINT_PAGES, _RESTART_PAGES, _CHECKPOINT_MILLISECONDS = 1_000, 8_000, 20
_PRAGMAS = (
    "PRAGMA foreign_keys = ON;"
    "PRAGMA secure_delete = ON;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA cache_size = -32000;"
    "PRAGMA journal_size_limit = 67108864"
)


class SqliteConnections:
    """The connection pool; of one connection for an in-memory database or a special VFS."""

    def __init__(self, location: str, schemas: Sequence[Schema], vfs: str | None = None) -> None:
        self.location = location
        self._schemas = schemas
        self._vfs = vfs
        self._closed = False
        self._taking_long: set[apsw.Connection] = set()
        self.read_only = location != MEMORY and _is_read_only(Path(location))
        single = location == MEMORY or vfs is not None
        self._idle: queue.LifoQueue[apsw.Connection | None] = queue.LifoQueue()
        for _ in range(1 if single else _POOL_SIZE):
            self._idle.put(None)
        with self.errors():
            self._idle.get()
            self._idle.put(self._open())

    @contextmanager
    def borrow(self) -> Iterator[apsw.Connection]:
        """A pooled connection for the block."""
        if self._closed:
            raise StoreError(f"{self.location} was closed. Open it again with: Athand(…)")
        connection = self._idle.get()
        try:
            with self.errors():
                connection = connection or self._open()
                with self._explain_damage(connection):
                    yield connection
        finally:
            self._idle.put(connection)

    def close(self) -> None:
        """Closes all idle connections; the last one checkpoints the log."""
        self._closed = True
        for long in list(self._taking_long):
            long.interrupt()
        with self.errors():
            # Take all before putting one back, as the queue is last in, first out.
            for connection in [self._idle.get() for _ in range(self._idle.qsize())]:
                if connection is not None:
                    connection.close()
                self._idle.put(None)

    def _open(self) -> apsw.Connection:
        if self.location != MEMORY:
            _create_private_file(Path(self.location), self.read_only)
        writable = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        flags = apsw.SQLITE_OPEN_READONLY if self.read_only else writable
        location = self.location
        if self.read_only and not os.access(
            Path(location).parent, os.W_OK
        ):  # no place for the memory that readers share
            location, flags = _immutable(Path(location)), flags | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(location, flags=flags, vfs=self._vfs)
        try:
            wait_for_others(connection)
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        if self._vfs is not None:  # a VFS written in Python has no shared memory, so WAL needs an exclusive lock
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        version_of(connection)  # refuses databases of other programs before anything is written
        if not self.read_only:
            _retry_while_busy(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())
            _retry_while_busy(lambda: migrate(connection, self._schemas))
        elif not is_current(connection, self._schemas):
            raise StoreError(
                f"{self.location} is read-only and of an older version: make it writable once to upgrade it."
            )
        connection.execute(_PRAGMAS).fetchall()
        add_functions(connection)
        connection.set_wal_hook(_checkpoint)

    @contextmanager
    def _explain_damage(self, connection: apsw.Connection) -> Iterator[None]:
        """What a damaged row has caused is told as such; all else is not."""
        try:
            yield
        except READ_ERRORS as error:
            damaged = next(find_damaged_rows(connection, self._schemas), None)
            if damaged is None:
                raise
            raise DataError(
                f"{self.location} is damaged: {damaged}. See all damage with: athand status --check. "
                "What can be read is written by: athand export PATH"
            ) from error

    @contextmanager
    def open_beside(self, path: Path) -> Iterator[apsw.Connection]:
        """A connection to another file, with this database attached as `store`, for work that takes long."""
        with self.errors(), closing(apsw.Connection(str(path))) as connection, self.takes_long(connection):
            wait_for_others(connection)
            connection.execute("ATTACH ? AS store", (self.location,))
            connection.execute("PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY").fetchall()
            connection.set_wal_hook(_checkpoint)
            yield connection

    @contextmanager
    def takes_long(self, connection: apsw.Connection) -> Iterator[None]:
        """Within it, `close` interrupts what the connection does."""
        self._taking_long.add(connection)
        try:
            yield
        finally:
            self._taking_long.discard(connection)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translates errors of SQLite into ours."""
        try:
            yield
        except apsw.Error as error:
            raise _explain_error(error, self.location) from error


def wait_for_others(connection: apsw.Connection, patience: float | None = None) -> None:
    """From now on the connection waits for locks, so many seconds, or up to the usual limit."""
    began = 0.0

    def wait(calls: int) -> bool:
        nonlocal began
        now = time.monotonic()
        began = began if calls else now
        if now >= began + (BUSY_SECONDS if patience is None else patience):
            return False
        time.sleep(uniform(*_POLL_SECONDS))  # noqa: S311
        return True

    connection.set_busy_handler(wait)


def _explain_error(error: apsw.Error, location: str) -> AthandError:
    known: tuple[tuple[tuple[type[apsw.Error], ...], AthandError], ...] = (
        (
            (apsw.BusyError, apsw.LockedError),
            StoreBusy(
                f"{location} is in use: others have been writing for {BUSY_SECONDS} s{name_writer(location)}. "
                "Nothing was changed. Try again."
            ),
        ),
        (
            (apsw.FullError,),
            StoreError(
                f"The disk of {location} is full. Nothing of this write was kept; free some space and try again."
            ),
        ),
        (
            (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
            StoreError(f"{location} is read-only. Nothing was written; choose another store with --store."),
        ),
        (
            (apsw.NotADBError,),
            DataError(f"{location} is not an Athand database. Choose another path with --store."),
        ),
        (
            (apsw.CorruptError,),
            DataError(f"{location} is damaged ({error}). Copy it away, then see: athand doctor"),
        ),
        (
            (apsw.CantOpenError,),
            StoreError(f"{location} cannot be opened ({error}). Give a file path with --store."),
        ),
        (
            (apsw.ConstraintError,),
            Conflict(f"The store refused the write ({error}). Nothing was changed."),
        ),
        (
            (apsw.InterruptError,),
            StoreError(f"{location} was closed meanwhile. Nothing of this was kept; what was stored is as it was."),
        ),
        (
            (apsw.IOError,),
            StoreError(
                f"{location} cannot be read or written ({error}): the disk may be full or failing, "
                "or a size limit was reached. Nothing of this write was kept."
            ),
        ),
    )
    for classes, explained in known:
        if isinstance(error, classes):
            return explained
    return StoreError(f"{location}: {error}")


def begin_write(connection: apsw.Connection, patience: float | None) -> None:
    """Begins a transaction with the lock for writing, for which it waits so long."""
    wait_for_others(connection, patience)
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        wait_for_others(connection)


def empty_log(connection: apsw.Connection) -> bool:
    """Writes the log into the database and empties it; False if others read what only the log has."""
    connection.set_busy_timeout(READER_SECONDS * 1000)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    finally:
        wait_for_others(connection)
    return True


def _checkpoint(connection: apsw.Connection, schema: str, pages: int) -> int:
    """WAL hook: checkpoints every 1,000 pages; from 8,000 on, waits briefly for readers so that the log can restart."""
    if pages >= _CHECKPOINT_PAGES:
        mode = apsw.SQLITE_CHECKPOINT_RESTART if pages >= _RESTART_PAGES else apsw.SQLITE_CHECKPOINT_PASSIVE
        connection.set_busy_timeout(_CHECKPOINT_MILLISECONDS)  # a reader that stays must not hold up every write
        with suppress(apsw.BusyError):
            connection.wal_checkpoint(schema, mode)
        wait_for_others(connection)
    return apsw.SQLITE_OK


def _retry_while_busy(action: Callable[[], object]) -> None:
    """Retries while the database is busy: SQLite does not wait for every lock when one is created."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            action()
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _is_read_only(path: Path) -> bool:
    """Whether the file exists and cannot be written; a file without any write bit counts, even for root."""
    return path.is_file() and (not os.access(path, os.W_OK) or path.stat().st_mode & 0o222 == 0)


def _immutable(path: Path) -> str:
    """The address of a database that nobody can change, whose log is in it."""
    log = Path(f"{path}-wal")
    if log.is_file() and log.stat().st_size:
        raise StoreError(
            f"{path} was not closed well, and its folder cannot be written: the last writes are in {log}. "
            "Copy both to a folder that you can write, and open the copy with --store."
        )
    return f"{path.as_uri()}?immutable=1"


def _create_private_file(path: Path, read_only: bool) -> None:
    """Creates an empty private file, and its folder if it is missing."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a database file. Try: --store {path / 'athand.db'}")
    if read_only or path.exists():
        return
    try:
        make_private_folder(path.parent)
        path.touch(mode=0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be created ({error.strerror}). Choose another path with --store.") from error

"""Connections to a PostgreSQL server: pooled, with a limit on every wait, their errors in words."""

import logging
import re
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors as server
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from athand.errors import AthandError, Conflict, DataError, InvalidInput, StoreError
from athand.store.postgres.schema import SCHEMA, prepare
from athand.store.postgres.sql import Connection, execute
from athand.store.postgres.vector_index import LOOKED_AT

POOL_SIZE = 8
# How long, in seconds, to wait for a connection, for another writer, for a question's answer, for a write's.
CONNECTING, LOCKED, READING, WRITING = 10, 10, 30, 300
_NETWORK = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "athand",
}
# pgvector may live in a schema of its own: "extensions" is where hosted servers keep it.
_OPTIONS = {
    "search_path": f"{SCHEMA},public,extensions",
    "lock_timeout": f"{LOCKED}s",
    "synchronize_seqscans": "off",
    "statement_timeout": f"{READING}s",
    # A client that vanished must not hold its locks for hours.
    "tcp_keepalives_idle": 5,
    "tcp_keepalives_interval": 2,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "idle_in_transaction_session_timeout": f"{WRITING}s",
    "hnsw.ef_search": LOOKED_AT,
    "hnsw.iterative_scan": "relaxed_order",
}
# Another after each start, also after a crash: then the server may give out numbers of transactions again.
_START = "SELECT concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time())"
_UNREADABLE = (
    "The address of the store cannot be read. It should look like postgresql://user@host:5432/database; "
    "write / @ and % in a password as %2F %40 and %25, or set PGPASSWORD."
)
_FREE = 0.005  # seconds to wait for a connection that is not needed
_Answer = TypeVar("_Answer")

# Values are put into the text of a query here, quoted by psycopg: so a NULL needs no type.
_KWARGS: dict[str, Any] = {"autocommit": True, "cursor_factory": psycopg.ClientCursor}

logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # what it warns of, our errors say


class LimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that waits for an answer only so long: a server that is silent must not stop its callers."""

    limit: float | None = READING
    start = ""

    def note_start(self) -> None:
        """Remember since when the server runs that this connection leads to."""
        [(self.start,)] = self.execute(_START).fetchall()

    def wait(self, gen: PQGen[_Answer], *arguments: Any, **options: Any) -> _Answer:
        """Wait for the network, not beyond the limit."""
        limited = gen if self.limit is None else self._limit_wait(gen, time.monotonic() + self.limit)
        return super().wait(limited, *arguments, **options)

    def _limit_wait(self, gen: PQGen[_Answer], deadline: float) -> Generator[Any, Any, _Answer]:
        try:
            state = next(gen)
            while True:
                ready = yield state
                if time.monotonic() > deadline:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer within {self.limit:g} s")
                state = gen.send(ready)
        except StopIteration as stop:
            answer: _Answer = stop.value
            return answer


class Connections:
    """A pool; the first connection makes or migrates the tables."""

    def __init__(self, location: str) -> None:
        self._address, self.shown = _read(location)
        with self.connect_unlimited() as connection:
            prepare(connection)
        self._pool = ConnectionPool(
            self._address,
            connection_class=LimitedConnection,
            kwargs=_KWARGS,
            min_size=1,
            max_size=POOL_SIZE,
            timeout=CONNECTING,
            reconnect_timeout=CONNECTING,  # later ones are tried when they are asked for, not ever more seldom
            configure=LimitedConnection.note_start,
            check=self._check,
            open=False,
        )
        self._threads = ThreadPoolExecutor(POOL_SIZE, "athand-beside")
        with self.errors():
            self._pool.open()

    @contextmanager
    def borrow(self, limit: float = READING) -> Iterator[LimitedConnection]:
        """A connection for this thread alone, until the block ends."""
        with self.errors(), self._pool.connection() as connection:
            connection.limit = limit
            yield connection

    @contextmanager
    def connect_unlimited(self) -> Iterator[LimitedConnection]:
        """A connection of its own for long work."""
        with self.errors(), LimitedConnection.connect(self._address, **_KWARGS) as connection:
            connection.limit = None
            connection.execute("SET statement_timeout = 0")
            yield connection

    def run_async(self, work: Callable[[LimitedConnection], _Answer]) -> Callable[[], _Answer] | None:
        """Begin something on another connection, if one is free; a function that waits for what it gives."""
        try:
            connection = self._pool.getconn(timeout=_FREE)
        except PoolTimeout:
            return None
        return self._threads.submit(self._give_back_after, connection, work).result

    def start(self, work: Callable[[], None]) -> None:
        """Do something in the background; closing waits for it."""
        self._threads.submit(work)

    def _give_back_after(self, connection: LimitedConnection, work: Callable[[LimitedConnection], _Answer]) -> _Answer:
        connection.limit = READING
        try:
            return work(connection)
        finally:
            self._pool.putconn(connection)

    def _check(self, connection: LimitedConnection) -> None:
        """See that an idle connection still works; where one does not, the others have hardly fared better."""
        connection.limit = CONNECTING
        try:
            ConnectionPool.check_connection(connection)
        except psycopg.Error:
            self._pool.drain()
            raise

    def was_committed(self, transaction: str, start: str) -> bool:
        """Whether a transaction took place whose commit was not answered; asks until the server is back."""
        deadline = time.monotonic() + CONNECTING
        while True:
            try:
                status = self._status(transaction, start)
            except ConnectionLost:
                status = "unknown"
            if status not in ("unknown", "in progress") or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        if status in ("unknown", "in progress", "restarted"):
            raise ConnectionLost(
                f"{self.shown} went away during a write, and it is not known whether it was kept. "
                "When the server is back, look, or write it again with the same id or key: nothing is kept twice."
            )
        return status == "committed"

    def _status(self, transaction: str, start: str) -> str:
        with self.connect_unlimited() as connection:
            connection.limit = READING
            connection.note_start()
            if connection.start != start:
                return "restarted"
            [(status,)] = connection.execute("SELECT pg_xact_status(%s::xid8)", (transaction,)).fetchall()
            return str(status)

    def close(self) -> None:
        """Let go of the server."""
        self._threads.shutdown()
        self._pool.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say what the server's errors mean, and what to do."""
        try:
            yield
        except psycopg.Error as error:
            raise explain_error(error, self.shown) from error


def _read(location: str) -> tuple[str, str]:
    """The address with our options, and the address to show: without the password."""
    try:
        given = conninfo_to_dict(location)
    except psycopg.Error:
        raise InvalidInput(_UNREADABLE) from None  # the cause would show the password
    place = f"{given.get('host') or ''}{given.get('dbname') or ''}"
    if "@" in place or not re.fullmatch(r"[\d,]*", str(given.get("port") or "")):
        raise InvalidInput(_UNREADABLE)
    ours = " ".join(f"-c {name}={value}" for name, value in _OPTIONS.items())
    options = {"options": f"{ours} {given.get('options') or ''}".strip()}
    wanted: dict[str, Any] = {**_NETWORK, **given, **options, "client_encoding": "utf8"}
    address = make_conninfo("", **wanted)
    user = f"{given['user']}@" if given.get("user") else ""
    port = f":{given['port']}" if given.get("port") else ""
    host = given.get("host") or given.get("hostaddr") or "localhost"
    return address, f"postgresql://{user}{host}{port}/{given.get('dbname') or ''}"


_WRITE_LOCK = 0x4154_4803  # the advisory lock of all writers, and the class of those of single spaces


def begin(connection: Connection, spaces: Iterable[str] | None, limit: int, *, durable: bool) -> str:
    """Begin to write, alone in these spaces; the number by which the server knows the transaction."""
    alone = spaces is None
    keys = sorted({zlib.crc32(space.encode()) - (1 << 31) for space in spaces or ()})
    locks = "".join(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK}, {key});" for key in keys)
    # A server that does not wait for its disk by default must do so for what is the only copy.
    usual = "current_setting('synchronous_commit')"
    waits = f"CASE {usual} WHEN 'off' THEN 'on' ELSE {usual} END" if durable else "'off'"
    cursor = connection.execute(
        f"BEGIN; SET LOCAL statement_timeout = '{limit}s'; SELECT set_config('synchronous_commit', {waits}, true); "
        f"SELECT pg_advisory_xact_lock{'' if alone else '_shared'}({_WRITE_LOCK}); {locks} "
        "SELECT pg_current_xact_id()::text".encode()
    )
    while cursor.nextset():
        pass
    [(number,)] = cursor.fetchall()
    return str(number)


@contextmanager
def read_snapshot(connection: Connection) -> Iterator[None]:
    """Everything that is read is of one moment."""
    execute(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    yield
    execute(connection, "ROLLBACK")


def roll_back(connection: Connection) -> None:
    """Undo what a broken connection has not undone already; where it breaks now, that is not what went wrong."""
    if not connection.closed:
        with suppress(psycopg.OperationalError):
            execute(connection, "ROLLBACK")


class ConnectionLost(StoreError):
    """The server cannot be reached, or went away."""


# While connecting there is no code, only the server's sentence.
_CONNECTING = (
    (
        r"password|SASL|authentication failed",
        "{shown} refuses the user or the password. Put the right ones into the address, or set PGPASSWORD.",
    ),
    (r'role "(.*)" does not exist', "{shown} knows no user {0}. Create it there with: createuser {0}"),
    (r'database "(.*)" does not exist', "{shown}: there is no database {0}. Create it with: createdb {0}"),
    (r"pg_hba\.conf", "{shown} does not let this computer in. Add it to the server's pg_hba.conf."),
    (
        r"too many clients|remaining connection slots",
        "{shown} has no connection free. Try again, or raise max_connections.",
    ),
    (
        r"starting up|shutting down|recovery mode|not yet accepting",
        "{shown} is starting or stopping. Try again in a moment.",
    ),
)
_AWAY = "{shown} cannot be reached ({0}). Start the server, or correct the address: --store, or ATHAND_STORE."


def explain_error(error: psycopg.Error, shown: str) -> AthandError:
    """The error in our words."""
    text = error.diag.message_primary or _reason(str(error)) or type(error).__name__
    known = _explain_statement_error(error, shown, text)
    return known or (
        _explain_connection_error(error, shown, text)
        if isinstance(error, psycopg.OperationalError)
        else _explain_other_error(shown, text)
    )


def _reason(text: str) -> str:
    """The end of the sentence, where libpq tells first what it tried, and last what may be the cause."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.rpartition("failed: ")[2].removeprefix("FATAL:").strip()


# Errors of statements, by their class.
_STATEMENTS: tuple[tuple[tuple[type[psycopg.Error], ...], type[AthandError], str], ...] = (
    ((PoolClosed,), StoreError, "{shown} was closed. Open it again with: Athand(…)"),
    ((PoolTimeout,), ConnectionLost, "{shown} cannot be reached: it does not answer, or is busy. Try again."),
    (
        (server.UniqueViolation,),
        Conflict,
        "The store refused the write: it is there already ({text}). Nothing changed.",
    ),
    (
        (server.LockNotAvailable, server.DeadlockDetected),
        StoreError,
        "{shown} is in use: another process has been writing for a while. Try again.",
    ),
    (
        (server.QueryCanceled,),
        StoreError,
        "{shown} took too long to answer, and was stopped. Try again, or ask for less.",
    ),
    (
        (server.DiskFull,),
        StoreError,
        "The disk of {shown} is full. Nothing of this write was kept; free some space and try again.",
    ),
    (
        (server.ReadOnlySqlTransaction,),
        StoreError,
        "{shown} is read-only, perhaps a standby. Nothing was written; give the primary's address.",
    ),
    (
        (server.InsufficientPrivilege,),
        StoreError,
        "{shown}: the user may not do this ({text}). Grant it the right, or give another user.",
    ),
    (
        (server.DataCorrupted, server.IndexCorrupted),
        DataError,
        "{shown} is damaged ({text}). See: athand status --check",
    ),
    ((server.OutOfMemory,), StoreError, "{shown} has no memory left for this ({text}). Try again later."),
    ((server.ProgramLimitExceeded,), InvalidInput, "This is more than {shown} can keep in one piece: {text}"),
    ((psycopg.DataError,), InvalidInput, "{shown} cannot keep this: {text}"),
)


def _explain_statement_error(error: psycopg.Error, shown: str, text: str) -> AthandError | None:
    for classes, ours, sentence in _STATEMENTS:
        if isinstance(error, classes):
            return ours(sentence.format(shown=shown, text=text))
    return None


def _explain_connection_error(error: psycopg.OperationalError, shown: str, text: str) -> AthandError:
    """Errors of the connection: by what the server says, or because it says nothing."""
    for pattern, sentence in _CONNECTING:
        if found := re.search(pattern, text):
            return ConnectionLost(sentence.format(*found.groups(), shown=shown))
    return ConnectionLost(_AWAY.format(text.rstrip("."), shown=shown))


def _explain_other_error(shown: str, text: str) -> StoreError:
    return StoreError(f"{shown}: {text}. Nothing was changed.")

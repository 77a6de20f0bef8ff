"""Connections to a PostgreSQL server: the pool, time limits, transactions, and error messages."""

import logging
import re
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors as server
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from athand.errors import AthandError, Conflict, DataError, InvalidInput, StoreError
from athand.store.contract import Schema
from athand.store.postgres.citus import distributed_tables
from athand.store.postgres.schema import SCHEMA, migrate
from athand.store.postgres.sql import Connection, execute
from athand.store.postgres.vector_index import EF_SEARCH

POOL_SIZE = 8
# Time limits: to connect, to get a lock, for a read, for a write.
CONNECT_SECONDS, LOCK_SECONDS, READ_SECONDS, WRITE_SECONDS = 10, 10, 30, 300
# A server that stops a statement itself needs a moment to say so: before that, it does not count as silent.
GRACE_SECONDS = 5
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
    "lock_timeout": f"{LOCK_SECONDS}s",
    "synchronize_seqscans": "off",
    "statement_timeout": f"{READ_SECONDS}s",
    # A client that vanished must not hold its locks for hours.
    "tcp_keepalives_idle": 5,
    "tcp_keepalives_interval": 2,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "idle_in_transaction_session_timeout": f"{WRITE_SECONDS}s",
    "hnsw.ef_search": EF_SEARCH,
    "hnsw.iterative_scan": "relaxed_order",
}
# What the machines of a cluster need, which a connection to the coordinator does not tell them. They have no limit for
# statements: the coordinator's holds, and upkeep has none.
NODE_SETTINGS = {
    "synchronous_commit": "on",
    **{name: _OPTIONS[name] for name in _OPTIONS if name not in ("search_path", "statement_timeout")},
}
# Changes with each start of the server, also after a crash: transaction ids may then be reused.
_START_SQL = "SELECT concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time())"
_UNREADABLE = (
    "The address of the store cannot be read. It should look like postgresql://user@host:5432/database; "
    "write / @ and % in a password as %2F %40 and %25, or set PGPASSWORD."
)
_BORROW_SECONDS = 0.005  # how long to wait for an idle connection of the pool
_Answer = TypeVar("_Answer")

# Client-side binding: psycopg quotes the values, and a NULL needs no type.
_KWARGS: dict[str, Any] = {"autocommit": True, "cursor_factory": psycopg.ClientCursor}

logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # our own errors say the same


class LimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection with a client-side timeout: a silent server must not block its callers."""

    limit: float | None = READ_SECONDS + GRACE_SECONDS
    start = ""
    is_distributed = False

    def note_server(self) -> None:
        """Stores the start time of the server, to recognize a restart, and whether it spreads our tables."""
        self.note_start()
        self.is_distributed = bool(distributed_tables(self))

    def note_start(self) -> None:
        """Stores the start time of the server."""
        [(self.start,)] = self.execute(_START_SQL).fetchall()

    def wait(self, gen: PQGen[_Answer], *arguments: Any, **options: Any) -> _Answer:
        """Waits for the network, at most `limit` seconds."""
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


class PostgresConnections:
    """The connection pool; opening it creates or migrates the tables."""

    def __init__(self, location: str, schemas: Sequence[Schema]) -> None:
        self._address, self.shown = _parse_address(location)
        with self.connect_without_limit() as connection:
            migrate(connection, schemas)
        self._pool = ConnectionPool(
            self._address,
            connection_class=LimitedConnection,
            kwargs=_KWARGS,
            min_size=1,
            max_size=POOL_SIZE,
            timeout=CONNECT_SECONDS,
            reconnect_timeout=CONNECT_SECONDS,  # after that, a connection is tried when one is asked for
            configure=LimitedConnection.note_server,
            check=self._check,
            open=False,
        )
        self._threads = ThreadPoolExecutor(POOL_SIZE, "athand-async")
        with self.errors():
            self._pool.open()

    @contextmanager
    def borrow(self, limit: float = READ_SECONDS) -> Iterator[LimitedConnection]:
        """A pooled connection for the block."""
        with self.errors(), self._pool.connection() as connection:
            connection.limit = limit + GRACE_SECONDS
            yield connection

    @contextmanager
    def connect_without_limit(self) -> Iterator[LimitedConnection]:
        """A connection outside the pool and without time limits, for long work."""
        with self.errors(), LimitedConnection.connect(self._address, **_KWARGS) as connection:
            connection.limit = None
            connection.execute("SET statement_timeout = 0")
            yield connection

    def run_async(self, work: Callable[[LimitedConnection], _Answer]) -> Callable[[], _Answer] | None:
        """Runs `work` in a thread on another connection, if one is free; returns a function that waits for it."""
        try:
            connection = self._pool.getconn(timeout=_BORROW_SECONDS)
        except PoolTimeout:
            return None
        return self._threads.submit(self._run_and_give_back, connection, work).result

    def start(self, work: Callable[[], None]) -> None:
        """Runs `work` in the background; closing waits for it."""
        self._threads.submit(work)

    def _run_and_give_back(
        self, connection: LimitedConnection, work: Callable[[LimitedConnection], _Answer]
    ) -> _Answer:
        connection.limit = READ_SECONDS + GRACE_SECONDS
        try:
            return work(connection)
        finally:
            self._pool.putconn(connection)

    def _check(self, connection: LimitedConnection) -> None:
        """Checks an idle connection; if it is broken, drains the pool, as the others probably are too."""
        connection.limit = CONNECT_SECONDS
        try:
            ConnectionPool.check_connection(connection)
        except psycopg.Error:
            self._pool.drain()
            raise

    def was_committed(self, transaction: str, start: str) -> bool:
        """Whether a transaction was committed though its commit was not answered; asks until the server is back."""
        deadline = time.monotonic() + CONNECT_SECONDS
        while True:
            try:
                status = self._transaction_status(transaction, start)
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

    def _transaction_status(self, transaction: str, start: str) -> str:
        with self.connect_without_limit() as connection:
            connection.limit = READ_SECONDS
            connection.note_start()
            if connection.start != start:
                return "restarted"
            [(status,)] = connection.execute("SELECT pg_xact_status(%s::xid8)", (transaction,)).fetchall()
            return str(status)

    def close(self) -> None:
        """Closes all connections."""
        self._threads.shutdown()
        self._pool.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translates errors of psycopg into ours."""
        try:
            yield
        except psycopg.Error as error:
            raise explain_error(error, self.shown) from error


def _parse_address(location: str) -> tuple[str, str]:
    """The connection string with our options, and the address without the password, for messages."""
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


_WRITE_LOCK = 0x4154_4803  # advisory lock of all writers, and the class of the locks of single spaces


def begin(connection: Connection, spaces: Iterable[str] | None, limit: int, *, durable: bool) -> str:
    """Begins a write transaction with locks on these spaces; returns its transaction id."""
    alone = spaces is None
    keys = sorted({zlib.crc32(space.encode()) - (1 << 31) for space in spaces or ()})
    locks = "".join(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK}, {key});" for key in keys)
    # A durable write waits for the disk even where the server does not by default.
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
    """A read-only transaction: all reads see one snapshot."""
    execute(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    yield
    execute(connection, "ROLLBACK")


def roll_back(connection: Connection) -> None:
    """Rolls back, unless the connection is broken and the server has done so already."""
    if not connection.closed:
        with suppress(psycopg.OperationalError):
            execute(connection, "ROLLBACK")


class ConnectionLost(StoreError):
    """The server cannot be reached, or the connection to it broke."""


# Errors while connecting have no code, only a message.
_CONNECTION_ERRORS = (
    (
        r"(?:connection to the remote node|connections? to the node|failed to connect to) (?:\S+@)?([\w.:-]+:\d+)",
        "{0}, a machine of the cluster of {shown}, cannot be reached. What is kept there cannot be read or written, "
        "other projects can. Start it again.",
    ),
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
_UNREACHABLE = "{shown} cannot be reached ({0}). Start the server, or correct the address: --store, or ATHAND_STORE."


def explain_error(error: psycopg.Error, shown: str) -> AthandError:
    """The error of ours for an error of psycopg."""
    text = error.diag.message_primary or _reason(str(error)) or type(error).__name__
    known = _explain_statement_error(error, shown, text)
    return known or (
        _explain_connection_error(error, shown, text)
        if isinstance(error, psycopg.OperationalError)
        else _explain_other_error(shown, text)
    )


def _reason(text: str) -> str:
    """The cause, which libpq writes at the end of the first line."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.rpartition("failed: ")[2].removeprefix("FATAL:").strip()


# Errors of statements, by their class.
_STATEMENT_ERRORS: tuple[tuple[tuple[type[psycopg.Error], ...], type[AthandError], str], ...] = (
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
    for classes, ours, sentence in _STATEMENT_ERRORS:
        if isinstance(error, classes):
            return ours(sentence.format(shown=shown, text=text))
    return None


def _explain_connection_error(error: psycopg.OperationalError, shown: str, text: str) -> AthandError:
    """The error for a failed or lost connection, by the message of the server if there is one."""
    for pattern, sentence in _CONNECTION_ERRORS:
        if found := re.search(pattern, text):
            return ConnectionLost(sentence.format(*found.groups(), shown=shown))
    return ConnectionLost(_UNREACHABLE.format(text.rstrip("."), shown=shown))


def _explain_other_error(shown: str, text: str) -> StoreError:
    return StoreError(f"{shown}: {text}. Nothing was changed.")

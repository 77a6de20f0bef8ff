"""How a transaction begins and ends: which spaces it has to itself, and what is undone."""

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import psycopg

from athand.store.postgres.sql import Connection, execute

_WRITING = 0x5243_4C03  # the advisory lock of all writers, and the class of those of single spaces


def begin(connection: Connection, spaces: Iterable[str] | None, limit: int, *, durable: bool) -> str:
    """Begin to write, alone in these spaces; the number by which the server knows the transaction."""
    alone = spaces is None
    keys = sorted({zlib.crc32(space.encode()) - (1 << 31) for space in spaces or ()})
    locks = "".join(f"SELECT pg_advisory_xact_lock({_WRITING}, {key});" for key in keys)
    # A server that does not wait for its disk by default must do so for what is the only copy.
    usual = "current_setting('synchronous_commit')"
    waits = f"CASE {usual} WHEN 'off' THEN 'on' ELSE {usual} END" if durable else "'off'"
    cursor = connection.execute(
        f"BEGIN; SET LOCAL statement_timeout = '{limit}s'; SELECT set_config('synchronous_commit', {waits}, true); "
        f"SELECT pg_advisory_xact_lock{'' if alone else '_shared'}({_WRITING}); {locks} "
        "SELECT pg_current_xact_id()::text".encode()
    )
    while cursor.nextset():
        pass
    [(number,)] = cursor.fetchall()
    return str(number)


@contextmanager
def one_moment(connection: Connection) -> Iterator[None]:
    """Everything that is read is of one moment."""
    execute(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    yield
    execute(connection, "ROLLBACK")


def roll_back(connection: Connection) -> None:
    """Undo what a broken connection has not undone already; where it breaks now, that is not what went wrong."""
    if not connection.closed:
        with suppress(psycopg.OperationalError):
            execute(connection, "ROLLBACK")

"""What a PostgreSQL server's errors mean, and what to do about them."""

import re

import psycopg
from psycopg import errors as server
from psycopg_pool import PoolClosed, PoolTimeout

from athand.errors import AthandError, Conflict, DataError, InvalidInput, StoreError


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

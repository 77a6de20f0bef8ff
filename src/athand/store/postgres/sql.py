"""Runs portable SQL with `:name` parameters through psycopg."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg

_NAME = re.compile(r"(?<![:\w]):([a-z_]\w*)")

# An insert of one row by its values; a row that is there already may be left as it is, not changed.
_PLAIN_INSERT = re.compile(
    r"(INSERT INTO \w+ \([^()]*\) VALUES )(\([^()]*\))( ON CONFLICT (?:\([^()]*\) )?DO NOTHING)?"
)

_AT_ONCE = 1_000
_ARRAYS = {"halfvec": "text"}  # vectors travel as text

Connection = psycopg.Connection[tuple[Any, ...]]
Parameters = Mapping[str, Any]


@lru_cache(maxsize=1024)
def _translate(sql: str) -> bytes:
    """Turns `:name` into `%(name)s`."""
    return _NAME.sub(r"%(\1)s", sql.replace("%", "%%")).encode()


def rows(connection: Connection, sql: str, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    cursor = connection.execute(_translate(sql), parameters or {})
    return cursor.fetchall() if cursor.description else []


def execute(connection: Connection, sql: str, parameters: Parameters | None = None) -> int:
    """Runs a statement and returns how many rows it changed."""
    return connection.execute(_translate(sql), parameters or {}).rowcount


def execute_many(connection: Connection, sql: str, parameters: Sequence[Parameters]) -> None:
    """Runs a statement once per parameter set, pipelined; rows are inserted many at once."""
    if plain := _PLAIN_INSERT.fullmatch(sql):
        begin, row, rest = plain.groups("")
        _insert_values(connection, begin, row, rest, parameters)
        return
    with connection.cursor() as cursor:
        cursor.executemany(_translate(sql), parameters)


def _insert_values(connection: Connection, begin: str, row: str, rest: str, parameters: Sequence[Parameters]) -> None:
    cursor, values = psycopg.ClientCursor(connection), _translate(row)
    for start in range(0, len(parameters), _AT_ONCE):
        listed = ", ".join(cursor.mogrify(values, each) for each in parameters[start : start + _AT_ONCE])
        connection.execute(f"{begin}{listed}{rest}".encode())


def value(connection: Connection, sql: str, parameters: Parameters | None = None) -> Any:
    """The first column of the first row, or None."""
    found = rows(connection, sql, parameters)
    return found[0][0] if found else None


def insert(
    connection: Connection, table: str, columns: Mapping[str, str], new: Sequence[tuple[Any, ...]], rest: str = ""
) -> None:
    """Inserts many rows in batches, each within the statement timeout; `columns` maps names to types."""
    names = ", ".join(columns)
    arrays = ", ".join(f":{name}::{_ARRAYS.get(kind, kind)}[]" for name, kind in columns.items())
    chosen = ", ".join(f"{name}::{kind}" for name, kind in columns.items())
    for start in range(0, len(new), _AT_ONCE):
        values = map(list, zip(*new[start : start + _AT_ONCE], strict=True))
        execute(
            connection,
            f"INSERT INTO {table} ({names}) SELECT {chosen} FROM unnest({arrays}) AS n ({names}) {rest}",
            dict(zip(columns, values, strict=True)),
        )

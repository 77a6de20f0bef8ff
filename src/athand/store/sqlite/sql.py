"""Runs queries in SQLite, and defines the SQL functions that portable SQL may call."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import apsw

Parameters = Sequence[Any] | Mapping[str, Any]


def rows(connection: apsw.Connection, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return connection.execute(sql, parameters).fetchall()


def value(connection: apsw.Connection, sql: str, parameters: Parameters = ()) -> Any:
    """The first column of the first row, or None."""
    return connection.execute(sql, parameters).get


def add_functions(connection: apsw.Connection) -> None:
    """Registers the functions of portable SQL."""
    connection.create_scalar_function("path_matches", _path_matches, 3, deterministic=True)


def _path_matches(*given: Any) -> bool:
    """Whether a glob matches a path or one of its parent directories; PostgreSQL uses the regular expression."""
    path, glob, _ = given
    names, patterns = path.split("/"), glob.split("/")
    reached = {0}  # numbers of names that may be matched so far
    for at, pattern in enumerate(patterns, 1):
        if pattern == "**":
            reached = set(range(min(reached, default=len(names) + 1), len(names) + (at == len(patterns))))
        else:
            reached = {used + 1 for used in reached if used < len(names) and fnmatchcase(names[used], pattern)}
    return bool(reached)

"""Runs queries in SQLite, and defines the SQL functions that portable SQL may call."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
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
    return _matches(tuple(path.split("/")), tuple(glob.split("/")))


@lru_cache(maxsize=1 << 14)
def _matches(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    """Whether the patterns match the first names, compared one by one in linear time."""
    if not patterns:
        return True
    if patterns[0] == "**":
        return any(_matches(names[at:], patterns[1:]) for at in range(len(names) + 1 - (len(patterns) > 1)))
    return bool(names) and fnmatchcase(names[0], patterns[0]) and _matches(names[1:], patterns[1:])

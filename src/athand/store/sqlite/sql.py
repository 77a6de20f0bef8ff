"""Two short ways to ask SQLite; what comes back is typed by the query, not by Python."""

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
    """Teach a connection what portable SQL may call."""
    connection.create_scalar_function("path_matches", _path_matches, 3, deterministic=True)


def _path_matches(*given: Any) -> bool:
    """Whether a glob fits a path or a directory above it. PostgreSQL uses its regular expression instead."""
    path, glob, _ = given
    return _fits(tuple(path.split("/")), tuple(glob.split("/")))


@lru_cache(maxsize=1 << 14)
def _fits(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    """Name by name: Python's own matching takes linear time within one, and there are few of them."""
    if not patterns:
        return True
    if patterns[0] == "**":
        return any(_fits(names[at:], patterns[1:]) for at in range(len(names) + 1 - (len(patterns) > 1)))
    return bool(names) and fnmatchcase(names[0], patterns[0]) and _fits(names[1:], patterns[1:])

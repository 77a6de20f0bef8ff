"""Two short ways to ask SQLite; what comes back is typed by the query, not by Python."""

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

Parameters = Sequence[Any] | Mapping[str, Any]


def rows(connection: apsw.Connection, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return connection.execute(sql, parameters).fetchall()


def value(connection: apsw.Connection, sql: str, parameters: Parameters = ()) -> Any:
    """The first column of the first row, or None."""
    return connection.execute(sql, parameters).get

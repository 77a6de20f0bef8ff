"""Names, keys and column types of the corpora's tables, read off the SQL that creates them.

SQLite runs this SQL as it is, `postgres/schema.py` translates its types. Every primary key begins with the space, by
which Citus distributes tables.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from athand.distribution import upgrade_hint
from athand.errors import DataError
from athand.store.contract import Schema

# A setting of this name, with the corpus behind it, holds the version of its tables.
CORPUS_VERSION = "schema."

_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(r"^    ([a-z_]+) (TEXT|INTEGER|REAL)", re.MULTILINE)
_KEY = re.compile(r"PRIMARY KEY \(([^)]*)\)")


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its primary key, and the type of each column (TEXT, INTEGER or REAL), in the order of creation."""

    name: str
    key: tuple[str, ...]
    kinds: Mapping[str, str]

    def __str__(self) -> str:
        return self.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.kinds)


def read_tables(schemas: Iterable[Schema]) -> dict[str, Table]:
    """Every table of these corpora by its name."""
    sql = "\n".join(step for schema in schemas for step in schema.steps)
    return {name: _to_table(name, body, sql) for name, body in _TABLE.findall(sql)}


def _to_table(name: str, body: str, sql: str) -> Table:
    later = re.findall(rf"ALTER TABLE {name} ADD COLUMN ([a-z_]+) (TEXT|INTEGER|REAL)", sql)
    key = _KEY.search(body)
    if key is None:
        raise ValueError(f"the table {name} has no primary key")
    return Table(name, tuple(key[1].split(", ")), dict([*_COLUMN.findall(body), *later]))


def check_version(place: str, what: str, version: int, known: int) -> None:
    """Raises if the tables were written by a newer program."""
    if version > known:
        raise DataError(
            f"{place} was written by a newer Athand (schema {version} of {what}, this one knows {known}). "
            f"Nothing was changed. Upgrade with: {upgrade_hint()}"
        )

"""Rows of a table as objects and back, whatever the engine; what is there already stays as it is."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from athand.errors import BadData
from athand.inputs import is_text
from athand.store.contract import Snapshot, Transaction
from athand.store.tables import KEYS, columns, kinds

_WORDS = {"TEXT": "text", "INTEGER": "a whole number", "REAL": "a number"}


def to_lines(snapshot: Snapshot, table: str) -> Iterator[dict[str, Any]]:
    """Every row, in the order of the key."""
    names = columns(table)
    for row in snapshot.rows(f"SELECT {', '.join(names)} FROM {table} ORDER BY {', '.join(KEYS[table])}"):
        yield dict(zip(names, row, strict=True))


def put_new(transaction: Transaction, table: str, line: Mapping[str, Any]) -> bool:
    """Write a row, unless there is one of its key; whether it was written."""
    _check(table, line)
    where = " AND ".join(f"{name} = :{name}" for name in KEYS[table])
    key = {name: line[name] for name in KEYS[table]}
    if transaction.rows(f"SELECT 1 FROM {table} WHERE {where}", key):
        return False
    marks = ", ".join(f":{name}" for name in line)
    transaction.execute(f"INSERT INTO {table} ({', '.join(line)}) VALUES ({marks})", dict(line))
    return True


def _check(table: str, line: Mapping[str, Any]) -> None:
    """The names become SQL, so they must be ours; the values must be such as both engines keep."""
    if not set(KEYS[table]) <= set(line) <= set(columns(table)):
        raise BadData(f"A row of {table} must have {', '.join(KEYS[table])}, and no column that the table has not.")
    wanted = kinds(table)
    for name, value in line.items():
        if value is not None and not _fits(value, wanted[name]):
            raise BadData(f"{name} in a row of {table} does not fit: it must be {_WORDS[wanted[name]]}.")


def _fits(value: object, kind: str) -> bool:
    if kind == "TEXT":
        return isinstance(value, str) and is_text(value) and "\0" not in value
    if isinstance(value, int):
        return not isinstance(value, bool) and -(2**63) <= value < 2**63
    return kind == "REAL" and isinstance(value, float) and isfinite(value)

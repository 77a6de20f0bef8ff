"""Finds rows that are damaged: a value of another type, a text that is no Unicode, or what a table never holds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from athand.store.contract import Schema, holds_json
from athand.store.sqlite.sql import rows, value
from athand.store.tables import read_tables

_INNER = {
    "settings": "1",
    "spaces": holds_json("lengths", "array"),
    "vocabulary": "1",
    "models": "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model = models.number) OR EXISTS "
    "(SELECT 1 FROM vectors v WHERE v.model = models.number AND length(v.vector) = 2 * dimensions)",
    "coverage": "1",
}
_TYPES = {"TEXT": "'text'", "INTEGER": "'integer'", "REAL": "'real', 'integer'", "BLOB": "'blob'"}
_SHOWN = 60  # characters of a key


@dataclass(frozen=True, slots=True)
class DamagedRow:
    """A row that cannot be read: its table, and the condition by which it is found again."""

    table: str
    key: tuple[Any, ...]
    where: str
    parameters: tuple[Any, ...]
    columns: tuple[str, ...] = ()  # with a value of another type, or a text that is no Unicode, or no JSON

    @property
    def is_derived(self) -> bool:
        """Whether nothing that a user stored is in its table."""
        return self.table in _INNER or self.table.endswith("_passages")

    def __str__(self) -> str:
        shown = ", ".join(repr(each)[:_SHOWN] for each in self.key)
        where = f" in {' and '.join(self.columns)}" if self.columns else ""
        return f"{self.table}: the row {shown} is damaged{where}"


def find_damaged_rows(connection: apsw.Connection, schemas: Sequence[Schema]) -> Iterator[DamagedRow]:
    """Every damaged row of the corpora's tables, of those of passages, and of the store's own."""
    conditions = {name: "1" for name in read_tables(schemas)} | _INNER
    conditions |= {f"{schema.index.corpus}_passages": "1" for schema in schemas}
    for schema in schemas:
        conditions |= schema.conditions
    for table, condition in conditions.items():
        if value(connection, "SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)):
            yield from _find_in_table(connection, table, condition)


def _find_in_table(connection: apsw.Connection, table: str, condition: str) -> Iterator[DamagedRow]:
    columns = rows(connection, f"PRAGMA table_info({table})")
    key = [name for _, name, _, _, _, place in sorted(columns, key=lambda each: each[5]) if place]
    typed = {
        name: f"(typeof({name}) IN ({_TYPES[kind]}){'' if needed else f' OR {name} IS NULL'})"
        for _, name, kind, needed, _, _ in columns
        if kind in _TYPES
    }
    texts = "||".join(f"coalesce({name}, '')" for _, name, kind, *_ in columns if kind == "TEXT") or "''"
    # As bytes, which can be read whatever they are.
    shown = ", ".join(f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END" for name in key)
    kinds = ", ".join(f"typeof({name})" for name in key)
    sound = " AND ".join((*typed.values(), f"({condition})"))
    found = connection.execute(f"SELECT coalesce({sound}, 0), CAST({texts} AS BLOB), {shown}, {kinds} FROM {table}")
    for is_sound, text, *rest in found:
        if not is_sound or not _is_unicode(text):
            values, types = rest[: len(key)], rest[len(key) :]
            where = " AND ".join(
                f"{name} IS {'CAST(? AS TEXT)' if type_ == 'text' else '?'}"
                for name, type_ in zip(key, types, strict=True)
            )
            known = tuple(each.decode(errors="replace") if isinstance(each, bytes) else each for each in values)
            columns_at_fault = _find_columns(connection, table, _add_json(typed, condition), where, values)
            yield DamagedRow(table, known, where, tuple(values), columns_at_fault)


def _add_json(typed: Mapping[str, str], condition: str) -> dict[str, str]:
    """The tests of the columns, also of the JSON that the condition of the table asks of some of them."""
    return {
        name: " AND ".join(
            (sound, *(test for kind in ("array", "object") if (test := holds_json(name, kind)) in condition))
        )
        for name, sound in typed.items()
    }


def _find_columns(
    connection: apsw.Connection, table: str, typed: Mapping[str, str], where: str, key: Sequence[Any]
) -> tuple[str, ...]:
    """The columns of a row whose values are of another type, no JSON where they should be, or no Unicode."""
    tests = ", ".join(
        f"coalesce({sound}, 0), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) END"
        for name, sound in typed.items()
    )
    found = connection.execute(f"SELECT {tests} FROM {table} WHERE {where}", tuple(key)).fetchone() if typed else None
    pairs = zip(typed, found[::2], found[1::2], strict=True) if found else ()
    return tuple(name for name, is_sound, text in pairs if not is_sound or not _is_unicode(text or b""))


def _is_unicode(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def delete_damaged_rows(path: Path, schemas: Sequence[Schema]) -> list[str]:
    """Deletes the damaged rows of a copy, and those that refer to them; which these are."""
    deleted = []
    with closing(apsw.Connection(str(path))) as connection:
        while damaged := [row for row in find_damaged_rows(connection, schemas) if not row.is_derived]:
            for row in damaged:
                connection.execute(f"DELETE FROM {row.table} WHERE {row.where}", row.parameters)
                deleted.append(str(row))
    return deleted

"""The parts of an archive that are table rows, as JSON Lines: tools, their approvals, folders, rejected suggestions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any

from athand.documents.cursors import ensure_key
from athand.errors import AthandError, BadData
from athand.inputs import is_text
from athand.store import Snapshot, Store, Transaction, to_microseconds
from athand.store.tables import Table, read_tables
from athand.tools import Tools, definitions, rows

Line = Mapping[str, Any]
_COUNTED = {"tool_servers": "servers", "tools": "tools", "tool_rules": "rules", "tool_trust": "trusted"}
_FOLDER_COLUMNS = ("space", "path", "host", "project", "added_at")
_TRANSIENT = ("failure", "failed_at")  # the state of a server on this machine


def export_rows(snapshot: Snapshot, table: Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, each with the table's name, without the state of this machine."""
    for line in read_rows(snapshot, table):
        kept = {name: line[name] for name in _FOLDER_COLUMNS} if table.name == "document_folders" else line
        yield {"table": table.name, **{name: value for name, value in kept.items() if name not in _TRANSIENT}}


def put_tools(store: Store, tools: Tools, lines: Sequence[Line]) -> dict[str, int]:
    """Imports new servers, tools, rules and trust in one transaction; returns how many of each."""
    counts = dict.fromkeys(_COUNTED.values(), 0)
    new: list[tuple[str, str]] = []
    tables = read_tables(store.schemas)
    with store.transaction() as transaction:
        for table, line in _rows(lines, tuple(_COUNTED)):
            if table == "tools":
                _check_tool(line)
            if insert_new(transaction, tables[table], line):
                counts[_COUNTED[table]] += 1
                new += [(line["space"], line["id"])] if table == "tools" and not line.get("is_deleted") else []
        _index(transaction, tools, new)
    if new:
        tools.embed_missing()
    return counts


def put_folders(store: Store, lines: Sequence[Line], now: datetime) -> int:
    """Registers new folders, to be indexed by the next search or refresh; returns how many."""
    moment = to_microseconds(now)
    waiting = {"state": "pending", "generation": moment, "updated_at": moment}
    done = 0
    tables = read_tables(store.schemas)
    with store.transaction() as transaction:
        known = {path for (path,) in transaction.rows("SELECT path FROM document_folders")}
        for table, line in _rows(lines, ("document_folders",)):
            own = {name: line.get(name) for name in _FOLDER_COLUMNS}
            done += own["path"] not in known and insert_new(transaction, tables[table], {**own, **waiting})
        ensure_key(transaction)
    return done


def put_rejections(store: Store, lines: Sequence[Line]) -> None:
    """Imports new rejections of suggested actions."""
    tables = read_tables(store.schemas)
    with store.transaction() as transaction:
        for table, line in _rows(lines, ("flow_rejections",)):
            insert_new(transaction, tables[table], line)


def _rows(lines: Sequence[Line], tables: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in lines:
        table = line.get("table")
        if table not in tables:
            raise BadData(f"A row of {table!r} does not belong here. Nothing of it was imported.")
        yield str(table), {name: value for name, value in line.items() if name != "table"}


def _check_tool(line: Line) -> None:
    """Raises if a definition does not match its hash: it would pass for an approved one."""
    try:
        if definitions.content_hash(definitions.from_json(str(line.get("definition")))) == line.get("hash"):
            return
    except (ValueError, AthandError) as error:
        raise BadData(f"The definition of the tool {line.get('id')!r} cannot be read: {error}") from error
    raise BadData(f"The tool {line.get('id')!r} is not the one that was approved: its hash differs.")


def _index(transaction: Transaction, tools: Tools, new: Sequence[tuple[str, str]]) -> None:
    """Indexes new tools by keyword; their vectors are embedded later."""
    if new:
        transaction.put(tools.index, tools.passages_of(transaction, new), None)
        for space in {space for space, _ in new}:
            rows.add_usage(transaction, space, {rows.GENERATION: 1})


_TYPE_NAMES = {"TEXT": "text", "INTEGER": "a whole number", "REAL": "a number"}


def read_rows(snapshot: Snapshot, table: Table) -> Iterator[dict[str, Any]]:
    """Every row, in the order of the key."""
    names = table.columns
    for row in snapshot.rows(f"SELECT {', '.join(names)} FROM {table} ORDER BY {', '.join(table.key)}"):
        yield dict(zip(names, row, strict=True))


def insert_new(transaction: Transaction, table: Table, line: Mapping[str, Any]) -> bool:
    """Writes a row unless its key exists; returns whether it was written."""
    _check(table, line)
    where = " AND ".join(f"{name} = :{name}" for name in table.key)
    key = {name: line[name] for name in table.key}
    if transaction.rows(f"SELECT 1 FROM {table} WHERE {where}", key):
        return False
    marks = ", ".join(f":{name}" for name in line)
    transaction.execute(f"INSERT INTO {table} ({', '.join(line)}) VALUES ({marks})", dict(line))
    return True


def _check(table: Table, line: Mapping[str, Any]) -> None:
    """Raises if a column is unknown, as names become SQL, or a value cannot be stored by both engines."""
    if not set(table.key) <= set(line) <= set(table.columns):
        raise BadData(f"A row of {table} must have {', '.join(table.key)}, and no column that the table does not have.")
    wanted = table.kinds
    for name, value in line.items():
        if value is not None and not _fits(value, wanted[name]):
            raise BadData(f"{name} in a row of {table} does not fit: it must be {_TYPE_NAMES[wanted[name]]}.")


def _fits(value: object, kind: str) -> bool:
    if kind == "TEXT":
        return isinstance(value, str) and is_text(value) and "\0" not in value
    if isinstance(value, int):
        return not isinstance(value, bool) and -(2**63) <= value < 2**63
    return kind == "REAL" and isinstance(value, float) and isfinite(value)


def write_lines(file: Path, lines: Sequence[Line]) -> None:
    """Writes objects to a JSON Lines file."""
    with file.open("w", encoding="utf-8", newline="\n") as out:
        for line in lines:
            out.write(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n")


def read_lines(file: Path) -> list[Mapping[str, Any]]:
    """The objects of a JSON Lines file; none if there is no file."""
    if not file.is_file() or not file.stat().st_size:
        return []
    found = []
    for number, line in enumerate(file.read_bytes().removesuffix(b"\n").split(b"\n"), 1):
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise BadData(f"{file.name} line {number} is not JSON: {error}. Nothing of it was imported.") from error
        if not isinstance(found[-1], dict):
            raise BadData(f"{file.name} line {number} is no object. Nothing of it was imported.")
    return found

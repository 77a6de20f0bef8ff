"""The rows of memories and of keys of calls: portable SQL."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from athand.corpus import Items
from athand.errors import InvalidInput, NotFound
from athand.inputs import is_text, suggest
from athand.memories.dedupe import is_near_duplicate
from athand.memories.model import (
    COLUMNS,
    FILE_TAG,
    GLOBAL_SPACE,
    HISTORY,
    Memory,
    Stats,
    duplicate_keys,
    from_rows,
    to_passage,
    to_row,
)
from athand.memories.salience import SALIENCE_NOW_SQL
from athand.store import Passage, Snapshot, Transaction, one_of, select_in, to_microseconds
from athand.types import Filter

DERIVED_COLUMNS = ("space", "is_deleted", "fingerprint", "near_duplicate_key")
_ALL_COLUMNS = f"{COLUMNS}, {', '.join(DERIVED_COLUMNS)}"
_INSERT = f"INSERT INTO memories ({_ALL_COLUMNS}) VALUES ({', '.join(':' + name for name in _ALL_COLUMNS.split(', '))})"
_TABLES_OF_MEMORY = ("memory_links", "memory_keys")
_SUGGESTED_FROM = 1000  # memories whose ids are compared with one that is unknown
# The spaces of a project's memories: beside the project, so that a cluster is asked only for those.
IN_SPACE = f"i.space IN (:project, '{GLOBAL_SPACE}')"


def get(snapshot: Snapshot, id_: str, now: datetime, spaces: Iterable[str] | None = None) -> Memory:
    """The memory with this id, deleted or not; where its space is known, a cluster is asked only for that."""
    if not isinstance(id_, str):
        raise InvalidInput(f"The id of a memory is text, not {type(id_).__name__}.")
    if not is_text(id_):
        raise NotFound(f"No memory {id_!r}: that is not valid Unicode. See what there is with: athand memory list")
    found = by_id(snapshot, [id_], now, None if spaces is None else sorted(spaces))
    if not found:
        raise NotFound(f"No memory {id_!r}.{_suggest_id(snapshot, id_)} See what there is with: athand memory list")
    return found[id_]


def _suggest_id(snapshot: Snapshot, id_: str) -> str:
    """A hint at the memory whose id begins alike, where typos are most frequent, else at one whose id is near."""
    begin = id_[: max(4, len(id_) - 2)]
    rows = snapshot.rows(
        "SELECT id FROM memories WHERE id >= :begin AND id < :end ORDER BY id LIMIT 1",
        {"begin": begin, "end": begin + chr(0x10FFFF)},
    )
    if rows and len(begin) >= 4:
        return f" Did you mean {rows[0][0]}?"
    newest = snapshot.rows(
        "SELECT id FROM memories WHERE is_deleted = 0 ORDER BY created_at DESC LIMIT :limit",
        {"limit": _SUGGESTED_FROM},
    )
    return suggest(id_, (row[0] for row in newest))


def by_id(
    snapshot: Snapshot,
    ids: Sequence[str],
    now: datetime,
    spaces: Sequence[str] | None = None,
    longest: int | None = None,
) -> dict[str, Memory]:
    """Those of the memories that exist; where their spaces are given, a cluster is asked only for those.

    Texts are cut if they are longer.
    """
    if not ids:
        return {}
    chosen, values = one_of("id", ids)
    inside, places = one_of("space", spaces, "space")
    found = select(snapshot, Filter(f"{chosen} AND {inside}", {**values, **places}), now, longest=longest)
    return {memory.id: memory for memory in found}


def read_passages(snapshot: Snapshot, items: Items, now: datetime) -> list[Passage]:
    """The passages of those of these memories that exist and are not deleted."""
    spaces = sorted({space for space, _ in items})
    found = by_id(snapshot, [id_ for _, id_ in items], now, spaces)
    return [to_passage(memory) for memory in found.values() if not memory.is_deleted]


def select(
    snapshot: Snapshot, chosen: Filter, now: datetime, rest: str = "", longest: int | None = None, **values: object
) -> list[Memory]:
    """The memories that pass a filter; `rest` may order and limit them, texts are cut if they are longer."""
    columns = COLUMNS
    if longest is not None:  # cut where they are read: many long texts together may be more than fits into memory
        columns = COLUMNS.replace(" content,", " substr(content, 1, :longest + 1),", 1)
        values["longest"] = longest
    rows = snapshot.rows(
        f"SELECT {columns} FROM memories i WHERE {chosen.where or '1 = 1'} {rest}", {**chosen.parameters, **values}
    )
    memories = from_rows(rows, now)
    return [cut(memory, longest) for memory in memories]


def count(snapshot: Snapshot, chosen: Filter) -> int:
    """How many memories pass a filter."""
    sql = f"SELECT count(*) FROM memories i WHERE {chosen.where or '1 = 1'}"
    return int(snapshot.rows(sql, chosen.parameters)[0][0])


def cut(memory: Memory, longest: int | None) -> Memory:
    """The memory; if its text is longer, the beginning of it, and how to read the rest."""
    if longest is None or len(memory.content) <= longest:
        return memory
    note = f"… (cut after {longest:,} characters; `get` of this memory answers the whole text)"
    return replace(memory, content=memory.content[:longest] + note)


def select_all(snapshot: Snapshot, batch: int, now: datetime) -> Iterator[list[Memory]]:
    """All memories that are not deleted, ordered by space and id, in batches."""
    place = ("", "")
    while True:
        memories, place = select_batch(snapshot, batch, now, place)
        if not memories:
            return
        yield memories


def select_batch(
    snapshot: Snapshot, batch: int, now: datetime, after: tuple[str, str]
) -> tuple[list[Memory], tuple[str, str]]:
    """The next memories after a space and id that are not deleted, and the space and id of the last of them."""
    found = snapshot.rows(
        f"SELECT {COLUMNS}, space, id FROM memories WHERE (space > :space OR (space = :space AND id > :id)) "
        "AND is_deleted = 0 ORDER BY space, id LIMIT :limit",
        {"space": after[0], "id": after[1], "limit": batch},
    )
    # The place as it is stored: the space of a damaged row may not be that of its memory.
    return from_rows([row[:-2] for row in found], now), found[-1][-2:] if found else after


def update_fingerprints(transaction: Transaction, memories: Iterable[Memory]) -> None:
    """Computes fingerprints and near-duplicate keys from the contents, and writes those that differ."""
    for memory in memories:
        transaction.execute(
            "UPDATE memories SET fingerprint = :fingerprint, near_duplicate_key = :near_duplicate_key "
            "WHERE space = :space AND id = :id "
            "AND (fingerprint <> :fingerprint OR near_duplicate_key <> :near_duplicate_key)",
            {**duplicate_keys(memory), "space": memory.space, "id": memory.id},
        )


def insert(transaction: Transaction, memory: Memory) -> None:
    """Writes a memory that is not there yet."""
    transaction.execute(_INSERT, to_row(memory))


def insert_many(transaction: Transaction, memories: Iterable[tuple[Memory, Mapping[str, str]]]) -> None:
    """Writes memories that are not there yet, each with its `duplicate_keys`."""
    transaction.execute_many(_INSERT, [to_row(memory, keys) for memory, keys in memories])


def write(transaction: Transaction, before: Memory, after: Memory) -> None:
    """Replaces a memory's row; by delete and insert, as its space, a part of the key, may have changed."""
    transaction.execute(
        "DELETE FROM memories WHERE space = :space AND id = :id", {"space": before.space, "id": before.id}
    )
    insert(transaction, after)


def erase(transaction: Transaction, memory: Memory) -> None:
    """Deletes the memory's row, and every row that names it."""
    values = {"space": memory.space, "id": memory.id}
    transaction.execute("DELETE FROM memories WHERE space = :space AND id = :id", values)
    transaction.execute("DELETE FROM memory_relations WHERE source_id = :id OR target_id = :id", {"id": memory.id})
    for table in _TABLES_OF_MEMORY:
        transaction.execute(f"DELETE FROM {table} WHERE memory_id = :id", {"id": memory.id})


def reinforce(
    transaction: Transaction, ids: Sequence[str], amount: float, now: datetime, spaces: Sequence[str] | None = None
) -> None:
    """Adds a part of the salience that is missing to 1, from the faded salience of now on."""
    chosen, values = one_of("id", ids)
    inside, places = one_of("space", spaces, "space")
    transaction.execute(
        f"UPDATE memories SET salience = {SALIENCE_NOW_SQL} + :amount * (1 - {SALIENCE_NOW_SQL}), "
        f"last_accessed = :now, access_count = access_count + 1 WHERE {chosen} AND {inside}",
        {**values, **places, "amount": amount, "now": to_microseconds(now)},
    )


def find_duplicate(snapshot: Snapshot, memory: Memory, now: datetime) -> Memory | None:
    """An existing memory with the same or nearly the same text, by the same author, in the same place; no file."""
    row = to_row(memory) | {"file": json.dumps(FILE_TAG)}
    holds = (
        "i.is_deleted = 0 AND i.valid_until IS NULL AND replace(i.tags, :file, '') = i.tags "
        f"AND i.written_by <> '{HISTORY}'"
    )
    place = "i.author IS NOT DISTINCT FROM :author AND i.tier = :tier AND (i.tier <> 'session' OR i.session = :session)"
    used = {
        name: row[name] for name in ("space", "fingerprint", "near_duplicate_key", "author", "tier", "session", "file")
    }
    for column in ("fingerprint", "near_duplicate_key"):
        # The ids first: left alone, SQLite would read the whole space.
        same = f"i.id IN (SELECT id FROM memories WHERE space = :space AND {column} = :{column} AND {column} <> '')"
        chosen = Filter(f"i.space = :space AND {same} AND {place} AND {holds}", used)
        for other in select(snapshot, chosen, now, "ORDER BY i.created_at, i.id LIMIT 8"):
            if column == "fingerprint" or is_near_duplicate(other.content, memory.content):
                return other
    return None


def find_values(snapshot: Snapshot, space: str, column: str, values: Iterable[str]) -> set[str]:
    """Those of the values of a column, or keys of calls, that a space has; ids may be in any space."""
    where = {} if column == "id" else {"space": space}
    table, column = ("memory_keys", "name") if column == "key" else ("memories", column)
    return {row[0] for row in select_in(snapshot, f"SELECT {column} FROM {table}", column, values, where)}


def find_by_key(snapshot: Snapshot, project: str, key: str) -> tuple[str, str] | None:
    """Id and fingerprint of what was added under this key."""
    rows = snapshot.rows(
        "SELECT memory_id, fingerprint FROM memory_keys WHERE space = :space AND name = :name",
        {"space": project, "name": key},
    )
    return (rows[0][0], rows[0][1]) if rows else None


_INSERT_KEY = (
    "INSERT INTO memory_keys (space, name, memory_id, fingerprint) VALUES (:space, :name, :id, :fingerprint) "
    "ON CONFLICT (space, name) DO NOTHING"
)


def put_key(transaction: Transaction, project: str, key: str, memory_id: str, fingerprint: str) -> None:
    """Stores the key under which a memory was added."""
    transaction.execute(_INSERT_KEY, {"space": project, "name": key, "id": memory_id, "fingerprint": fingerprint})


def put_keys(transaction: Transaction, keys: Iterable[tuple[str, str, str, str]]) -> None:
    """Stores keys under which memories were added: project, key, id and fingerprint of each."""
    names = ("space", "name", "id", "fingerprint")
    transaction.execute_many(_INSERT_KEY, [dict(zip(names, each, strict=True)) for each in keys])


def find_spaces(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, str]:
    """The space of each of these memories that exists."""
    return dict(select_in(snapshot, "SELECT id, space FROM memories", "id", ids))


def stats(snapshot: Snapshot, project: str | None, now: datetime) -> Stats:
    """Numbers of memories by kind, of sessions and of relations, in one project or in all."""
    values = {"project": project, "now": to_microseconds(now)}
    mine, here = (f"i.project = :project AND {IN_SPACE}", "i.space = :project") if project else ("1 = 1", "1 = 1")
    across = f"i.space = '{GLOBAL_SPACE}' AND i.target_id IN (SELECT i.id FROM memories i WHERE {mine})"
    related = f"i.space = :project OR {across}" if project else "1 = 1"
    kept = f"FROM memories i WHERE {mine} AND i.is_deleted = 0"

    def number(sql: str) -> Any:
        return snapshot.rows(sql, values)[0][0] or 0

    def count_by(column: str) -> dict[str, int]:
        rows = snapshot.rows(
            f"SELECT {column}, count(*) {kept} AND {column} IS NOT NULL GROUP BY {column} ORDER BY 2 DESC, 1", values
        )
        return {name: count for name, count in rows}

    return Stats(
        memories=number(f"SELECT count(*) {kept}"),
        superseded=number(f"SELECT count(*) {kept} AND i.valid_until <= :now"),
        deleted=number(f"SELECT count(*) FROM memories i WHERE {mine} AND i.is_deleted = 1"),
        pinned=number(f"SELECT count(*) {kept} AND i.pinned = 1"),
        sessions=number(f"SELECT count(*) FROM memory_sessions i WHERE {here}"),
        relations=number(f"SELECT count(*) FROM memory_relations i WHERE ({related}) AND i.valid_until IS NULL"),
        salience=float(number(f"SELECT avg({SALIENCE_NOW_SQL}) {kept}")),
        by_project=count_by("i.project"),
        by_sector=count_by("i.sector"),
        by_tier=count_by("i.tier"),
        by_type=count_by("i.memory_type"),
    )


def has_project(snapshot: Snapshot, project: str) -> bool:
    """Whether a project has memories: to list all projects, all memories are read."""
    where = "project = :project AND is_deleted = 0"
    return bool(snapshot.rows(f"SELECT 1 FROM memories WHERE {where} LIMIT 1", {"project": project}))


def projects(snapshot: Snapshot) -> list[str]:
    """The names of all projects that have memories, in order."""
    found = snapshot.rows("SELECT DISTINCT project FROM memories WHERE is_deleted = 0 ORDER BY project")
    return [row[0] for row in found]

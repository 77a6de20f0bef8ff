"""Memories, sessions, links and keys in the database: portable SQL."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from athand.errors import InvalidInput, NotFound
from athand.inputs import is_text
from athand.memories.dedupe import is_near_duplicate
from athand.memories.model import COLUMNS, FILE_TAG, Memory, Session, Stats, fingerprint_row, from_rows, to_row
from athand.memories.salience import SALIENCE_NOW_SQL
from athand.store import Row, Snapshot, Transaction, one_of, select_in, to_datetime, to_microseconds
from athand.text_length import shorten
from athand.types import Filter

DERIVED_COLUMNS = ("space", "is_deleted", "fingerprint", "gist")
_ALL_COLUMNS = f"{COLUMNS}, {', '.join(DERIVED_COLUMNS)}"
_INSERT = f"INSERT INTO memories ({_ALL_COLUMNS}) VALUES ({', '.join(':' + name for name in _ALL_COLUMNS.split(', '))})"
SESSION_COLUMNS = "id, space, started_at, ended_at, summary"
_PUT_SESSION = f"INSERT INTO memory_sessions ({SESSION_COLUMNS}) VALUES (:id, :space, :started_at, :ended_at, :summary)"
_OF_MEMORY = ("memory_links", "memory_keys")


def get(snapshot: Snapshot, id_: str, now: datetime) -> Memory:
    """The memory with this id, deleted or not."""
    if not isinstance(id_, str):
        raise InvalidInput(f"The id of a memory is text, not {type(id_).__name__}.")
    if not is_text(id_):
        raise NotFound(f"No memory {id_!r}: that is not valid Unicode. See what there is with: athand memory list")
    found = by_id(snapshot, [id_], now)
    if not found:
        raise NotFound(f"No memory {id_!r}.{_suggest_id(snapshot, id_)} See what there is with: athand memory list")
    return found[id_]


def _suggest_id(snapshot: Snapshot, id_: str) -> str:
    """The memory whose id begins alike, if there is one: the end of an id is mistyped most."""
    begin = id_[: max(4, len(id_) - 2)]
    rows = snapshot.rows(
        "SELECT id, content FROM memories WHERE id >= :begin AND id < :end ORDER BY id LIMIT 1",
        {"begin": begin, "end": begin + chr(0x10FFFF)},
    )
    return f' Did you mean {rows[0][0]} ("{shorten(rows[0][1], 40)}")?' if rows and len(begin) >= 4 else ""


def by_id(
    snapshot: Snapshot, ids: Sequence[str], now: datetime, spaces: Sequence[str] | None = None
) -> dict[str, Memory]:
    """Those of the memories that exist; with their spaces, an engine of many machines need not ask all of them."""
    chosen, values = one_of("id", ids)
    inside, places = one_of("space", spaces, "space")
    rows = snapshot.rows(f"SELECT {COLUMNS} FROM memories WHERE {chosen} AND {inside}", {**values, **places})
    return {memory.id: memory for memory in from_rows(rows, now)}


def select(snapshot: Snapshot, chosen: Filter, now: datetime, rest: str = "", **values: object) -> list[Memory]:
    """The memories that pass a filter; `rest` may order and limit them."""
    rows = snapshot.rows(
        f"SELECT {COLUMNS} FROM memories i WHERE {chosen.where or '1 = 1'} {rest}", {**chosen.parameters, **values}
    )
    return from_rows(rows, now)


def select_all(snapshot: Snapshot, batch: int, now: datetime) -> Iterator[list[Memory]]:
    """All memories that are not deleted, in the order of space and id, so many at a time."""
    space, id_ = "", ""
    while True:
        found = snapshot.rows(
            f"SELECT {COLUMNS} FROM memories WHERE (space > :space OR (space = :space AND id > :id)) "
            "AND is_deleted = 0 ORDER BY space, id LIMIT :limit",
            {"space": space, "id": id_, "limit": batch},
        )
        if not found:
            return
        memories = from_rows(found, now)
        yield memories
        space, id_ = memories[-1].space, memories[-1].id


def renew_fingerprints(transaction: Transaction, memories: Iterable[Memory]) -> None:
    """Write the fingerprints that the contents have now, where they differ."""
    for memory in memories:
        transaction.execute(
            "UPDATE memories SET fingerprint = :fingerprint, gist = :gist WHERE space = :space AND id = :id "
            "AND (fingerprint <> :fingerprint OR gist <> :gist)",
            {**fingerprint_row(memory), "space": memory.space, "id": memory.id},
        )


def insert(transaction: Transaction, memory: Memory) -> None:
    """Write a memory that is not there yet."""
    transaction.execute(_INSERT, to_row(memory))


def write(transaction: Transaction, before: Memory, after: Memory) -> None:
    """Write a memory anew; its space may have changed, which no engine likes to update."""
    transaction.execute(
        "DELETE FROM memories WHERE space = :space AND id = :id", {"space": before.space, "id": before.id}
    )
    insert(transaction, after)


def erase(transaction: Transaction, memory: Memory) -> None:
    """Delete the memory's row, and every row that names it."""
    values = {"space": memory.space, "id": memory.id}
    transaction.execute("DELETE FROM memories WHERE space = :space AND id = :id", values)
    transaction.execute("DELETE FROM memory_relations WHERE source_id = :id OR target_id = :id", {"id": memory.id})
    for table in _OF_MEMORY:
        transaction.execute(f"DELETE FROM {table} WHERE memory_id = :id", {"id": memory.id})


def reinforce(
    transaction: Transaction, ids: Sequence[str], amount: float, now: datetime, spaces: Sequence[str] | None = None
) -> None:
    """Give back a part of the salience these have lost; what has faded until now is taken into account."""
    chosen, values = one_of("id", ids)
    inside, places = one_of("space", spaces, "space")
    transaction.execute(
        f"UPDATE memories SET salience = {SALIENCE_NOW_SQL} + :amount * (1 - {SALIENCE_NOW_SQL}), "
        f"last_accessed = :now, access_count = access_count + 1 WHERE {chosen} AND {inside}",
        {**values, **places, "amount": amount, "now": to_microseconds(now)},
    )


def find_duplicate(snapshot: Snapshot, memory: Memory, now: datetime) -> Memory | None:
    """The memory that says the same, exactly or nearly, by the same author, in the same place; files are none."""
    row = to_row(memory) | {"file": json.dumps(FILE_TAG)}
    holds = "i.is_deleted = 0 AND i.valid_until IS NULL AND replace(i.tags, :file, '') = i.tags"
    place = "i.author IS NOT DISTINCT FROM :author AND i.tier = :tier AND (i.tier <> 'session' OR i.session = :session)"
    used = {name: row[name] for name in ("space", "fingerprint", "gist", "author", "tier", "session", "file")}
    for column in ("fingerprint", "gist"):
        # The ids first: left alone, SQLite would read the whole space.
        same = f"i.id IN (SELECT id FROM memories WHERE space = :space AND {column} = :{column} AND {column} <> '')"
        chosen = Filter(f"i.space = :space AND {same} AND {place} AND {holds}", used)
        for other in select(snapshot, chosen, now, "ORDER BY i.created_at, i.id LIMIT 8"):
            if column == "fingerprint" or is_near_duplicate(other.content, memory.content):
                return other
    return None


def find_by_key(snapshot: Snapshot, project: str, key: str) -> tuple[str, str] | None:
    """Id and fingerprint of what was added by this name."""
    rows = snapshot.rows(
        "SELECT memory_id, fingerprint FROM memory_keys WHERE space = :space AND name = :name",
        {"space": project, "name": key},
    )
    return (rows[0][0], rows[0][1]) if rows else None


def put_key(transaction: Transaction, project: str, key: str, memory_id: str, fingerprint: str) -> None:
    """Remember by which name a memory was added."""
    transaction.execute(
        "INSERT INTO memory_keys (space, name, memory_id, fingerprint) VALUES (:space, :name, :id, :fingerprint) "
        "ON CONFLICT (space, name) DO NOTHING",
        {"space": project, "name": key, "id": memory_id, "fingerprint": fingerprint},
    )


def find_session(snapshot: Snapshot, id_: str) -> Session | None:
    """The session with this id, if there is one."""
    return sessions_by_id(snapshot, [id_]).get(id_)


def get_session(snapshot: Snapshot, id_: str) -> Session:
    """The session with this id."""
    found = find_session(snapshot, id_) if is_text(id_) else None
    if found is None:
        raise NotFound(f"No session {id_!r}. See the sessions with: athand memory sessions")
    return found


def sessions_by_id(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, Session]:
    """Those of the sessions that exist."""
    rows = select_in(snapshot, f"SELECT {SESSION_COLUMNS} FROM memory_sessions", "id", ids)
    return {row[0]: session_from_row(row) for row in rows}


def select_sessions(snapshot: Snapshot, project: str | None, limit: int) -> list[Session]:
    """The newest sessions first."""
    rows = snapshot.rows(
        f"SELECT {SESSION_COLUMNS} FROM memory_sessions WHERE (:project IS NULL OR space = :project) "
        "ORDER BY started_at DESC, id LIMIT :limit",
        {"project": project, "limit": limit},
    )
    return [session_from_row(row) for row in rows]


def session_from_row(row: Row) -> Session:
    """A session from its columns."""
    id_, project, started_at, ended_at, summary = row
    return Session(
        id_, project, to_datetime(started_at), to_datetime(ended_at) if ended_at is not None else None, summary
    )


def begin_session(transaction: Transaction, session: Session) -> None:
    """Write a session, unless another writer has just done so."""
    transaction.execute(f"{_PUT_SESSION} ON CONFLICT DO NOTHING", _session_row(session))


def put_session(transaction: Transaction, session: Session) -> None:
    """Write a session, new or changed."""
    transaction.execute(
        f"{_PUT_SESSION} ON CONFLICT (space, id) DO UPDATE "
        "SET ended_at = excluded.ended_at, summary = excluded.summary",
        _session_row(session),
    )


def _session_row(session: Session) -> dict[str, object]:
    return {
        "id": session.id,
        "space": session.project,
        "started_at": to_microseconds(session.started_at),
        "ended_at": to_microseconds(session.ended_at) if session.ended_at else None,
        "summary": session.summary,
    }


def link(transaction: Transaction, session: str, memories: Iterable[Memory], usage: str, at: datetime) -> None:
    """Note that a session has used these memories."""
    for memory in memories:
        put_link(transaction, memory.project, session, memory.id, usage, at)


def put_link(transaction: Transaction, project: str, session: str, memory_id: str, usage: str, at: datetime) -> None:
    """Write a link, new or again."""
    transaction.execute(
        "INSERT INTO memory_links (space, session, memory_id, usage, linked_at) "
        # A memory that was found may have been erased since.
        "SELECT :space, :session, id, :usage, :at FROM memories WHERE id = :id "
        "ON CONFLICT (space, session, memory_id, usage) DO UPDATE SET linked_at = excluded.linked_at",
        {"space": project, "session": session, "id": memory_id, "usage": usage, "at": to_microseconds(at)},
    )


def require(snapshot: Snapshot, table: str, id_: str) -> str:
    """The project of a memory or session that must be there."""
    column = "project" if table == "memories" else "space"
    rows = snapshot.rows(f"SELECT {column} FROM {table} WHERE id = :id", {"id": id_})
    if not rows:
        raise NotFound(f"There is no {'memory' if table == 'memories' else 'session'} {id_!r}.")
    return str(rows[0][0])


def latest_link(snapshot: Snapshot, memory_id: str) -> tuple[str, str] | None:
    """Session and usage of the memory's latest link."""
    rows = snapshot.rows(
        "SELECT session, usage FROM memory_links WHERE memory_id = :id "
        "ORDER BY linked_at DESC, CASE usage WHEN 'created' THEN 1 ELSE 0 END, session, usage LIMIT 1",
        {"id": memory_id},
    )
    return (rows[0][0], rows[0][1]) if rows else None


def list_sessions_that_used(snapshot: Snapshot, ids: Sequence[str]) -> list[str]:
    """The sessions that have used any of these memories."""
    chosen, values = one_of("memory_id", ids)
    rows = snapshot.rows(f"SELECT DISTINCT session FROM memory_links WHERE {chosen} ORDER BY session", values)
    return [row[0] for row in rows]


def count_links(snapshot: Snapshot, session: str) -> int:
    """How many distinct memories a session has used."""
    [(count,)] = snapshot.rows(
        "SELECT count(*) FROM memories WHERE is_deleted = 0 "
        "AND id IN (SELECT memory_id FROM memory_links WHERE session = :session)",
        {"session": session},
    )
    return int(count)


def neighbours(snapshot: Snapshot, ids: Sequence[str], spaces: Sequence[str] | None = None) -> dict[str, list[str]]:
    """The memories just before and just after each of these in its session."""
    chosen, values = one_of("m.id", ids)
    inside, places = one_of("m.space", spaces, "space")
    same = (
        "SELECT n.id FROM memories n WHERE n.space = m.space AND n.session = m.session AND n.is_deleted = 0 "
        "AND (n.created_at, n.id)"
    )
    before = f"{same} < (m.created_at, m.id) ORDER BY n.created_at DESC, n.id DESC LIMIT 1"
    after = f"{same} > (m.created_at, m.id) ORDER BY n.created_at, n.id LIMIT 1"
    rows = snapshot.rows(
        f"SELECT m.id, ({before}), ({after}) FROM memories m WHERE {chosen} AND m.session IS NOT NULL AND {inside}",
        {**values, **places},
    )
    return {row[0]: [id_ for id_ in row[1:] if id_ is not None] for row in rows}


_HERE = "(:project IS NULL OR i.project = :project)"


def stats(snapshot: Snapshot, project: str | None, now: datetime) -> Stats:
    """Memories by kind, sessions and relations; of one project or of all."""
    values = {"project": project, "now": to_microseconds(now)}
    kept = f"FROM memories i WHERE {_HERE} AND i.is_deleted = 0"

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
        deleted=number(f"SELECT count(*) FROM memories i WHERE {_HERE} AND i.is_deleted = 1"),
        pinned=number(f"SELECT count(*) {kept} AND i.pinned = 1"),
        sessions=number("SELECT count(*) FROM memory_sessions i WHERE (:project IS NULL OR i.space = :project)"),
        relations=number(
            "SELECT count(*) FROM memory_relations i WHERE (:project IS NULL OR i.space = :project) "
            "AND i.valid_until IS NULL"
        ),
        salience=float(number(f"SELECT avg({SALIENCE_NOW_SQL}) {kept}")),
        by_project=count_by("i.project"),
        by_sector=count_by("i.sector"),
        by_tier=count_by("i.tier"),
        by_type=count_by("i.memory_type"),
    )

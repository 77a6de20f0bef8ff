"""Sessions: their rows, the memories they used, and the memories around one in time."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from athand.corpus import AnyCorpus
from athand.errors import Conflict, NotFound
from athand.inputs import check_name, check_past, check_text, is_text, suggest
from athand.memories import rows
from athand.memories.jsonl import Link
from athand.memories.model import GLOBAL_SPACE, Memory, Session, SessionContext, Timeline
from athand.memories.validation import check_project
from athand.redaction import clean, refuse_secret
from athand.store import Row, Snapshot, Transaction, new_id, one_of, select_in, to_datetime, to_microseconds
from athand.types import Filter

_SUGGESTED_FROM = 1000  # sessions whose ids are compared with one that is unknown

COLUMNS = "id, space, started_at, ended_at, summary"
_INSERT = f"INSERT INTO memory_sessions ({COLUMNS}) VALUES (:id, :space, :started_at, :ended_at, :summary)"


def start(corpus: AnyCorpus, project: str, id_: str | None, started_at: object) -> Session:
    """Begins a session; one that has begun already goes on."""
    now = corpus.now()
    began = now if started_at is None else check_past("started_at", started_at, now)
    session_id = new_id(now) if id_ is None else refuse_secret("id", check_name("id", id_))
    with corpus.store.transaction(spaces=[check_project(project)]) as transaction:
        session = ensure(transaction, session_id, project, began)
    if session.project != project:
        raise Conflict(f"There is a session {session_id} of another project already. Choose another id.")
    return session


def ensure(transaction: Transaction, id_: str, project: str, started_at: datetime) -> Session:
    """The session with this id; it begins if there is none."""
    session = find(transaction, check_name("session", id_), project)
    if session is None:
        insert(transaction, Session(id_, project, started_at))
        session = get(transaction, id_, project)
    return session


def link_session(corpus: AnyCorpus, id_: str, project: str, ids: Sequence[str], *, ended: bool) -> None:
    """Links a session, which begins if it is not there yet, with memories that it was told of; and ends it."""
    now = corpus.now()
    with corpus.store.snapshot() as snapshot:
        memories = rows.by_id(snapshot, ids, now).values()
    if memories:
        with corpus.store.transaction() as transaction:
            session = ensure(transaction, id_, check_project(project), now)
            link(transaction, id_, memories, "recalled", now)
            if ended:
                put(transaction, replace(session, ended_at=now))


def end(corpus: AnyCorpus, id_: str, summary: str | None) -> Session:
    """Ends a session; an earlier summary stays if there is no new one."""
    with corpus.store.transaction() as transaction:
        before = get(transaction, id_)
        kept = before.summary if summary is None else clean(check_text("summary", summary))
        session = replace(before, ended_at=corpus.now(), summary=kept)
        put(transaction, session)
    return session


# A session's own memories show in its own timeline only.
_VISIBLE = "i.project = :project AND i.is_deleted = 0 AND (i.tier <> 'session' OR i.session = :session)"


def timeline(
    snapshot: Snapshot, anchor: Memory, before: int, after: int, now: datetime, longest: int | None = None
) -> Timeline:
    """The memories of the same project next to the anchor; those of the same time are ordered by id."""
    values = {
        "project": anchor.project,
        "session": anchor.session or "",
        "at": to_microseconds(anchor.created_at),
        "id": anchor.id,
    }
    is_earlier = Filter(f"{_VISIBLE} AND (i.created_at, i.id) < (:at, :id)", values)
    is_later = Filter(f"{_VISIBLE} AND (i.created_at, i.id) > (:at, :id)", values)
    newest_first = "ORDER BY i.created_at DESC, i.id DESC LIMIT :limit"
    earlier = rows.select(snapshot, is_earlier, now, newest_first, longest, limit=before)[::-1]
    oldest_first = "ORDER BY i.created_at, i.id LIMIT :limit"
    later = rows.select(snapshot, is_later, now, oldest_first, longest, limit=after)
    ids = [memory.id for memory in (*earlier, anchor, *later)]
    return Timeline(anchor, tuple(earlier), tuple(later), by_id(snapshot, _list_sessions_of(snapshot, ids)))


def session_context(snapshot: Snapshot, memory_id: str) -> SessionContext | None:
    """The session that used a memory last; None if none ever has."""
    link = _latest_link(snapshot, memory_id)
    if link is None:
        return None
    session, usage = link
    return SessionContext(get(snapshot, session), _count_memories(snapshot, session), usage)


def neighbours(snapshot: Snapshot, ids: Sequence[str], spaces: Sequence[str] | None = None) -> dict[str, list[str]]:
    """For each of these memories the one before and the one after it in its session."""
    chosen, values = one_of("m.id", ids)
    inside, places = one_of("m.space", spaces, "space")
    beside, _ = one_of("n.space", spaces, "space")
    same = (
        f"SELECT n.id FROM memories n WHERE {beside} AND n.space = m.space AND n.session = m.session "
        "AND n.is_deleted = 0 AND (n.created_at, n.id)"
    )
    before = f"{same} < (m.created_at, m.id) ORDER BY n.created_at DESC, n.id DESC LIMIT 1"
    after = f"{same} > (m.created_at, m.id) ORDER BY n.created_at, n.id LIMIT 1"
    rows = snapshot.rows(
        f"SELECT m.id, ({before}), ({after}) FROM memories m WHERE {chosen} AND m.session IS NOT NULL AND {inside}",
        {**values, **places},
    )
    return {row[0]: [id_ for id_ in row[1:] if id_ is not None] for row in rows}


def find(snapshot: Snapshot, id_: str, project: str | None = None) -> Session | None:
    """The session with this id, if there is one; probably of this project."""
    return by_id(snapshot, [id_], project).get(id_)


def get(snapshot: Snapshot, id_: str, project: str | None = None) -> Session:
    """The session with this id; probably of this project."""
    found = find(snapshot, id_, project) if is_text(id_) else None
    if found is None:
        newest = snapshot.rows(
            "SELECT id FROM memory_sessions ORDER BY started_at DESC LIMIT :limit", {"limit": _SUGGESTED_FROM}
        )
        hint = suggest(id_, (row[0] for row in newest))
        raise NotFound(f"No session {id_!r}.{hint} See the sessions with: athand memory sessions")
    return found


def by_id(snapshot: Snapshot, ids: Iterable[str], project: str | None = None) -> dict[str, Session]:
    """Those of the sessions that exist; a cluster is asked first for those of the project."""
    select, wanted = f"SELECT {COLUMNS} FROM memory_sessions", set(ids)
    found = [] if project is None else select_in(snapshot, select, "id", wanted, spaces=[project])
    found += select_in(snapshot, select, "id", wanted.difference(row[0] for row in found))
    return {row[0]: from_row(row) for row in found}


def select(snapshot: Snapshot, project: str | None, limit: int) -> list[Session]:
    """The newest sessions first."""
    rows = snapshot.rows(
        f"SELECT {COLUMNS} FROM memory_sessions WHERE (:project IS NULL OR space = :project) "
        "ORDER BY started_at DESC, id LIMIT :limit",
        {"project": project, "limit": limit},
    )
    return [from_row(row) for row in rows]


def from_row(row: Row) -> Session:
    """A session from its columns."""
    id_, project, started_at, ended_at, summary = row
    return Session(
        id_, project, to_datetime(started_at), to_datetime(ended_at) if ended_at is not None else None, summary
    )


def insert(transaction: Transaction, session: Session) -> None:
    """Writes a session, unless another writer has just done so."""
    transaction.execute(f"{_INSERT} ON CONFLICT DO NOTHING", _to_row(session))


def put(transaction: Transaction, session: Session) -> None:
    """Writes a session, new or changed."""
    transaction.execute(
        f"{_INSERT} ON CONFLICT (space, id) DO UPDATE SET ended_at = excluded.ended_at, summary = excluded.summary",
        _to_row(session),
    )


def _to_row(session: Session) -> dict[str, object]:
    return {
        "id": session.id,
        "space": session.project,
        "started_at": to_microseconds(session.started_at),
        "ended_at": to_microseconds(session.ended_at) if session.ended_at else None,
        "summary": session.summary,
    }


def link(transaction: Transaction, session: str, memories: Iterable[Memory], usage: str, at: datetime) -> None:
    """Links memories with the session that has used them."""
    put_links(transaction, [Link(memory.project, session, memory.id, usage, at) for memory in memories])


def link_new(transaction: Transaction, memories: Iterable[Memory]) -> None:
    """Links new memories with the sessions that have made them; sessions that are not there yet begin."""
    made = [(memory, memory.session) for memory in memories if memory.session is not None]
    for session, memory in {session: memory for memory, session in reversed(made)}.items():
        ensure(transaction, session, memory.project, memory.created_at)
    transaction.execute_many(
        "INSERT INTO memory_links (space, session, memory_id, usage, linked_at) "
        "VALUES (:space, :session, :id, 'created', :at)",
        [
            {"space": memory.project, "session": session, "id": memory.id, "at": to_microseconds(memory.created_at)}
            for memory, session in made
        ],
    )


def put_links(transaction: Transaction, links: Iterable[Link]) -> None:
    """Writes links, or their new times."""
    transaction.execute_many(
        "INSERT INTO memory_links (space, session, memory_id, usage, linked_at) "
        # A memory that was found may have been erased since.
        "SELECT :space, :session, id, :usage, :at FROM memories WHERE id = :id AND space IN (:space, :everywhere) "
        "ON CONFLICT (space, session, memory_id, usage) DO UPDATE SET linked_at = excluded.linked_at",
        [
            {
                "space": link.project,
                "everywhere": GLOBAL_SPACE,
                "session": link.session,
                "id": link.memory_id,
                "usage": link.usage,
                "at": to_microseconds(link.linked_at),
            }
            for link in links
        ],
    )


def _latest_link(snapshot: Snapshot, memory_id: str) -> tuple[str, str] | None:
    """Session and usage of the latest link of a memory."""
    rows = snapshot.rows(
        "SELECT session, usage FROM memory_links WHERE memory_id = :id "
        "ORDER BY linked_at DESC, CASE usage WHEN 'created' THEN 1 ELSE 0 END, session, usage LIMIT 1",
        {"id": memory_id},
    )
    return (rows[0][0], rows[0][1]) if rows else None


def _list_sessions_of(snapshot: Snapshot, ids: Sequence[str]) -> list[str]:
    """The sessions that have used any of these memories."""
    chosen, values = one_of("memory_id", ids)
    rows = snapshot.rows(f"SELECT DISTINCT session FROM memory_links WHERE {chosen} ORDER BY session", values)
    return [row[0] for row in rows]


def _count_memories(snapshot: Snapshot, session: str) -> int:
    """How many distinct memories a session has used."""
    [(count,)] = snapshot.rows(
        "SELECT count(*) FROM memories WHERE is_deleted = 0 "
        "AND id IN (SELECT memory_id FROM memory_links WHERE session = :session)",
        {"session": session},
    )
    return int(count)

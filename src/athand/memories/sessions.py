"""Sessions: periods of work with a beginning, an end and a summary; and what was remembered around a memory."""

from dataclasses import replace
from datetime import datetime

from athand.corpus import AnyCorpus
from athand.errors import Conflict
from athand.inputs import check_name, check_past, check_text
from athand.memories import rows, write
from athand.memories.model import Memory, Session, SessionContext, Timeline
from athand.memories.validation import check_project
from athand.redaction import clean
from athand.store import Snapshot, new_id, to_microseconds
from athand.types import Filter


def start(corpus: AnyCorpus, project: str, id_: str | None, started_at: object) -> Session:
    """Begin a session; one that has begun already goes on."""
    now = corpus.now()
    began = now if started_at is None else check_past("started_at", started_at, now)
    named = new_id(now) if id_ is None else check_name("id", id_)
    with corpus.store.transaction(spaces=[check_project(project)]) as transaction:
        session = write.ensure_session(transaction, named, project, began)
    if session.project != project:
        raise Conflict(f"There is a session {named} of project {session.project} already. Choose another id.")
    return session


def end(corpus: AnyCorpus, id_: str, summary: str | None) -> Session:
    """End a session; a summary given before stays if there is no new one."""
    with corpus.store.transaction() as transaction:
        before = rows.get_session(transaction, id_)
        kept = before.summary if summary is None else clean(check_text("summary", summary))
        session = replace(before, ended_at=corpus.now(), summary=kept)
        rows.put_session(transaction, session)
    return session


# A session's own memories show in its own timeline only.
_SHOWN = "i.project = :project AND i.is_deleted = 0 AND (i.tier <> 'session' OR i.session = :session)"


def timeline(snapshot: Snapshot, anchor: Memory, before: int, after: int, now: datetime) -> Timeline:
    """The memories of the same project next to the anchor; equal times are told apart by id."""
    place = {
        "project": anchor.project,
        "session": anchor.session or "",
        "at": to_microseconds(anchor.created_at),
        "id": anchor.id,
    }
    earlier = Filter(f"{_SHOWN} AND (i.created_at, i.id) < (:at, :id)", place)
    later = Filter(f"{_SHOWN} AND (i.created_at, i.id) > (:at, :id)", place)
    previous = rows.select(snapshot, earlier, now, "ORDER BY i.created_at DESC, i.id DESC LIMIT :limit", limit=before)[
        ::-1
    ]
    following = rows.select(snapshot, later, now, "ORDER BY i.created_at, i.id LIMIT :limit", limit=after)
    ids = [memory.id for memory in (*previous, anchor, *following)]
    sessions = rows.sessions_by_id(snapshot, rows.list_sessions_that_used(snapshot, ids))
    return Timeline(anchor, tuple(previous), tuple(following), sessions)


def session_context(snapshot: Snapshot, memory_id: str) -> SessionContext | None:
    """The session that used a memory last; None if none ever has."""
    link = rows.latest_link(snapshot, memory_id)
    if link is None:
        return None
    session, usage = link
    return SessionContext(rows.get_session(snapshot, session), rows.count_links(snapshot, session), usage)

"""Memories in time: what was remembered around one, and in which session."""

from datetime import datetime

from athand.memories import records
from athand.memories.model import Memory, SessionContext, Timeline
from athand.store import Snapshot, to_microseconds
from athand.types import Filter

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
    previous = records.select(
        snapshot, earlier, now, "ORDER BY i.created_at DESC, i.id DESC LIMIT :limit", limit=before
    )[::-1]
    following = records.select(snapshot, later, now, "ORDER BY i.created_at, i.id LIMIT :limit", limit=after)
    ids = [memory.id for memory in (*previous, anchor, *following)]
    sessions = records.sessions_by_id(snapshot, records.linked_sessions(snapshot, ids))
    return Timeline(anchor, tuple(previous), tuple(following), sessions)


def session_context(snapshot: Snapshot, memory_id: str) -> SessionContext | None:
    """The session that used a memory last; None if none ever has."""
    link = records.latest_link(snapshot, memory_id)
    if link is None:
        return None
    session, usage = link
    return SessionContext(records.get_session(snapshot, session), records.count_linked(snapshot, session), usage)

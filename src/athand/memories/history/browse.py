"""Past sessions in lists: when each was, in which project, how many turns it had, and what it was about."""

from dataclasses import dataclass
from datetime import datetime

from athand.corpus import AnyCorpus
from athand.errors import NotFound
from athand.inputs import check_limit, check_name
from athand.memories import rows, sessions
from athand.memories.model import HISTORY, Memory
from athand.store import Snapshot, one_of, to_datetime
from athand.types import Filter, Noun

_TURNS = f"FROM memories i WHERE i.written_by = '{HISTORY}' AND i.is_deleted = 0 AND i.session IS NOT NULL"
_MOST_TURNS = 10_000


@dataclass(frozen=True, slots=True)
class PastSession(Noun):
    """A session that was read from transcripts."""

    id: str
    project: str
    started_at: datetime
    ended_at: datetime | None
    turns: int
    title: str | None


def list_sessions(corpus: AnyCorpus, project: str | None = None, limit: int = 20) -> list[PastSession]:
    """The newest sessions first."""
    with corpus.store.snapshot() as snapshot:
        return _list_sessions(snapshot, project, check_limit(limit))


def _list_sessions(snapshot: Snapshot, project: str | None, limit: int) -> list[PastSession]:
    found = snapshot.rows(
        f"SELECT i.session, i.project, min(i.created_at), max(i.created_at), count(*) {_TURNS} "
        "AND (:project IS NULL OR i.project = :project) "
        "GROUP BY i.session, i.project ORDER BY 4 DESC, 1 LIMIT :limit",
        {"project": project, "limit": limit},
    )
    known = sessions.by_id(snapshot, [row[0] for row in found])
    return [
        PastSession(
            id_,
            own,
            to_datetime(first),
            (known[id_].ended_at if id_ in known else None) or to_datetime(last),
            turns,
            known[id_].summary if id_ in known else None,
        )
        for id_, own, first, last, turns in found
    ]


def list_turns(corpus: AnyCorpus, session: str) -> list[Memory]:
    """The turns of a session, oldest first; the beginning of its id is enough where it means one only."""
    with corpus.store.snapshot() as snapshot:
        return _list_turns(snapshot, check_name("session", session), corpus.now())


def _list_turns(snapshot: Snapshot, session: str, now: datetime) -> list[Memory]:
    found = snapshot.rows(
        f"SELECT DISTINCT i.session {_TURNS} AND i.session >= :begin AND i.session < :end LIMIT 2",
        {"begin": session, "end": session + chr(0x10FFFF)},
    )
    names = [row[0] for row in found]
    if not names or (len(names) > 1 and session not in names):
        why = "begins the ids of several sessions" if names else "is the id of no past session"
        raise NotFound(f"{session!r} {why}. See them with: athand history list")
    chosen, values = one_of("i.session", [session if session in names else names[0]])
    turns = Filter(f"{chosen} AND i.written_by = '{HISTORY}' AND i.is_deleted = 0", values)
    return rows.select(snapshot, turns, now, "ORDER BY i.created_at, i.id LIMIT :limit", limit=_MOST_TURNS)

"""The brief of a project: what an agent should know at the start of a session, within a budget of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from athand.memories import rows, sessions
from athand.memories.filters import DELIBERATE, and_, build_filter, visible_filter
from athand.memories.model import GLOBAL_SPACE, Memory
from athand.memories.salience import SALIENCE_NOW_SQL
from athand.store import Snapshot
from athand.text_length import estimate_tokens
from athand.types import Filter

_PER_SECTION = 50
_Entry = tuple[str, str]  # the id of a memory, if it is one, and its line
_NEWEST = "ORDER BY i.created_at DESC, i.id"
_MOST_SALIENT = f"ORDER BY {SALIENCE_NOW_SQL} DESC, i.created_at DESC, i.id"


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief, and the ids of the memories in it."""

    text: str
    ids: tuple[str, ...]


def brief(snapshot: Snapshot, project: str, max_tokens: int, now: datetime) -> Brief:
    """Markdown: last session's summary, pinned memories, decisions and the most salient memories, as many as fit."""
    lines: list[str] = []
    ids: list[str] = []
    left = max_tokens
    for heading, entries in _sections(snapshot, project, now):
        for id_, entry in entries:
            added = [*(["", heading] if lines else [heading]), entry] if heading not in lines else [entry]
            cost = sum(estimate_tokens(f"{line}\n") for line in added)
            if cost <= left:
                lines += added
                ids += [id_] if id_ else []
                left -= cost
    return Brief("\n".join(lines), tuple(ids))


def _sections(snapshot: Snapshot, project: str, now: datetime) -> Iterator[tuple[str, list[_Entry]]]:
    listed: set[str] = set()

    def lines(order: str, **filters: object) -> list[_Entry]:
        found = [each for each in _select(snapshot, project, now, order, **filters) if each.id not in listed]
        listed.update(each.id for each in found)
        return [(each.id, _line(each)) for each in found]

    yield "## Last session", _last_session(snapshot, project)
    yield "## Pinned", lines(_MOST_SALIENT, pinned=True)
    yield "## Decisions", lines(_NEWEST, memory_type="decision")
    yield "## What matters most", lines(_MOST_SALIENT)


def _select(snapshot: Snapshot, project: str, now: datetime, order: str, **filters: object) -> list[Memory]:
    here = Filter(
        f"i.space IN (:project, :everywhere) AND i.is_deleted = 0 AND {DELIBERATE.where}",
        {"project": project, "everywhere": GLOBAL_SPACE},
    )
    visible = visible_filter(now, None, (None, None), with_superseded=False)
    chosen = and_(and_(here, visible), build_filter(now, **filters))
    return rows.select(snapshot, chosen, now, f"{order} LIMIT :limit", limit=_PER_SECTION)


def _last_session(snapshot: Snapshot, project: str) -> list[_Entry]:
    summaries = ((each, each.summary) for each in sessions.select(snapshot, project, _PER_SECTION) if each.summary)
    return [("", f"{each.started_at:%Y-%m-%d}: {_one_line(summary)}") for each, summary in summaries][:1]


def _line(memory: Memory) -> str:
    kind = memory.memory_type or memory.sector
    about = (kind, memory.author, memory.writer_note, _pin_note(memory), f"{memory.created_at:%Y-%m-%d}", memory.id)
    return f"- {_one_line(memory.summary or memory.content)} ({', '.join(filter(None, about))})"


def _pin_note(memory: Memory) -> str:
    """Who pinned it, unless a person did: that it is pinned, the heading says."""
    return "" if memory.pin_note == "pinned" else memory.pin_note


def _one_line(text: str) -> str:
    return " ".join(text.split())

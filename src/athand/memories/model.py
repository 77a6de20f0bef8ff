"""The nouns of memories; memories from rows, to rows, and to passages of the index."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

from athand.memories.dedupe import fingerprint, near_duplicate_key
from athand.memories.salience import salience_now
from athand.store import Passage, Row, to_datetimes, to_microseconds
from athand.text_length import shorten
from athand.types import Hit, Noun

FILE_TAG = "memory-file"  # of a memory that is the text of a file
GLOBAL_SPACE = "*"  # of the memories that every project sees
USAGES = ("created", "recalled", "updated", "reinforced")
RELATIONS = (
    "SUPERSEDES",
    "CONTRADICTS",
    "RELATED_TO",
    "BUILDS_ON",
    "CONFIRMS",
    "APPLIES_TO",
    "DEPENDS_ON",
    "ALTERNATIVE_TO",
)
HISTORY = "history"  # who wrote what was read from transcripts of sessions
WRITERS = ("user", "agent", "import", HISTORY)
MOST_FORGOTTEN = 10_000  # memories at a time
_TITLE = 80


@dataclass(frozen=True, slots=True)
class Similar(Noun):
    """An existing memory that resembles the one just added."""

    id: str
    content: str
    score: float
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Memory(Noun):
    """A text worth keeping, its origin, how long it was valid, and how salient it is now."""

    id: str
    project: str
    content: str
    created_at: datetime
    updated_at: datetime
    last_accessed: datetime
    valid_from: datetime
    valid_until: datetime | None = None
    summary: str | None = None
    context: str | None = None
    author: str | None = None
    written_by: str = "agent"
    sector: str = "semantic"
    tier: str = "project"
    memory_type: str | None = None
    session: str | None = None
    importance: float = 0.5
    salience: float = 1.0
    access_count: int = 0
    pinned: bool = False
    pinned_by: str | None = None  # None: it is not pinned, or was before this was kept
    tags: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    deleted_at: datetime | None = None
    effective_salience: float = field(default=1.0, compare=False)
    deduplicated: bool = field(default=False, compare=False)
    similar: tuple[Similar, ...] = field(default=(), compare=False)

    @property
    def is_deleted(self) -> bool:
        """Whether it was deleted; `restore` brings it back."""
        return self.deleted_at is not None

    @property
    def space(self) -> str:
        """The space in which it is searched."""
        return GLOBAL_SPACE if self.tier == "global" else self.project

    @property
    def writer_note(self) -> str:
        """Who wrote it down, unless a person did: what an agent stored is not the user's word."""
        return "" if self.written_by == "user" else f"written by {self.written_by}"

    @property
    def pin_note(self) -> str:
        """Whether it is pinned, and by whom unless a person did: what an agent holds dear is not the user's choice."""
        by = f" by {self.pinned_by}" if self.pinned_by not in (None, "user") else ""
        return f"pinned{by}" if self.pinned else ""

    @property
    def title(self) -> str:
        """The summary or the first line, short enough for a list."""
        line = (self.summary or self.content).strip().split("\n", 1)[0]
        return shorten(line, _TITLE)

    def next_update(self, now: datetime) -> datetime:
        """The time of a change made now: always later than that of the last change."""
        return max(now, self.updated_at + timedelta(microseconds=1))

    def to_dict(self) -> dict[str, Any]:
        """The memory as plain values."""
        return Noun.to_dict(self) | {"is_deleted": self.is_deleted}


@dataclass(frozen=True, slots=True)
class Session(Noun):
    """A period of work in which memories are made and used."""

    id: str
    project: str
    started_at: datetime
    ended_at: datetime | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class Relation(Noun):
    """A relation from one memory to another, who says so, and how long it holds."""

    source_id: str
    target_id: str
    type: str
    by: str
    valid_from: datetime
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Related(Noun):
    """A memory at the other end of a relation."""

    relation: Relation
    memory: Memory


@dataclass(frozen=True, slots=True)
class Successor(Noun):
    """The memory that superseded another: the beginning of its text."""

    id: str
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MemoryHit(Hit):
    """A memory that was found, its session, and whether it was superseded."""

    match_type: str = "both"
    highlights: tuple[str, ...] = ()
    source_session: Session | None = None
    is_superseded: bool = False
    superseded_by: Successor | None = None
    related_count: int = 0


@dataclass(frozen=True, slots=True)
class Timeline(Noun):
    """The memories around one in time, oldest first, and the sessions that used them."""

    anchor: Memory
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]
    sessions: Mapping[str, Session]


@dataclass(frozen=True, slots=True)
class OpenedMemory(Noun):
    """A memory, what superseded it and what it superseded, and the memories next to it in time, oldest first."""

    memory: Memory
    superseded_by: tuple[Memory, ...]  # the next one first
    supersedes: tuple[Memory, ...]  # the newest first
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class SessionContext(Noun):
    """The session that used a memory last, and how."""

    session: Session
    memories_in_session: int
    usage_type: str


@dataclass(frozen=True, slots=True)
class ImportedMemories(Noun):
    """How many memories a file had, and how many of them were not there already."""

    memories: int
    new: int


@dataclass(frozen=True, slots=True)
class Stats(Noun):
    """Numbers of memories by kind, of sessions and of relations."""

    memories: int
    superseded: int
    deleted: int
    pinned: int
    sessions: int
    relations: int
    salience: float
    by_project: Mapping[str, int]
    by_sector: Mapping[str, int]
    by_tier: Mapping[str, int]
    by_type: Mapping[str, int]


_TIMES = ("created_at", "updated_at", "last_accessed", "valid_from", "valid_until", "deleted_at")
_LISTS = ("tags", "concepts", "files")
_FLAGS = ("pinned",)
_FADING = ("salience", "importance", "sector", "pinned", "last_accessed")
STORED = tuple(each.name for each in fields(Memory) if each.compare)
COLUMNS = ", ".join(STORED)


def from_rows(rows: Sequence[Row], now: datetime) -> list[Memory]:
    """Memories from the COLUMNS of their rows."""
    if not rows:
        return []
    columns: dict[str, Any] = dict(zip(STORED, zip(*rows, strict=True), strict=True))
    salience, importance, sector, pinned, accessed = (columns[name] for name in _FADING)
    current = salience_now(salience, importance, sector, pinned, accessed, to_microseconds(now)).tolist()
    columns |= {name: to_datetimes(columns[name]) for name in _TIMES}
    columns |= {name: [tuple(json.loads(value)) for value in columns[name]] for name in _LISTS}
    columns |= {name: map(bool, columns[name]) for name in _FLAGS}
    names = (*columns, "effective_salience")
    return [Memory(**dict(zip(names, row, strict=True))) for row in zip(*columns.values(), current, strict=True)]


def to_row(memory: Memory, keys: Mapping[str, str] | None = None) -> dict[str, object]:
    """Every column of the memory's row; its `duplicate_keys` may be known already."""
    values: dict[str, Any] = {name: getattr(memory, name) for name in STORED}
    values |= {name: to_microseconds(values[name]) for name in _TIMES if values[name] is not None}
    values |= {name: json.dumps(values[name], ensure_ascii=False) for name in _LISTS}
    values |= {name: int(values[name]) for name in _FLAGS}
    derived = {"space": memory.space, "is_deleted": int(memory.is_deleted)}
    return {**values, **derived, **(keys or duplicate_keys(memory))}


def duplicate_keys(memory: Memory) -> dict[str, str]:
    """The columns by which memories with the same text are found."""
    return {"fingerprint": fingerprint(memory.content), "near_duplicate_key": near_duplicate_key(memory.content)}


def to_passage(memory: Memory) -> Passage:
    """What is indexed: the content, and as a second field author, context, summary, tags, concepts, files and date."""
    when = memory.created_at.strftime("%-d %B %Y")
    labels = (memory.author, memory.context, memory.summary, *memory.tags, *memory.concepts, *memory.files, when)
    meaning = "\n".join(filter(None, (memory.content, memory.context)))
    around = " ".join(filter(None, labels))
    return Passage(
        memory.id, memory.id, memory.space, (memory.content, around), meaning, to_microseconds(memory.created_at)
    )


def spaces_of(memories: Iterable[Memory]) -> set[str]:
    """The spaces of these memories, of their links and of their keys."""
    return {space for memory in memories for space in (memory.space, memory.project)}

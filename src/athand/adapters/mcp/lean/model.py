"""The shapes of lean answers. What is empty is left out; their JSON Schemas are made from these classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from athand.types import Noun


@dataclass(frozen=True, slots=True)
class LeanHit(Noun):
    """What was found, where it comes from, why, and the call that opens it."""

    id: str
    corpus: str
    score: float
    title: str | None
    place: str
    snippet: str
    why: str
    next: str


@dataclass(frozen=True, slots=True)
class LeanHits(Noun):
    """Hits, best first, and what to know about the search."""

    hits: list[LeanHit]
    notes: list[str] = field(default_factory=list)
    did_you_mean: dict[str, str] = field(default_factory=dict)
    closest: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LeanToolHit(Noun):
    """A tool that was found: how it is called, and what it does."""

    id: str
    score: float
    signature: str
    description: str
    place: str
    why: str
    next: str
    state: str | None = None
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LeanToolHits(Noun):
    """Tools, best first, and what to know about the search."""

    hits: list[LeanToolHit]
    notes: list[str] = field(default_factory=list)
    did_you_mean: dict[str, str] = field(default_factory=dict)
    closest: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LeanTool(Noun):
    """A tool: what it does, what it takes and returns, and whether it may be called."""

    id: str
    kind: str
    description: str
    input_schema: Mapping[str, Any]
    next: str | None
    output_schema: Mapping[str, Any] | None = None
    state: str | None = None
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LeanCall(Noun):
    """What a tool answered: data if it has any, else its text, and other parts such as pictures."""

    structured: Any = None
    text: str | None = None
    parts: list[Mapping[str, Any]] = field(default_factory=list)
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Titled(Noun):
    """Something by its id and title."""

    id: str
    title: str
    place: str | None = None


@dataclass(frozen=True, slots=True)
class LeanMemory(Noun):
    """A memory with what is known about it."""

    id: str
    content: str
    place: str
    summary: str | None = None
    context: str | None = None
    kind: str | None = None
    tags: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    pinned: bool | None = None
    pinned_by: str | None = None
    valid_until: str | None = None
    deleted_at: str | None = None
    updated_at: str | None = None
    relation: str | None = None


@dataclass(frozen=True, slots=True)
class LeanChange(Noun):
    """A memory that was written: what changed, and which others resemble it."""

    id: str
    project: str
    title: str | None = None
    deduplicated: bool | None = None
    pinned: bool | None = None
    pinned_by: str | None = None
    valid_until: str | None = None
    deleted_at: str | None = None
    similar: list[Titled] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LeanTimeline(Noun):
    """The memories around one in time, oldest first."""

    anchor: Titled
    before: list[Titled]
    after: list[Titled]


@dataclass(frozen=True, slots=True)
class LeanPassages(Noun):
    """A page of passages, and how to get the next."""

    hits: list[LeanHit]
    total: int | None = None
    continuation_token: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LeanDocument(Noun):
    """A document that was found, and the call that opens its best passage."""

    place: str
    title: str
    score: float
    about: str
    why: str
    next: str


@dataclass(frozen=True, slots=True)
class LeanDocuments(Noun):
    """A page of documents, and how to get the next."""

    documents: list[LeanDocument]
    total: int | None = None
    continuation_token: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LeanOutline(Noun):
    """What is in a document: its headings with their lines, and its passages."""

    place: str
    title: str
    kind: str
    lines: int
    about: str
    outline: list[str]
    passages: dict[str, str]
    problem: str | None = None
    continuation_token: str | None = None


@dataclass(frozen=True, slots=True)
class LeanText(Noun):
    """A part of a document's exact text."""

    place: str
    text: str
    lines: int | None = None
    continuation_token: str | None = None


@dataclass(frozen=True, slots=True)
class LeanTexts(Noun):
    """Passages with their texts, in the order of their documents."""

    passages: list[LeanText]


@dataclass(frozen=True, slots=True)
class LeanOpened(Noun):
    """What was opened, with what is around it, and what can be done next."""

    id: str
    corpus: str
    title: str | None = None
    place: str | None = None
    text: str | None = None
    details: Mapping[str, Any] | None = None
    superseded_by: list[Titled] = field(default_factory=list)
    supersedes: list[Titled] = field(default_factory=list)
    before: list[Titled] = field(default_factory=list)
    after: list[Titled] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    next: str | None = None

"""The data types of the engine: frozen dataclasses that `to_dict` turns into JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]
_LEAVES = (str, int, float, bool)


def plain(value: Any) -> Any:
    """Converts dataclasses, times and tuples into JSON values."""
    if value is None or type(value) in _LEAVES:  # the most frequent case first: ten times faster
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in _names_of_fields(type(value))}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(entry) for entry in value]
    return value


@cache
def _names_of_fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


class Noun:
    """The base of result dataclasses: CLI, MCP and HTTP print `to_dict()`."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        as_plain: dict[str, Any] = plain(self)
        return as_plain


@dataclasses.dataclass(frozen=True, slots=True)
class Calibration(Noun):
    """What the cosines of a model mean: `noise` is that of a random passage, `relevant` that of a probable answer."""

    noise: float
    relevant: float


@dataclasses.dataclass(frozen=True, slots=True)
class Vectors(Noun):
    """The vectors of some texts, by the SHA-256 of the text, all of one model."""

    model_id: str
    dimensions: int
    by_hash: Mapping[bytes, Vector]


@dataclasses.dataclass(frozen=True, slots=True)
class Filter(Noun):
    """A condition on items, in SQL that both engines understand; `i` is the item, values are parameters."""

    where: str = ""
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Query(Noun):
    """A query to one corpus, tokenized and embedded."""

    text: str
    words: tuple[str, ...]
    vector: Vector | None = None
    model_id: str | None = None
    spaces: tuple[str, ...] | None = None
    filter: Filter = Filter()
    synonyms: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    candidates: int = 150
    literal: bool = False  # no prefixes, no typo corrections
    calibration: Calibration | None = None  # what cosines of the model mean
    mode: str = "hybrid"  # or "semantic", or "keyword"


@dataclasses.dataclass(frozen=True, slots=True)
class Variant(Noun):
    """An index term that a query word may stand for, its worth, and its document frequency."""

    term: str
    worth: float
    frequency: int


@dataclasses.dataclass(frozen=True, slots=True)
class QueryWord(Noun):
    """A word of the query with its variants; none if the index has no such word."""

    word: str
    variants: tuple[Variant, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Statistics(Noun):
    """BM25 statistics of the searched spaces: number of passages, average length of each field."""

    passages: int
    average_lengths: tuple[float, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate(Noun):
    """A passage to score: its terms by field, its cosine if it has a vector, and columns of its item."""

    id: str
    item_id: str
    space: str
    fields: tuple[str, ...]
    created_at: int
    cosine: float | None = None
    item: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Candidates(Noun):
    """The result of a candidate search: passages by keyword and by vector, and the statistics to score them."""

    passages: tuple[Candidate, ...]
    words: tuple[QueryWord, ...]
    statistics: Statistics
    corrections: Mapping[str, str] = dataclasses.field(default_factory=dict)
    by_vector: bool = False
    bm25: Mapping[int, float] = dataclasses.field(default_factory=dict)  # by position, where it is computed already


@dataclasses.dataclass(frozen=True, slots=True)
class Scan(Noun):
    """A search for every passage that is near enough to one of the vectors, or may contain one of the texts.

    Passages need a cosine of `least`; those with a text need `least_with_text`, if vectors can be compared.
    Texts are compared case-insensitively.
    """

    vectors: tuple[Vector, ...] = ()
    least: float = 0.0
    least_with_text: float = -1.0
    texts: tuple[str, ...] = ()
    model_id: str | None = None
    spaces: tuple[str, ...] | None = None
    filter: Filter = Filter()


@dataclasses.dataclass(frozen=True, slots=True)
class ScanMatch(Noun):
    """A passage found by a scan: its position, its cosine to each vector, and its text if that may match."""

    space: str
    item_id: str
    position: int
    id: str
    cosines: tuple[float, ...]
    content: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Signal(Noun):
    """One part of a score: the raw value, calibrated to [0, 1], and its contribution."""

    raw: float
    calibrated: float
    weight: float
    contribution: float


@dataclasses.dataclass(frozen=True, slots=True)
class Why(Noun):
    """The reasons of a score; the contributions add up to `total`, the unclamped score."""

    signals: Mapping[str, Signal]
    matched: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """The unclamped sum that decides the order."""
        return sum(signal.contribution for signal in self.signals.values())

    def to_dict(self) -> dict[str, Any]:
        """Signals, matched terms and their total as plain values."""
        return {"total": self.total, "signals": plain(self.signals), "matched": list(self.matched)}

    def __str__(self) -> str:
        parts = [f"{name} {signal.contribution:+.2f}" for name, signal in self.signals.items() if signal.contribution]
        matched = f" ({', '.join(self.matched)})" if self.matched else ""
        return f"{self.total:.2f} = {' '.join(parts)}{matched}"


@dataclasses.dataclass(frozen=True, slots=True)
class Hit(Noun):
    """One search result with its reasons; `item` is what was found."""

    id: str
    corpus: str
    score: float
    title: str
    text: str
    why: Why
    item: Any
    marks: tuple[tuple[int, int], ...] = dataclasses.field(default=(), kw_only=True)  # where words of `text` matched

    def to_dict(self) -> dict[str, Any]:
        """The hit as plain values, the item included."""
        shown = {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return shown | {"why": self.why.to_dict()}


HitT = TypeVar("HitT", bound=Hit)


class Hits(list[HitT], Generic[HitT]):
    """The results of one query, best first, with notes, corrections and facets."""

    def __init__(
        self,
        hits: Iterable[HitT] = (),
        *,
        notes: Iterable[str] = (),
        did_you_mean: Mapping[str, str] | None = None,
        closest: Sequence[str] = (),
        freshness: Mapping[str, Any] | None = None,
        facets: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(hits)
        self.notes = tuple(notes)
        self.did_you_mean = dict(did_you_mean or {})
        self.closest = tuple(closest)
        self.freshness = dict(freshness or {})
        self.facets = dict(facets or {})

    def to_dict(self) -> dict[str, Any]:
        """All hits and notes as plain values."""
        return {
            "hits": [hit.to_dict() for hit in self],
            "notes": list(self.notes),
            "did_you_mean": self.did_you_mean,
            "closest": list(self.closest),
            "freshness": plain(self.freshness),
            "facets": plain(self.facets),
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Opened(Noun):
    """What has an id, the corpus it is of, and what is around it."""

    id: str
    corpus: str
    found: Any

    def to_dict(self) -> dict[str, Any]:
        """The whole as plain values."""
        found = self.found.to_dict() if hasattr(self.found, "to_dict") else plain(self.found)
        return {"id": self.id, "corpus": self.corpus, "found": found}


@dataclasses.dataclass(frozen=True, slots=True)
class Status(Noun):
    """The state of store, model and corpora, and every problem."""

    store: Mapping[str, Any]
    model: Mapping[str, Any]
    corpora: Mapping[str, Any]
    problems: tuple[str, ...] = ()

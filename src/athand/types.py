"""The nouns of the engine: frozen, without behaviour beyond showing themselves."""

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
    """Turn nouns, times and tuples into what JSON can hold."""
    if value is None or type(value) in _LEAVES:  # most values: asking the rest takes ten times as long
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
    """Base of the nouns: `to_dict()` is what CLI, MCP and HTTP print."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The noun as plain JSON values."""
        as_plain: dict[str, Any] = plain(self)
        return as_plain


@dataclasses.dataclass(frozen=True, slots=True)
class Calibration(Noun):
    """What a model's cosines mean: `noise` is a random passage, `relevant` is probably the one asked for."""

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
    """One question to one corpus, tokenized and embedded once."""

    text: str
    words: tuple[str, ...]
    vector: Vector | None = None
    model_id: str | None = None
    spaces: tuple[str, ...] | None = None
    filter: Filter = Filter()
    synonyms: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    candidates: int = 150
    literal: bool = False  # the words as they are: neither prefixes nor corrections
    calibration: Calibration | None = None  # what cosines of the model mean
    mode: str = "hybrid"  # or "semantic", or "keyword"


@dataclasses.dataclass(frozen=True, slots=True)
class Variant(Noun):
    """One indexed term a query's word may stand for, what a match is worth, and how many passages have it."""

    term: str
    worth: float
    frequency: int


@dataclasses.dataclass(frozen=True, slots=True)
class QueryWord(Noun):
    """A word of the query with the terms it matches; none at all when the index does not know it."""

    word: str
    variants: tuple[Variant, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Statistics(Noun):
    """What BM25 must know of the spaces searched: how many passages, and how long each field is on average."""

    passages: int
    average_lengths: tuple[float, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate(Noun):
    """A passage that may answer: its terms field by field, its cosine where it has a vector, and its item's values."""

    id: str
    item_id: str
    space: str
    fields: tuple[str, ...]
    created_at: int
    cosine: float | None = None
    item: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Candidates(Noun):
    """What one visit to the store brings back: passages of both sides, and the numbers to score them with."""

    passages: tuple[Candidate, ...]
    words: tuple[QueryWord, ...]
    statistics: Statistics
    corrections: Mapping[str, str] = dataclasses.field(default_factory=dict)
    by_vector: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Scan(Noun):
    """A question for every passage that is near enough to one of some vectors, or may have one of some texts in it.

    Passages are near at a cosine of `least`; those with a text need `least_with_text`, if vectors can be compared.
    Texts are compared case aside.
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
    """A passage that a scan came upon: where it is, its cosine to each vector, and its text if that may match."""

    space: str
    item_id: str
    position: int
    id: str
    cosines: tuple[float, ...]
    content: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Signal(Noun):
    """One part of a score: what was measured, what it means on [0, 1], and what it added."""

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
    """One answer with its reasons; `item` is the noun that was found."""

    id: str
    corpus: str
    score: float
    title: str
    text: str
    why: Why
    item: Any

    def to_dict(self) -> dict[str, Any]:
        """The hit as plain values, the item included."""
        shown = {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return shown | {"why": self.why.to_dict()}


HitT = TypeVar("HitT", bound=Hit)


class Hits(list[HitT], Generic[HitT]):
    """The answers to one query, best first, with what should be known about them."""

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
        """All hits and all remarks as plain values."""
        return {
            "hits": [hit.to_dict() for hit in self],
            "notes": list(self.notes),
            "did_you_mean": self.did_you_mean,
            "closest": list(self.closest),
            "freshness": plain(self.freshness),
            "facets": plain(self.facets),
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Status(Noun):
    """What there is and how it feels: store, model, corpora, and anything that does not work."""

    store: Mapping[str, Any]
    model: Mapping[str, Any]
    corpora: Mapping[str, Any]
    problems: tuple[str, ...] = ()

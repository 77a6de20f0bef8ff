"""`search_content`: every chunk that fits, in one total order, page by page."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from athand.documents import terms
from athand.documents.asking import Asked, Position
from athand.documents.scoring import INDEX
from athand.documents.terms import Found
from athand.rank import Numbers, calibrate_cosine, clamp
from athand.store import Snapshot
from athand.text import tokenize
from athand.types import Calibration, Filter, Scan, Scanned, Signal, Vector, Why

NOTHING = Found((), 0, 0)
# Half of the chunks under a heading of one word are as near to it as this, of what phrases reach: .31 instead of .40.
ONE_WORD = 0.77


@dataclass(frozen=True, slots=True)
class Meaning:
    """The concepts as vectors, and what the cosines of each mean."""

    vectors: tuple[Vector, ...]
    model_id: str
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A chunk that fits: its place in the order of all, and how it came there."""

    position: Position
    semantic: float
    found: Found

    @property
    def total(self) -> float:
        """The unclamped score."""
        return -self.position[0]

    @property
    def place(self) -> tuple[str, str]:
        """Folder and id of the chunk."""
        return self.position[3], self.position[6]

    @property
    def document(self) -> tuple[str, str]:
        """Folder and path of the document."""
        return self.position[3], self.position[4]


@dataclass(frozen=True, slots=True)
class Matches:
    """All that fits, best first; `by_meaning` tells whether concepts could be compared."""

    ordered: tuple[Match, ...]
    by_meaning: bool

    def after(self, position: Position | None) -> int:
        """How many come before the first that was not given yet."""
        return 0 if position is None else bisect_right(self.ordered, tuple(position), key=lambda match: match.position)


def find(snapshot: Snapshot, asked: Asked, spaces: tuple[str, ...], meaning: Meaning | None, chosen: Filter) -> Matches:
    """Every chunk that fits what is asked, whatever its rank."""
    scan = Scan(
        meaning.vectors if meaning else (),
        _least_cosine(asked.min_score, meaning.calibrations) if meaning else 0.0,
        _least_with_terms(asked, meaning.calibrations) if meaning else -1.0,
        asked.terms,
        meaning.model_id if meaning else None,
        spaces,
        chosen,
    )
    scanned, by_vector = snapshot.scan(INDEX, scan)
    compared = meaning if by_vector else None
    semantic = _semantic(scanned, compared)
    ordered = sorted(
        (match for each, score in zip(scanned, semantic, strict=True) if (match := _match(each, score, asked))),
        key=lambda match: match.position,
    )
    return Matches(tuple(ordered), by_vector or not asked.concepts)


def explain(match: Match, *, by_meaning: bool) -> Why:
    """The parts of a score: meaning, and what exact terms add to it; concepts that were not compared do not count."""
    present = match.found.terms
    if not by_meaning:
        score = terms.alone(len(present))
        return Why({"exact": Signal(len(present), score, 1.0, score)}, present)
    boost = terms.boost(len(present))
    signals = {"semantic": Signal(match.semantic, match.semantic, 1.0, match.semantic)}
    if present:
        signals["exact"] = Signal(len(present), boost, boost, match.semantic * boost - match.semantic)
    return Why(signals, present)


def shown_score(match: Match) -> float:
    """The score that is reported."""
    return clamp(match.total)


def _match(each: Scanned, semantic: float, asked: Asked) -> Match | None:
    """The chunk with its score, if that is enough."""
    found = terms.find(each.content, asked.terms) if each.content is not None else NOTHING
    count = len(found.terms)
    total = semantic * terms.boost(count) if asked.concepts else terms.alone(count)
    # Who asks for every score still does not ask for what fits nothing; an exact term fits, whatever its neighbours.
    if total < asked.min_score or not (total or count):
        return None
    place = (-total, -found.whole, -found.occurrences, each.space, each.item_id, each.position, each.id)
    return Match(place, semantic, found)


def _least_cosine(score: float, calibrations: Sequence[Calibration]) -> float:
    """The cosine that a score stands for: below it, no single concept can reach the score."""
    return min(float(np.interp(score, (0.0, 0.5, 1.0), (each.noise, each.relevant, 1.0))) for each in calibrations)


def _least_with_terms(asked: Asked, calibrations: Sequence[Calibration]) -> float:
    """The cosine below which even a chunk with all terms cannot reach the score."""
    least = asked.min_score / terms.boost(len(asked.terms))
    return _least_cosine(least, calibrations) if asked.min_score > 0 else -1.0


def calibration_of(concept: str, calibration: Calibration) -> Calibration:
    """What the cosines of a concept mean: a single word is less near to a chunk that is about it than a phrase is."""
    is_word = len(tokenize(concept)) == 1
    return replace(calibration, relevant=ONE_WORD * calibration.relevant) if is_word else calibration


def _semantic(scanned: Sequence[Scanned], meaning: Meaning | None) -> list[float]:
    """How well each chunk fits the concepts together."""
    if meaning is None or not scanned:
        return [0.0] * len(scanned)
    cosines = np.nan_to_num(np.array([each.cosines for each in scanned], float))
    columns = [calibrate_cosine(column, each) for column, each in zip(cosines.T, meaning.calibrations, strict=True)]
    scores: list[float] = combined(np.column_stack(columns)).tolist()
    return scores


def combined(scores: Numbers) -> Numbers:
    """Several concepts as one score per chunk: the best of them (the mean finds half as much, less precisely)."""
    best: Numbers = scores.max(axis=1)
    return best


def average(scores: Sequence[float]) -> float:
    """The mean, for people."""
    return round(math.fsum(scores) / len(scores), 4) if scores else 0.0

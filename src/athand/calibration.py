"""Calibrates the totals of all corpora to one scale (pure functions).

0 is no better than a random item, 0.5 is relevant with even odds, 1 has the same words. The mapping is piecewise
linear through a few points per corpus, and extrapolated beyond the last one.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from athand.types import Hit, Signal, Why

SIGNAL = "scale"

# (total of the corpus, score): the probability that a first hit with this total is relevant, on one half of the
# questions to a store with all four corpora (benchmarks/everything.py); the last point is an item's own words.
POINTS = {
    "memories": ((0.0, 0.0), (0.46, 0.1), (0.49, 0.25), (0.62, 0.5), (1.05, 1.0)),
    "documents": ((0.0, 0.0), (0.32, 0.1), (0.38, 0.25), (0.59, 0.5), (1.0, 1.0)),
    "tools": ((0.0, 0.0), (0.38, 0.1), (0.41, 0.25), (0.56, 0.5), (0.71, 0.75), (0.92, 0.9), (1.66, 1.0)),
    "flows": ((0.0, 0.0), (0.34, 0.1), (0.44, 0.25), (0.51, 0.5), (0.63, 0.75), (1.6, 1.0)),
}
# Below this, a hit is noise, unless it is a memory that means the same in other words. A memory is one thought; a chunk
# has many, and something in it is always a little like any question.
FLOOR = 0.08
SAME_MEANING = 0.4  # of 118 questions about other things, 95 % come to no more than 0.35

HitT = TypeVar("HitT", bound=Hit)


def to_score(corpus: str, total: float) -> float:
    """The score of a total of a corpus."""
    return _interpolate(POINTS[corpus], total)


def to_total(corpus: str, score: float) -> float:
    """The total of a corpus that has this score: the inverse of `to_score`."""
    return _interpolate([(y, x) for x, y in POINTS[corpus]], score)


def calibrate_hit(hit: HitT) -> HitT:
    """The hit with its score on the common scale; the difference is a signal in `why`."""
    total = hit.why.total
    score = to_score(hit.corpus, total)
    scale = Signal(raw=total, calibrated=score, weight=1.0, contribution=score - total)
    why = Why({**hit.why.signals, SIGNAL: scale}, hit.why.matched)
    return replace(hit, score=min(1.0, max(0.0, why.total)), why=why)


def is_worth_showing(hit: Hit) -> bool:
    """Whether a calibrated hit is more than noise."""
    meaning = hit.why.signals.get("semantic") if hit.corpus == "memories" else None
    return hit.why.total >= FLOOR or (meaning is not None and meaning.calibrated >= SAME_MEANING)


def _interpolate(points: Sequence[tuple[float, float]], x: float) -> float:
    """Piecewise linear interpolation at x, extrapolated at both ends."""
    pairs = list(pairwise(points))
    (left, low), (right, high) = next((pair for pair in pairs if x <= pair[1][0]), pairs[-1])
    return low + (x - left) * (high - low) / (right - left)

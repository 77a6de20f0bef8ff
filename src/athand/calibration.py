"""One scale for the scores of all corpora: pure, numbers in, numbers out.

0 is no better than anything else, 0.5 is as probably what was asked for as not, 1 has the same words. A total becomes
a score along a line through a few points per corpus; beyond the last, it goes on as it rose between the last two.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from athand.types import Hit, Signal, Why

SIGNAL = "scale"

# (total of the corpus, score): how probably the first hit with such a total is what was asked for, on one half of the
# questions to a store with all four corpora (benchmarks/everything.py); the last point is an item in its own words.
POINTS = {
    "memories": ((0.0, 0.0), (0.46, 0.1), (0.49, 0.25), (0.62, 0.5), (1.05, 1.0)),
    "documents": ((0.0, 0.0), (0.32, 0.1), (0.38, 0.25), (0.59, 0.5), (1.0, 1.0)),
    "tools": ((0.0, 0.0), (0.38, 0.1), (0.41, 0.25), (0.56, 0.5), (0.71, 0.75), (0.92, 0.9), (1.66, 1.0)),
    "flows": ((0.0, 0.0), (0.34, 0.1), (0.44, 0.25), (0.51, 0.5), (0.63, 0.75), (1.6, 1.0)),
}
# Below this, a hit is noise, unless it is a memory that means the same in other words: a memory is one thought, while a
# chunk has many, and something in it is always a little like any question.
FLOOR = 0.08
SAME_MEANING = 0.4  # of 118 questions about other things, 95 % come to no more than 0.35

HitT = TypeVar("HitT", bound=Hit)


def to_score(corpus: str, total: float) -> float:
    """What a total of a corpus means everywhere."""
    return _interpolate(POINTS[corpus], total)


def to_total(corpus: str, score: float) -> float:
    """The total of a corpus that means this score."""
    return _interpolate([(y, x) for x, y in POINTS[corpus]], score)


def calibrate_hit(hit: HitT) -> HitT:
    """The same hit, its score on the common scale; the reasons tell what that changed."""
    total = hit.why.total
    score = to_score(hit.corpus, total)
    scale = Signal(raw=total, calibrated=score, weight=1.0, contribution=score - total)
    why = Why({**hit.why.signals, SIGNAL: scale}, hit.why.matched)
    return replace(hit, score=min(1.0, max(0.0, why.total)), why=why)


def is_worth_showing(hit: Hit) -> bool:
    """Whether a hit, on the scale, is more than noise."""
    meaning = hit.why.signals.get("semantic") if hit.corpus == "memories" else None
    return hit.why.total >= FLOOR or (meaning is not None and meaning.calibrated >= SAME_MEANING)


def _interpolate(points: Sequence[tuple[float, float]], x: float) -> float:
    """The height of a line at x; before the first point and after the last it goes straight on."""
    pairs = list(pairwise(points))
    (left, low), (right, high) = next((pair for pair in pairs if x <= pair[1][0]), pairs[-1])
    return low + (x - left) * (high - low) / (right - left)

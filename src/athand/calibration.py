"""Puts the totals of all corpora on one scale (pure functions).

0 is no better than a random item, 0.5 is relevant with even odds, 1 has the same words. The mapping is piecewise
linear through a few points (total of the corpus, score) per corpus, and extrapolated beyond the last one.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from athand.types import Hit, Signal, Why

HitT = TypeVar("HitT", bound=Hit)
Points = Sequence[tuple[float, float]]

SIGNAL = "scale"
FLOOR = 0.08  # below this score, a hit is noise


def to_scores(points: Points, totals: Iterable[float]) -> list[float]:
    """The scores of totals of a corpus."""
    return [_interpolate(points, total) for total in totals]


def to_total(points: Points, score: float) -> float:
    """The total of a corpus that has this score: the inverse of `to_scores`."""
    return _interpolate([(y, x) for x, y in points], score)


def calibrate_hits(hits: Iterable[HitT], points: Points) -> list[HitT]:
    """Hits of a corpus with their scores on the common scale; the difference is one more signal."""
    calibrated = []
    for hit in hits:
        total = hit.why.total
        score = _interpolate(points, total)
        scale = Signal(raw=total, calibrated=score, weight=1.0, contribution=score - total)
        why = Why({**hit.why.signals, SIGNAL: scale}, hit.why.matched)
        calibrated.append(replace(hit, score=min(1.0, max(0.0, score)), why=why))
    return calibrated


def are_worth_showing(
    scores: Iterable[float], meanings: Iterable[float | None], same_meaning: float | None
) -> list[bool]:
    """Which scores are more than noise, or have a meaning (calibrated) as near as that of the same in other words."""
    nearest = math.inf if same_meaning is None else same_meaning
    return [
        score >= FLOOR or (meaning is not None and meaning >= nearest)
        for score, meaning in zip(scores, meanings, strict=True)
    ]


def _interpolate(points: Points, x: float) -> float:
    """Piecewise linear interpolation at x, extrapolated at both ends."""
    pairs = list(pairwise(points))
    (left, low), (right, high) = next((pair for pair in pairs if x <= pair[1][0]), pairs[-1])
    return low + (x - left) * (high - low) / (right - left)

"""Scoring primitives: BM25, calibration, weighted totals, explanation, order. Pure functions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from athand.text import needles
from athand.types import Calibration, Candidates, QueryWord, Signal, Statistics, Why

# Chosen on the first half of each development set (benchmarks/tune.py prints the table).
K1 = 1.0
B = 0.5

_FEW_TERMS = 12  # up to this many, counting each term is faster than reading all words
_NOTHING = np.zeros(1)

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Part:
    """One signal of many passages: raw values, calibrated to [0, 1], and its weight."""

    raw: Numbers
    calibrated: Numbers
    weight: float


@dataclass(frozen=True, slots=True)
class Factor:
    """One multiplier of many passages: raw values, and the factors."""

    raw: Numbers
    factor: Numbers


_NO_FACTORS: Mapping[str, Factor] = {}


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """A query prepared for BM25: for each term, the words it stands for and its worth to them."""

    worths: Mapping[str, Sequence[tuple[str, float]]]
    ideal: float
    statistics: Statistics
    field_weights: Sequence[float]


def inverse_frequency(passages: int, frequency: int) -> float:
    """Inverse document frequency of a term, never negative."""
    return math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5))


def prepare(words: Sequence[QueryWord], statistics: Statistics, field_weights: Sequence[float]) -> KeywordQuery:
    """Prepares the words of a query for BM25.

    The ideal is the score of an average passage that has every word once; an unknown word counts as very rare.
    """
    worths: dict[str, list[tuple[str, float]]] = {}
    ideal = 0.0
    for word in words:
        for variant in word.variants:
            worth = variant.worth * inverse_frequency(statistics.passages, variant.frequency)
            worths.setdefault(variant.term, []).append((word.word, worth))
        own = max(word.variants, key=lambda variant: variant.worth).frequency if word.variants else 1
        ideal += inverse_frequency(statistics.passages, own)
    return KeywordQuery(worths, ideal, statistics, field_weights)


def bm25_of(candidates: Candidates, query: KeywordQuery) -> Numbers:
    """Fielded BM25 of every candidate; the scores that chose the candidates are not computed again."""
    scores = np.zeros(len(candidates.passages))
    missing = [at for at in range(len(scores)) if at not in candidates.bm25]
    if missing:
        scores[missing] = bm25([candidates.passages[at].fields for at in missing], query)
    if candidates.bm25:
        scores[list(candidates.bm25)] = list(candidates.bm25.values())
    return scores


def bm25(passages: Sequence[Sequence[str]], query: KeywordQuery) -> Numbers:
    """Fielded BM25 of each passage; a word counts by its best variant."""
    rows = {term: at for at, term in enumerate(query.worths)}
    counts = np.zeros((len(rows), len(passages)))
    averages = query.statistics.average_lengths
    for at, (weight, average) in enumerate(zip(query.field_weights, averages, strict=True)):
        texts = [fields[at] for fields in passages]
        # Characters measure length as well as words do, and need no counting.
        lengths = np.fromiter(map(len, texts), np.float64, len(texts))
        counts += _count_terms(texts, lengths, rows) * (weight / (1 - B + B * lengths / (average or 1)))
    saturated = counts * (K1 + 1) / (K1 + counts)
    best: dict[str, Numbers] = {}
    for term, worths in query.worths.items():
        for word, worth in worths:
            best[word] = np.maximum(best.get(word, _NOTHING), worth * saturated[rows[term]])
    return sum(best.values(), np.zeros(len(passages)))


def _count_terms(texts: Sequence[str], lengths: Numbers, rows: Mapping[str, int]) -> Numbers:
    """Term frequencies by term and text. Many terms are counted in one pass over the words, few one by one."""
    width = len(texts)
    if len(rows) <= _FEW_TERMS:
        whole, ends = "".join(texts), np.cumsum(lengths)
        return np.array([_count_occurrences(whole, ends, needle) for needle in needles(rows)]).reshape(len(rows), width)
    places = [rows[word] * width + at for at, text in enumerate(texts) for word in text.split() if word in rows]
    found = np.bincount(np.array(places, np.int64), minlength=len(rows) * width)
    return found.reshape(len(rows), width).astype(np.float64)


def _count_occurrences(whole: str, ends: Numbers, needle: str) -> Numbers:
    """How often a term occurs in each of the concatenated texts, which end at `ends`."""
    between = whole.split(needle)  # faster than a search in Python
    lengths = np.fromiter(map(len, between[:-1]), np.float64, len(between) - 1)
    places = np.cumsum(lengths + len(needle)) - len(needle)
    return np.bincount(np.searchsorted(ends, places, side="right"), minlength=len(ends)).astype(np.float64)


def matched_words(passages: Iterable[Sequence[str]], query: KeywordQuery) -> list[tuple[str, ...]]:
    """For each passage the words of the query that it contains in any variant."""
    words_of = [[word for word, _ in worths] for worths in query.worths.values()]
    terms = list(zip(needles(query.worths), words_of, strict=True))
    wholes = map("".join, passages)
    return [
        tuple(dict.fromkeys(word for needle, words in terms if needle in whole for word in words)) for whole in wholes
    ]


def calibrate_keyword(scores: Numbers, query: KeywordQuery) -> Numbers:
    """BM25 scaled to [0, 1]: 1 is a passage with all the words."""
    return np.minimum(1.0, scores / query.ideal) if query.ideal > 0 else np.zeros_like(scores)


def calibrate_cosine(cosines: Numbers, calibration: Calibration) -> Numbers:
    """Cosines scaled to [0, 1]: 0 a random passage, 0.5 probably relevant, 1 the same words."""
    noise, relevant = calibration.noise, calibration.relevant
    return np.interp(cosines, (noise, relevant, 1.0), (0.0, 0.5, 1.0))


def modulate(values: Numbers, spread: float = 0.1) -> Numbers:
    """Maps a signal on [0, 1] to a multiplier on [1 - spread, 1 + spread]."""
    return 1 - spread + 2 * spread * values


def totals(parts: Mapping[str, Part], factors: Mapping[str, Factor] = _NO_FACTORS) -> Numbers:
    """The unclamped scores that decide the order: the weighted sum of the parts times the factors."""
    weighted = sum((part.calibrated * part.weight for part in parts.values()), _NOTHING)
    return math.prod((factor.factor for factor in factors.values()), start=weighted)


def explain_all(
    parts: Mapping[str, Part],
    factors: Mapping[str, Factor],
    rows: Sequence[int],
    fields: Iterable[Sequence[str]],
    query: KeywordQuery,
) -> list[Why]:
    """The reasons of the scores in these rows; `fields` are those of the passages in the rows."""
    matched = matched_words(fields, query)
    return [Why(explain(parts, row, factors), words) for row, words in zip(rows, matched, strict=True)]


def explain(parts: Mapping[str, Part], at: int, factors: Mapping[str, Factor] = _NO_FACTORS) -> dict[str, Signal]:
    """The signals of one passage with their contributions to the total; a factor contributes what it changes."""
    signals = {}
    total = 0.0
    for name, part in parts.items():
        raw, calibrated = float(part.raw[at]), float(part.calibrated[at])
        signals[name] = Signal(raw, calibrated, part.weight, calibrated * part.weight)
        total += calibrated * part.weight
    for name, each in factors.items():
        factor = float(each.factor[at])
        signals[name] = Signal(float(each.raw[at]), factor, factor, total * factor - total)
        total *= factor
    return signals


def clamp(total: float) -> float:
    """The displayed score: the total clamped to [0, 1]."""
    return min(1.0, max(0.0, total))


def order(scores: Numbers, times: Sequence[int], ids: Sequence[str], least: float) -> list[int]:
    """The indexes of all scores above zero and at least `least`, best first.

    Ties are broken by recency, then id, so that the order is the same on every engine and run.
    """
    kept = np.flatnonzero((scores >= least) & (scores > 0)).tolist()
    return sorted(kept, key=lambda at: (-scores[at], -times[at], ids[at]))

"""Candidate selection, the same for both engines: the best passages by BM25 and by vector that pass the filter."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from athand.rank import KeywordQuery, bm25
from athand.types import Candidate, Candidates, Query, QueryWord, Statistics

# The rarest terms select the keyword candidates, up to this many rows; the other terms still count in the score.
KEYWORD_ROWS = 1000
# Up to this many passages, scoring all of them is faster than selecting among them.
SCORE_ALL_UP_TO = 200
# By how much the depth grows when the filter leaves too few.
DEEPER = 16

Scores = dict[int, float]  # BM25 by the number of a passage
Ranking = Callable[[int], list[int]]  # limit → the numbers of the best passages
Load = Callable[[Collection[int]], dict[int, Candidate]]  # the passages that pass the filter, by number
FilterNumbers = Callable[[Sequence[int]], list[int]]  # the numbers that pass the filter, in the same order


def select_terms(words: Sequence[QueryWord]) -> list[str]:
    """The terms that select candidates: exact words before variants, rare before common, up to KEYWORD_ROWS rows."""
    variants = sorted(
        (variant for word in words for variant in word.variants),
        key=lambda variant: (-variant.worth, variant.frequency, variant.term),
    )
    chosen: dict[str, int] = {}
    for variant in variants:
        if not chosen or sum(chosen.values()) + variant.frequency <= KEYWORD_ROWS:
            chosen[variant.term] = variant.frequency
    return list(chosen)


def rank_by_bm25(found: Sequence[tuple[Any, ...]], keywords: KeywordQuery, scores: Scores) -> list[int]:
    """The numbers of these rows (number, time, id, fields…), best BM25 first; the scores are added to `scores`.

    Ties are broken like those of hits, newest first, so that what is cut off does not depend on the engine.
    """
    computed = bm25([row[3:] for row in found], keywords)
    scores.update(zip((row[0] for row in found), computed.tolist(), strict=True))
    rounded = computed.round(9).tolist()
    ranked = sorted(zip(rounded, found, strict=True), key=lambda each: (-each[0], -each[1][1], each[1][2]))
    return [row[0] for _, row in ranked]


def gather_candidates(
    found: dict[int, Candidate],
    scores: Scores,
    words: tuple[QueryWord, ...],
    statistics: Statistics,
    corrections: dict[str, str],
    *,
    by_vector: bool,
) -> Candidates:
    """The candidates in the order of their numbers, with the BM25 of those that were ranked by it."""
    numbers = sorted(found)
    known = {at: scores[number] for at, number in enumerate(numbers) if number in scores}
    return Candidates(tuple(found[number] for number in numbers), words, statistics, corrections, by_vector, known)


def initial_depth(query: Query) -> int:
    """How many to fetch first: a few more than wanted, as some may not pass the filter."""
    return query.candidates + query.candidates // 4


def select_candidates(
    query: Query, sides: Sequence[Ranking], load: Load, filter_numbers: FilterNumbers
) -> dict[int, Candidate]:
    """The best passages of each ranking that pass the filter; the first results of all rankings are loaded together."""
    limit = initial_depth(query)
    seen = [side(limit) for side in sides]
    loaded = load({number for numbers in seen for number in numbers})
    chosen: set[int] = set()
    for side, numbers in zip(sides, seen, strict=True):
        kept = [number for number in numbers if number in loaded]
        if len(kept) < query.candidates and len(numbers) >= limit:
            kept = _search_deeper(query, side, limit, filter_numbers)
        chosen.update(kept[: query.candidates])
    missing = load(chosen - loaded.keys())
    return {number: candidate for number, candidate in (loaded | missing).items() if number in chosen}


def _search_deeper(query: Query, side: Ranking, limit: int, filter_numbers: FilterNumbers) -> list[int]:
    """The best that pass the filter: fetches DEEPER times as many until there are enough, or no more."""
    while True:
        limit *= DEEPER
        numbers = side(limit)
        kept = filter_numbers(numbers)
        if len(kept) >= query.candidates or len(numbers) < limit:
            return kept

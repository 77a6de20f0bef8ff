"""Scores steps for a query. Pure: from candidates to the parts of their scores.

Keywords decide: the share of the query that a step and its session contain, weighted by field. The rest is filled by
the semantic similarity of the session; a goal similar to the query adds to both. Recency modulates the score, and
alone is never a match.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from athand.rank import Factor, Numbers, Part, calibrate_cosine, inverse_frequency, modulate
from athand.store import Index
from athand.text import join_terms, terms
from athand.types import Calibration, Candidate, Candidates, QueryWord

# Weight of a word by field, of a step and of its session (benchmarks/flows_search.py).
WEIGHTS = {
    "tool": 10.0,
    "screen": 8.0,
    "target": 6.0,
    "labels": 5.0,
    "visible": 1.5,
    "names": 1.0,
    "goal": 6.0,
    "flow_tags": 12.0,
    "tags": 4.0,
    "branch": 2.0,
}
SATURATION = 6.0  # worth at which a word has most of its effect
CORRECTION_WEIGHT = 0.5  # for a word whose spelling was corrected
GOAL_WEIGHT = 0.7  # bonus of a goal equal to the query: more than age and tags can outweigh
MAX_GOAL_TERMS = 256  # terms that are compared
RECENCY_RANGE = 0.15  # how far age may move a score, up or down
RECENCY_DECAY = 48.0  # hours
# A hit has at least this share of the words, or this calibrated cosine; the rest is noise.
MIN_WORDS, MIN_MEANING = 0.23, 0.22
# Added to the number of steps, since a store of a few steps says little about how rare words are.
PRIOR_PASSAGES = 100
_HOUR = 3_600_000_000  # in microseconds

INDEX = Index("flows", tuple(WEIGHTS), tuple(WEIGHTS.values()), item_columns=("created_at", "steps"))
_NONE = np.zeros(0, np.int64)
_FIELDS = np.array(INDEX.weights)[:, None]
_GOAL = INDEX.fields.index("goal")


@dataclass(frozen=True, slots=True)
class Relevance:
    """The parts of every candidate's score, and whether it matches at all."""

    parts: Mapping[str, Part]
    is_match: npt.NDArray[np.bool_]


def relevance(
    text: str, candidates: Sequence[Candidate], found: Candidates, calibration: Calibration | None
) -> Relevance:
    """Scores every candidate by keywords, by the meaning of its session, and by the similarity of its goal."""
    worths = _word_worths(candidates, found)
    rarity = np.array([_rarity(word, found.statistics.passages) for word in found.words])
    coverage = rarity @ (1 - np.exp(-worths.sum(axis=1) / SATURATION)) / (rarity.sum() or 1.0)
    parts = {"keyword": Part(worths.sum(axis=(0, 1)), coverage, 1.0)}
    in_any_field = (worths / _FIELDS).max(axis=1)
    is_match = in_any_field.sum(axis=0) >= MIN_WORDS * max(1, len(found.words))
    if calibration is not None:
        cosines = np.array([candidate.cosine or 0.0 for candidate in candidates])
        meaning = calibrate_cosine(cosines, calibration)
        parts["semantic"] = Part(cosines, meaning * (1 - coverage), 1.0)
        is_match |= meaning >= MIN_MEANING
    similarity = _goal_similarity(text, candidates)
    parts["goal"] = Part(similarity, similarity**4, GOAL_WEIGHT)  # goals that are only somewhat similar count little
    return Relevance(parts, is_match)


def recency_factor(candidates: Sequence[Candidate], now: int, goal_similarity: Numbers) -> Factor:
    """Recency boost with exponential decay; weaker the more the goal equals the query."""
    hours = np.array([max(0, now - candidate.item[0]) / _HOUR for candidate in candidates])
    return Factor(hours, 1 + (modulate(np.exp(-hours / RECENCY_DECAY), RECENCY_RANGE) - 1) * (1 - goal_similarity))


def _goal_similarity(text: str, candidates: Sequence[Candidate]) -> Numbers:
    """Normalized Indel similarity of the terms of query and goal: 1 is the same goal.

    0 for a single word, which is a keyword.
    """
    goals = [candidate.fields[_GOAL] for candidate in candidates]
    asked = terms(text)[:MAX_GOAL_TERMS]
    written = set(goals) - {""} if len(asked) > 1 else set()
    if not written:
        return np.zeros(len(goals))
    from rapidfuzz.distance import Indel

    known = {goal: Indel.normalized_similarity(asked, goal.split()[:MAX_GOAL_TERMS]) for goal in written}
    return np.array([known.get(goal, 0.0) for goal in goals])


def _rarity(word: QueryWord, passages: int) -> float:
    """Inverse document frequency of a word; one that no step has counts as very rare."""
    best = max(word.variants, key=lambda variant: variant.worth, default=None)
    return inverse_frequency(passages + PRIOR_PASSAGES, best.frequency if best else 1)


def _word_worths(candidates: Sequence[Candidate], found: Candidates) -> Numbers:
    """The worth of every word in every field of every candidate; a variant counts less.

    Fields are short lists of names, so that only the presence of a word counts, not its frequency.
    """
    texts = [candidate.fields[at] for at in range(len(INDEX.fields)) for candidate in candidates]
    whole, ends = "".join(texts), np.cumsum([len(text) for text in texts])
    weights = np.repeat(INDEX.weights, len(candidates))
    worths = np.zeros((len(found.words), len(texts)))
    for row, word in enumerate(found.words):
        share = CORRECTION_WEIGHT if word.word in found.corrections else 1.0
        for variant in word.variants:
            owners = _find_texts(whole, ends, join_terms([variant.term]))
            worths[row, owners] = np.maximum(worths[row, owners], weights[owners] * share * variant.worth)
    return worths.reshape(len(found.words), len(INDEX.fields), len(candidates))


def _find_texts(whole: str, ends: npt.NDArray[np.int64], needle: str) -> npt.NDArray[np.int64]:
    """Indexes of the texts within their concatenation that contain the needle, with repeats."""
    between = whole.split(needle)  # finds all places at the speed of C
    if len(between) == 1:
        return _NONE
    lengths = np.fromiter(map(len, between[:-1]), np.int64, len(between) - 1)
    return np.searchsorted(ends, np.cumsum(lengths + len(needle)) - len(needle), side="right")

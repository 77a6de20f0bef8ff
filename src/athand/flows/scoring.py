"""How well a step answers: pure, from candidates to the parts of their scores.

Words decide: which share of the query a step and its session have, and in which fields. What the words leave open is
filled by the meaning of the session, and a goal that reads like the query adds to both. How old a session is then
modulates that; alone it is never a match.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from athand.rank import Factor, Numbers, Part, calibrate_cosine, inverse_frequency, modulate
from athand.store import Index
from athand.text import join_terms, terms
from athand.types import Calibration, Candidate, Candidates, QueryWord

# What a word is worth in each field, of a step and of its session (benchmarks/flows_search.py).
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
ENOUGH = 6.0  # of that worth says most of what a word can say
CORRECTED = 0.5  # of its worth, for a word that was corrected: one that nobody knows may mean something else
GOAL = 0.7  # what a session gains whose goal is the query itself: more than age and tags can outweigh
LONGEST_GOAL = 256  # terms that are compared
RECENCY = 0.15  # how far age may move a score, up or down
FADING = 48.0  # hours
# A hit has at least so much of the words, or means at least so much the same; what has less is noise.
LEAST_WORDS, LEAST_MEANING = 0.23, 0.22
# A store of a few steps knows too little of how rare words are: so many steps without them are thought of.
IMAGINED = 100
_HOUR = 3_600_000_000  # in microseconds

INDEX = Index("flows", tuple(WEIGHTS), tuple(WEIGHTS.values()), item_columns=("created_at", "steps"))
_NONE = np.zeros(0, np.int64)
_FIELDS = np.array(INDEX.weights)[:, None]
_GOAL = INDEX.fields.index("goal")


@dataclass(frozen=True, slots=True)
class Relevance:
    """What was found in every candidate: the parts of its score, and whether that is an answer at all."""

    parts: Mapping[str, Part]
    answers: npt.NDArray[np.bool_]


def relevance(
    text: str, candidates: Sequence[Candidate], found: Candidates, calibration: Calibration | None
) -> Relevance:
    """What words say of every candidate, and what the goal and the meaning of its session add to that."""
    worths = _worths(candidates, found)
    rarity = np.array([_rarity(word, found.statistics.passages) for word in found.words])
    said = rarity @ (1 - np.exp(-worths.sum(axis=1) / ENOUGH)) / (rarity.sum() or 1.0)
    parts = {"keyword": Part(worths.sum(axis=(0, 1)), said, 1.0)}
    has = (worths / _FIELDS).max(axis=1)
    answers = has.sum(axis=0) >= LEAST_WORDS * max(1, len(found.words))
    if calibration is not None:
        cosines = np.array([candidate.cosine or 0.0 for candidate in candidates])
        meaning = calibrate_cosine(cosines, calibration)
        parts["semantic"] = Part(cosines, meaning * (1 - said), 1.0)
        answers |= meaning >= LEAST_MEANING
    alike = _alike(text, candidates)
    parts["goal"] = Part(alike, alike**4, GOAL)  # far from the same counts little
    return Relevance(parts, answers)


def age(candidates: Sequence[Candidate], now: int, same: Numbers) -> Factor:
    """A little more for what is new, fading by the day; of less weight the more the goal is the same as the query."""
    hours = np.array([max(0, now - candidate.item[0]) / _HOUR for candidate in candidates])
    return Factor(hours, 1 + (modulate(np.exp(-hours / FADING), RECENCY) - 1) * (1 - same))


def _alike(text: str, candidates: Sequence[Candidate]) -> Numbers:
    """How far query and goal have the same words in the same order, all of them counted: 1 is the same goal.

    A single word is a keyword, whatever goals there are.
    """
    from rapidfuzz.distance import Indel

    goals = [candidate.fields[_GOAL] for candidate in candidates]
    asked = terms(text)[:LONGEST_GOAL]
    written = set(goals) - {""} if len(asked) > 1 else ()
    known = {goal: Indel.normalized_similarity(asked, goal.split()[:LONGEST_GOAL]) for goal in written}
    return np.array([known.get(goal, 0.0) for goal in goals])


def _rarity(word: QueryWord, passages: int) -> float:
    """How much a word tells: the rarer the more; one that no step has counts as very rare."""
    best = max(word.variants, key=lambda variant: variant.worth, default=None)
    return inverse_frequency(passages + IMAGINED, best.frequency if best else 1)


def _worths(candidates: Sequence[Candidate], found: Candidates) -> Numbers:
    """For every word, field and candidate what it is worth that the word is there; a variant counts less.

    Fields are short lists of names: whether a word is in one says all, how often it is there says nothing.
    """
    texts = [candidate.fields[at] for at in range(len(INDEX.fields)) for candidate in candidates]
    whole, ends = "".join(texts), np.cumsum([len(text) for text in texts])
    weights = np.repeat(INDEX.weights, len(candidates))
    worths = np.zeros((len(found.words), len(texts)))
    for row, word in enumerate(found.words):
        share = CORRECTED if word.word in found.corrections else 1.0
        for variant in word.variants:
            owners = _owners(whole, ends, join_terms([variant.term]))
            worths[row, owners] = np.maximum(worths[row, owners], weights[owners] * share * variant.worth)
    return worths.reshape(len(found.words), len(INDEX.fields), len(candidates))


def _owners(whole: str, ends: npt.NDArray[np.int64], needle: str) -> npt.NDArray[np.int64]:
    """Which of the texts that a whole is made of have the needle, some of them more than once."""
    between = whole.split(needle)  # finds all places at the speed of C
    if len(between) == 1:
        return _NONE
    lengths = np.fromiter(map(len, between[:-1]), np.int64, len(between) - 1)
    return np.searchsorted(ends, np.cumsum(lengths + len(needle)) - len(needle), side="right")

"""How well a tool fits a request: pure, from candidates to the parts of their scores.

The sum of meaning and words decides; a request that names a tool, or its server, is taken by its word.
"""

import math
from collections.abc import Collection, Sequence

import numpy as np

from athand.rank import Factor, KeywordQuery, Numbers, Part, bm25
from athand.store import Index
from athand.text import spaced
from athand.types import Candidate, QueryWord

ALPHA = 0.7  # the share of meaning; the rest is for words
THRESHOLD = 0.35
LIMIT, MOST = 3, 100

# Chosen on one half of the requests: benchmarks/tune_tools.py.
INDEX = Index(
    "tools",
    fields=("name", "server", "description", "parameters"),
    weights=(1.5, 0.3, 1.0, 0.3),
    item_columns=("server", "name"),
)
WORDS = 0.58  # a request has many words that no tool would have: so few of them count as many
WORDS_ALONE = 1.3  # without a model
SENTENCE = 0.9  # of what a sentence says by itself, beside the whole request
# The cosine at which a tool is probably right: the more noise there is in a catalogue, the higher.
RELEVANT, NOISE, CURVE = 0.105, 1.33, 1.25
SLOWLY = 1.5  # how slowly a score goes on to rise beyond that
OTHER_SERVER = 0.8  # of its score, for a tool of another server than the one that was named
ALL_WORDS = 0.4  # at least, for a tool that has every word of the request
# What a name is worth that is right, or has some letters wrong.
NAMED = (1.0, 0.6, 0.5)
_FEW_WORDS = 8
_NONE = 0.048  # the cosine of a text with one that has nothing to do with it


def relevant_cosine(noise: float) -> float:
    """The cosine at which a tool is probably the right one, where requests that no tool is for come so near."""
    return RELEVANT + NOISE * math.pow(max(0.0, noise), CURVE)


def score_matches(
    candidates: Sequence[Candidate], cosines: Numbers | None, keywords: KeywordQuery, noise: float, alpha: float
) -> dict[str, Part]:
    """What meaning and words say of every candidate; the first row of cosines is of the whole request."""
    raw = bm25([candidate.fields for candidate in candidates], keywords)
    # Where much is alike, sharing some words says less.
    share = WORDS_ALONE if cosines is None else WORDS / (relevant_cosine(noise) - _NONE) ** 0.5
    words = np.minimum(1.0, share * raw / keywords.ideal) if keywords.ideal > 0 else np.zeros_like(raw)
    if cosines is None:
        return {"lexical": Part(raw, words, 1.0)}
    meaning = np.maximum(_calibrate(cosines[0], noise), SENTENCE * _calibrate(cosines.max(axis=0), noise))
    return {"semantic": Part(cosines.max(axis=0), meaning, alpha), "lexical": Part(raw, words, 1 - alpha)}


def _calibrate(cosines: Numbers, noise: float) -> Numbers:
    """Cosines on [0, 1]: 0 has nothing to do with it, 0.5 is probably what was asked for, then ever less is gained."""
    times = np.maximum(0.0, cosines - _NONE) / (relevant_cosine(noise) - _NONE)
    return np.where(times <= 1, times / 2, 1 - np.exp((1 - np.maximum(1, times)) / SLOWLY) / 2)


def combine(parts: dict[str, Part]) -> Numbers:
    """The weighted sum of both sides."""
    total: Numbers = sum((part.calibrated * part.weight for part in parts.values()), np.zeros(1))
    return total


def boost_named(parts: dict[str, Part], coverage: Numbers, edits: Sequence[int | None]) -> dict[str, Part]:
    """The parts, and what it adds that a tool has every word of the request, or that the request is its name.

    A name that is right puts its tool before all that is only like it; some letters of it may be wrong.
    """
    own = np.minimum(1.0, combine(parts))
    every = np.where(coverage >= 1, np.maximum(0.0, ALL_WORDS - own), 0.0)
    parts = {**parts, "every word": Part(coverage, every, 1.0)}
    own = own + every
    worth = np.array([0.0 if wrong is None else NAMED[wrong] for wrong in edits])
    lift = np.where(worth >= 1, worth, worth * (1 - own))
    return {**parts, "name": Part(worth, lift, 1.0)}


def coverage(candidates: Sequence[Candidate], words: Sequence[QueryWord]) -> Numbers:
    """Which share of the words of a short request each candidate has, as they are written; of a long one, none."""
    if not 0 < len(words) <= _FEW_WORDS:
        return np.zeros(len(candidates))
    terms = [spaced([each.term]) for word in words for each in word.variants if each.worth == 1]
    texts = ["".join(candidate.fields) for candidate in candidates]
    return np.array([sum(term in text for term in terms) / len(words) for text in texts])


def server_factor(candidates: Sequence[Candidate], named: Collection[str], edits: Sequence[int | None]) -> Factor:
    """Less for the tools of other servers, when the request names some; a tool that is named itself stays."""
    own = np.array(
        [not named or each.item[0] in named or wrong == 0 for each, wrong in zip(candidates, edits, strict=True)],
        float,
    )
    return Factor(own, np.where(own > 0, 1.0, OTHER_SERVER))

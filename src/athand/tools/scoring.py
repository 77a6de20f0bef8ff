"""Tool scores (pure): weighted sum of calibrated cosine and BM25, with boosts for tool and server names."""

import math
import re
from collections.abc import Collection, Sequence

import numpy as np

from athand.rank import Factor, KeywordQuery, Numbers, Part
from athand.store import Index
from athand.text import join_terms
from athand.types import Candidate, QueryWord

ALPHA = 0.7  # the weight of the semantic score; the rest is for keywords
THRESHOLD = 0.35
LIMIT, MOST = 3, 100

SERVER = 0  # the place of the server among the columns of the item

# Chosen on one half of the requests: benchmarks/tune_tools.py.
INDEX = Index(
    "tools",
    fields=("name", "server", "description", "parameters"),
    weights=(1.5, 0.3, 1.0, 0.3),
    item_columns=("server", "name"),
)
WORDS = 0.58  # scale of BM25: a request has many words that no tool has, so a small share of them is enough
WORDS_ALONE = 1.3  # the same without vectors
SENTENCE = 0.9  # weight of the best single sentence, relative to the whole request
# The cosine of a probably relevant tool: RELEVANT + NOISE * noise ** CURVE.
RELEVANT, NOISE, CURVE = 0.105, 1.33, 1.25
SATURATION = 1.5  # how slowly the score of greater cosines comes near to 1
OTHER_SERVER = 0.8  # factor for tools of other servers than the named one
UNKNOWN = 0.03  # what each required argument takes away that the request has no value for
MOST_UNKNOWN = 3
ALL_WORDS = 0.4  # minimum score of a tool that has every word of the request
# A request of so few words is answered if a tool has more than half of them, or means at least so much the same, or is
# named: a tool that shares one word of three is mostly for something else (benchmarks/absent.py).
FEW_WORDS, SAME_MEANING = 4, 0.5
# Boost by the number of typos in the name.
NAMED = (1.0, 0.6, 0.5)
_FEW_WORDS = 8
# Quoted texts, words with digits or signs, and names: capitalised words that do not begin a sentence.
_VALUE = re.compile(r"""["“'][^"”']+["”']|\S*[\d/@_]\S*|(?<=[^\s.?!]\s)[A-Z]\w*(?:\s+[A-Z]\w*)*""")
_NONE = 0.048  # the cosine of unrelated texts


def relevant_cosine(noise: float) -> float:
    """The cosine at which a tool is probably relevant; it rises with the noise of the catalogue."""
    return RELEVANT + NOISE * math.pow(max(0.0, noise), CURVE)


def score_matches(
    bm25: Numbers, cosines: Numbers | None, keywords: KeywordQuery, noise: float, alpha: float
) -> dict[str, Part]:
    """Semantic and lexical parts of every candidate; the first row of cosines is for the whole request."""
    # In a noisy catalogue, shared words say less.
    share = WORDS_ALONE if cosines is None else WORDS / (relevant_cosine(noise) - _NONE) ** 0.5
    words = np.minimum(1.0, share * bm25 / keywords.ideal) if keywords.ideal > 0 else np.zeros_like(bm25)
    if cosines is None:
        return {"lexical": Part(bm25, words, 1.0)}
    meaning = np.maximum(_calibrate(cosines[0], noise), SENTENCE * _calibrate(cosines.max(axis=0), noise))
    return {"semantic": Part(cosines.max(axis=0), meaning, alpha), "lexical": Part(bm25, words, 1 - alpha)}


def _calibrate(cosines: Numbers, noise: float) -> Numbers:
    """Calibrate cosines to [0, 1]: 0 is unrelated, 0.5 probably relevant, then exponential saturation."""
    times = np.maximum(0.0, cosines - _NONE) / (relevant_cosine(noise) - _NONE)
    return np.where(times <= 1, times / 2, 1 - np.exp((1 - np.maximum(1, times)) / SATURATION) / 2)


def combine(parts: dict[str, Part]) -> Numbers:
    """The weighted sum of the parts."""
    total: Numbers = sum((part.calibrated * part.weight for part in parts.values()), np.zeros(1))
    return total


def add_boosts(parts: dict[str, Part], coverage: Numbers, typos: Sequence[int | None]) -> dict[str, Part]:
    """Add boosts for tools that have every word of the request, or whose name is the request.

    `typos` are those in the name, None where it is not the request. An exact name ranks before all others; a name with
    typos gets a smaller boost.
    """
    own = np.minimum(1.0, combine(parts))
    every = np.where(coverage >= 1, np.maximum(0.0, ALL_WORDS - own), 0.0)
    own = own + every
    boost = np.array([0.0 if number is None else NAMED[number] for number in typos])
    lift = np.where(boost >= 1, boost, boost * (1 - own))
    return {**parts, "every word": Part(coverage, every, 1.0), "name": Part(boost, lift, 1.0)}


def coverage(candidates: Sequence[Candidate], words: Sequence[QueryWord]) -> Numbers:
    """The share of the query words that each candidate has verbatim; 0 for long requests."""
    if not 0 < len(words) <= _FEW_WORDS:
        return np.zeros(len(candidates))
    terms = [join_terms([each.term]) for word in words for each in word.variants if each.worth == 1]
    texts = ["".join(candidate.fields) for candidate in candidates]
    return np.array([sum(term in text for term in terms) / len(words) for text in texts])


def fits(matched: int, words: int, meaning: float) -> bool:
    """Whether a tool that has `matched` of the words of a request may be what it asks for."""
    return not 0 < words <= FEW_WORDS or 2 * matched > words or meaning >= SAME_MEANING


def server_factor(candidates: Sequence[Candidate], named: Collection[str], typos: Sequence[int | None]) -> Factor:
    """Factor that demotes tools of other servers if the request names servers; exactly named tools are exempt."""
    own = np.array(
        [
            not named or each.item[SERVER] in named or number == 0
            for each, number in zip(candidates, typos, strict=True)
        ],
        float,
    )
    return Factor(own, np.where(own > 0, 1.0, OTHER_SERVER))


def arguments_factor(required: Sequence[int], request: str, typos: Sequence[int | None]) -> Factor:
    """Factor that demotes tools by the required arguments that a request has no values for; but not the named tool.

    Of two tools that fit alike, the one that can be called as things are is meant.
    """
    given = len(_VALUE.findall(request))
    unknown = np.array(
        [
            0 if number == 0 else min(MOST_UNKNOWN, max(0, needed - given))
            for needed, number in zip(required, typos, strict=True)
        ],
        float,
    )
    return Factor(unknown, 1 - UNKNOWN * unknown)

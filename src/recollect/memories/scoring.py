"""How well a memory answers: pure, from candidates to the parts of their scores."""

from collections.abc import Sequence

import numpy as np

from recollect.rank import KeywordQuery, Part, bm25, calibrate_cosine, calibrate_keyword
from recollect.store import Index
from recollect.types import Calibration, Candidate, QueryWord

INDEX = Index("memories", fields=("content", "context"), weights=(1.0, 0.5))

# Chosen on three LoCoMo conversations, reported on the other two: benchmarks/tune.py.
SEMANTIC, KEYWORD = 0.4, 0.6
# Below this, a hit is noise. A query without a single word the index knows says little, so more is asked of it.
FLOOR = 0.12
FLOOR_OF_UNKNOWN_WORDS = 0.15


def floor(words: Sequence[QueryWord]) -> float:
    """The least total worth showing for a query of these words."""
    return FLOOR if any(word.variants for word in words) else FLOOR_OF_UNKNOWN_WORDS


def relevance(
    candidates: Sequence[Candidate], keywords: KeywordQuery, calibration: Calibration | None
) -> dict[str, Part]:
    """What each side says of every candidate; a side that is not there leaves its weight to the other."""
    raw = bm25([candidate.fields for candidate in candidates], keywords)
    keyword = calibrate_keyword(raw, keywords)
    if calibration is None:
        return {"keyword": Part(raw, keyword, 1.0)}
    cosines = np.array([candidate.cosine or 0.0 for candidate in candidates])
    semantic = calibrate_cosine(cosines, calibration)
    return {"keyword": Part(raw, keyword, KEYWORD), "semantic": Part(cosines, semantic, SEMANTIC)}

"""Scores of memories: pure functions from candidates to the parts and factors of their scores.

Relevance is the sum of keywords and meaning, of the author's name if the query has it, and of a share of the relevance
of session neighbours. Session, salience, recency, sector, supersession and tier then multiply it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from athand.memories.model import HISTORY
from athand.memories.salience import salience_now
from athand.rank import Factor, KeywordQuery, Numbers, Part, bm25_of, calibrate_cosine, calibrate_keyword, modulate
from athand.store import Index
from athand.text import tokenize
from athand.types import Calibration, Candidate, Candidates, Noun, QueryWord

# Chosen on three LoCoMo conversations, reported on the other two: benchmarks/tune.py.
SEMANTIC, KEYWORD = 0.4, 0.6
AUTHOR = 0.2  # of its own relevance, when the query names who said it
NEIGHBOUR = 0.4  # of the relevance of the better of its two neighbours in the session
SESSION = 0.35  # how much better the best session may make its memories
# Below this, a hit is noise. If the index knows no word of the query, the score must be higher.
FLOOR = 0.12
FLOOR_OF_UNKNOWN_WORDS = 0.15
# If no memory has this relevance, or means at least so much the same, all of them are noise (benchmarks/absent.py). A
# question without a known word can only be answered in other words, so less is enough.
BEST, SAME_MEANING, SAME_MEANING_OF_UNKNOWN_WORDS = 0.33, 0.5, 0.35
# The most by which each raises or lowers a score.
SALIENCE, RECENCY = 0.1, 0.1
# Small, because a sector is often a guess: twice as much costs .003 nDCG@10, five times as much .013 (LoCoMo).
SECTOR = {"reflective": 1.02, "semantic": 1.01, "procedural": 1.0, "emotional": 0.99, "episodic": 0.98}
SUPERSEDED = 0.5
FROM_HISTORY = 0.9  # a turn of a past session, beside what was remembered on purpose
FROM_ELSEWHERE = 0.95  # a global memory, beside the project's own
_FADING = 0.05  # of recency, per day
_DAY = 86_400_000_000  # in microseconds

_FACTS = (
    *("project", "session", "author", "sector", "tier"),
    *("salience", "importance", "pinned", "last_accessed", "valid_until", "written_by"),
)
PROJECT, SESSION_OF = _FACTS.index("project"), _FACTS.index("session")
INDEX = Index("memories", fields=("content", "context"), weights=(1.0, 0.5), item_columns=_FACTS)
MODES = ("hybrid", "semantic", "keyword")


@dataclass(frozen=True, slots=True)
class Weights(Noun):
    """The weights of a plain weighted sum of cosine, BM25 / 10, salience and recency, and the factors after it."""

    semantic: float
    keyword: float
    salience: float
    recency: float
    sector: Mapping[str, float] = field(default_factory=dict)
    superseded: float = SUPERSEDED


SEED_WEIGHTS = Weights(
    semantic=0.4,
    keyword=0.25,
    salience=0.2,
    recency=0.15,
    sector={"reflective": 1.2, "semantic": 1.1, "procedural": 1.0, "emotional": 0.9, "episodic": 0.8},
)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a score depends on besides query and memory: now, the moment of `as_of` (both in µs), and the project."""

    now: int
    moment: int
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The properties of the candidates, besides their texts."""

    sessions: Sequence[str]
    authors: Sequence[str | None]
    sectors: Sequence[str]
    salience: Numbers
    recency: Numbers
    is_over: Sequence[bool]
    is_from_elsewhere: Sequence[bool]
    is_history: Sequence[bool]


def floor(words: Sequence[QueryWord]) -> float:
    """The least relevance of a hit for a query of these words."""
    return FLOOR if any(word.variants for word in words) else FLOOR_OF_UNKNOWN_WORDS


def facts(candidates: Sequence[Candidate], situation: Situation) -> Facts:
    """The properties of the candidates in a situation. A memory of no session is a session of its own."""
    if not candidates:
        return Facts((), (), (), np.zeros(0), np.zeros(0), (), (), ())
    columns = zip(*(each.item for each in candidates), strict=True)
    projects, sessions, authors, sectors, tiers, salience, importance, pinned, accessed, ends, writers = columns
    return Facts(
        [session or each.id for session, each in zip(sessions, candidates, strict=True)],
        authors,
        sectors,
        salience_now(salience, importance, sectors, pinned, accessed, situation.now),
        recency(np.array([each.created_at for each in candidates]), situation.moment),
        [end is not None and end <= situation.moment for end in ends],
        [tier == "global" and situation.project not in (None, own) for tier, own in zip(tiers, projects, strict=True)],
        [writer == HISTORY for writer in writers],
    )


def recency(created_at: Numbers, moment: int) -> Numbers:
    """1 for new memories, less for each day of age."""
    return np.exp(-_FADING * np.maximum(0, moment - created_at) / _DAY)


def matches(found: Candidates, keywords: KeywordQuery, calibration: Calibration | None, mode: str) -> dict[str, Part]:
    """The keyword and semantic parts of all candidates; a side that is missing leaves its weight to the other."""
    parts = {}
    if calibration is None or mode != "semantic":
        raw = bm25_of(found, keywords)
        parts["keyword"] = Part(raw, calibrate_keyword(raw, keywords), 1.0 if calibration is None else KEYWORD)
    if calibration is not None:
        cosines = np.array([candidate.cosine or 0.0 for candidate in found.passages])
        weight = 1.0 if mode == "semantic" else SEMANTIC
        parts["semantic"] = Part(cosines, calibrate_cosine(cosines, calibration), weight)
    return parts


def concatenate_parts(one: Mapping[str, Part], other: Mapping[str, Part]) -> dict[str, Part]:
    """The parts of some candidates followed by those of others."""
    return {
        name: Part(
            np.concatenate((part.raw, other[name].raw)),
            np.concatenate((part.calibrated, other[name].calibrated)),
            part.weight,
        )
        for name, part in one.items()
    }


def add_author(parts: Mapping[str, Part], known: Facts, words: Iterable[QueryWord]) -> dict[str, Part]:
    """The parts, with the author part: more for memories whose author the query names."""
    asked = {word.word for word in words}
    is_named = {author: not asked.isdisjoint(tokenize(author or "")) for author in set(known.authors)}
    named = np.array([is_named[author] for author in known.authors], float)
    return {**parts, "author": Part(named, named * relevance(parts), AUTHOR)}


def add_neighbours(
    parts: Mapping[str, Part], candidates: Sequence[Candidate], beside: Mapping[str, Sequence[str]]
) -> dict[str, Part]:
    """The parts, with the share of the better session neighbour, if that one is a hit by itself."""
    own = relevance(parts)
    relevance_by_id = {each.id: value for each, value in zip(candidates, own.tolist(), strict=True) if value >= FLOOR}
    best = [max((relevance_by_id.get(id_, 0.0) for id_ in beside.get(each.id, ())), default=0.0) for each in candidates]
    return {**parts, "neighbours": Part(np.array(best), np.array(best), NEIGHBOUR)}


def relevance(parts: Mapping[str, Part]) -> Numbers:
    """The weighted sum of the parts."""
    total: Numbers = sum((part.calibrated * part.weight for part in parts.values()), np.zeros(1))
    return total


def has_answer(parts: Mapping[str, Part], words: Sequence[QueryWord]) -> bool:
    """Whether any candidate may answer the question; where only words or only meaning is compared, all may."""
    if "keyword" not in parts or "semantic" not in parts:
        return True
    nearest = SAME_MEANING if any(word.variants for word in words) else SAME_MEANING_OF_UNKNOWN_WORDS
    return bool(((relevance(parts) >= BEST) | (parts["semantic"].calibrated >= nearest)).any())


def modulation(parts: Mapping[str, Part], known: Facts) -> dict[str, Factor]:
    """The factors near 1 of session, salience, recency, sector, supersession, tier, and of history if there is any."""
    factors = {
        "session": _session_factor(relevance(parts), known.sessions),
        "salience": Factor(known.salience, modulate(known.salience, SALIENCE)),
        "recency": Factor(known.recency, modulate(known.recency, RECENCY)),
        "sector": _factor(SECTOR[sector] for sector in known.sectors),
        "superseded": _factor(SUPERSEDED if over else 1.0 for over in known.is_over),
        "global": _factor(FROM_ELSEWHERE if elsewhere else 1.0 for elsewhere in known.is_from_elsewhere),
    }
    if any(known.is_history):
        factors["history"] = _factor(FROM_HISTORY if is_history else 1.0 for is_history in known.is_history)
    return factors


def weigh(matched: Mapping[str, Part], known: Facts, weights: Weights) -> tuple[dict[str, Part], dict[str, Factor]]:
    """The parts and factors of the plain weighted sum; raw values are not calibrated."""
    together = weights.semantic + weights.keyword
    alone = len(matched) == 1
    parts = {}
    if "semantic" in matched:
        cosines = matched["semantic"].raw
        parts["semantic"] = Part(cosines, cosines, together if alone else weights.semantic)
    if "keyword" in matched:
        raw = matched["keyword"].raw
        parts["keyword"] = Part(raw, np.minimum(1.0, np.abs(raw) / 10), together if alone else weights.keyword)
    parts["salience"] = Part(known.salience, known.salience, weights.salience)
    parts["recency"] = Part(known.recency, known.recency, weights.recency)
    factors = {
        "sector": _factor(weights.sector.get(sector, 1.0) for sector in known.sectors),
        "superseded": _factor(weights.superseded if over else 1.0 for over in known.is_over),
    }
    return parts, factors


def match_types(parts: Mapping[str, Part], rows: Iterable[int]) -> list[str]:
    """For each row the sides that matched: keyword, semantic, both, or `context` if only a neighbour matched."""
    keyword, semantic = (
        parts[side].calibrated > 0 if side in parts else np.zeros(1, bool) for side in ("keyword", "semantic")
    )
    names = np.where(
        keyword & semantic, "both", np.where(keyword, "keyword", np.where(semantic, "semantic", "context"))
    )
    return [str(names[row]) for row in rows]


def _session_factor(own: Numbers, sessions: Sequence[str]) -> Factor:
    """1 in the session of the best candidate, less in others."""
    best: dict[str, float] = {}
    for session, value in zip(sessions, own.tolist(), strict=True):
        best[session] = max(value, best.get(session, 0.0))
    most = max(best.values(), default=0.0) or 1.0
    share = np.array([best[session] / most for session in sessions])
    return Factor(share, (1 + SESSION * share) / (1 + SESSION))


def _factor(values: Iterable[float]) -> Factor:
    factors = np.array(list(values))
    return Factor(factors, factors)

"""From candidates to hits: neighbours, scores, and all there is to show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from athand.memories import records, relations
from athand.memories.model import Memory, MemoryHit
from athand.memories.scoring import (
    INDEX,
    Situation,
    Weights,
    add_author,
    add_neighbours,
    facts,
    floor,
    in_session,
    joined,
    match_type,
    matches,
    modulation,
    relevance,
    weighted,
)
from athand.rank import Factor, KeywordQuery, Numbers, Part, clamp, explain, matched_words, order, prepare, totals
from athand.store import Snapshot
from athand.text import excerpts
from athand.types import Calibration, Candidate, Candidates, Query, Why

# So many of the best lend to their neighbours.
LENDERS = 32


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that was found, and why."""

    id: str
    why: Why
    match_type: str
    terms: frozenset[str]


def find(
    snapshot: Snapshot,
    query: Query,
    found: Candidates,
    calibration: Calibration | None,
    situation: Situation,
    *,
    mode: str,
    weights: Weights | None,
    least: float | None,
    limit: int,
) -> list[Found]:
    """The memories that are good enough, best first."""
    keywords = prepare(found.words, found.statistics, INDEX.weights)
    matched = matches(found.passages, keywords, calibration, mode)
    if weights is not None:
        parts, factors = weighted(matched, facts(found.passages, situation), weights)
        ranked = _ranked(found.passages, parts, factors, 0.0 if least is None else least)
        hits = [at for at in ranked if any(part.raw[at] > 0 for part in matched.values())]
        return [_found(found.passages[at], parts, factors, at, keywords) for at in hits[:limit]]
    lenders = _lenders(snapshot, query, found.passages, relevance(matched))
    more = _missing(snapshot, query, found.passages, lenders)
    candidates = (*found.passages, *more)
    if more:
        matched = joined(matched, matches(more, keywords, calibration, mode))
    known = facts(candidates, situation)
    own = add_author(matched, known, found.words)
    parts, factors = add_neighbours(own, candidates, lenders), modulation(own, known)
    enough = relevance(parts) >= (floor(found.words) if least is None else 0.0)
    ranked = [at for at in _ranked(candidates, parts, factors, least or 0.0) if enough[at]]
    return [_found(candidates[at], parts, factors, at, keywords) for at in ranked[:limit]]


def _lenders(snapshot: Snapshot, query: Query, candidates: Sequence[Candidate], own: Numbers) -> dict[str, list[str]]:
    """Who stands beside the best candidates in their sessions, and which of the best each stands beside."""
    best = np.argsort(-own, kind="stable")[:LENDERS].tolist()
    ids = [candidates[at].id for at in best if own[at] > 0 and in_session(candidates[at])]
    lenders: dict[str, list[str]] = {}
    for id_, neighbours in (records.neighbours(snapshot, ids, query.spaces) if ids else {}).items():
        for neighbour in neighbours:
            lenders.setdefault(neighbour, []).append(id_)
    return lenders


def _missing(
    snapshot: Snapshot, query: Query, candidates: Sequence[Candidate], wanted: Iterable[str]
) -> tuple[Candidate, ...]:
    """Those of the wanted that are no candidates yet."""
    missing = sorted(set(wanted).difference(candidate.id for candidate in candidates))
    return snapshot.passages_of(INDEX, query, missing) if missing else ()


def _ranked(
    candidates: Sequence[Candidate], parts: Mapping[str, Part], factors: Mapping[str, Factor], least: float
) -> list[int]:
    times, ids = [each.created_at for each in candidates], [each.id for each in candidates]
    return order(totals(parts, factors), times, ids, least)


def _found(
    candidate: Candidate, parts: Mapping[str, Part], factors: Mapping[str, Factor], at: int, keywords: KeywordQuery
) -> Found:
    sides = [float(parts[side].calibrated[at]) if side in parts else 0.0 for side in ("keyword", "semantic")]
    why = Why(explain(parts, at, factors), matched_words(candidate.fields, keywords))
    return Found(candidate.item_id, why, match_type(*sides), frozenset(keywords.worths))


def to_hits(snapshot: Snapshot, query: Query, found: Sequence[Found], now: datetime) -> list[MemoryHit]:
    """The hits with everything needed to show them."""
    if not found:
        return []
    memories = records.by_id(snapshot, [each.id for each in found], now, query.spaces)
    sessions = records.sessions_by_id(snapshot, {each.session for each in memories.values() if each.session})
    ended = [id_ for id_, memory in memories.items() if memory.valid_until is not None]
    successors = relations.successors(snapshot, ended) if ended else {}
    counts = relations.count_related(snapshot, list(memories))
    return [
        MemoryHit(
            memory.id,
            INDEX.corpus,
            clamp(each.why.total),
            memory.title,
            memory.content,
            each.why,
            memory,
            match_type=each.match_type,
            highlights=tuple(excerpts(memory.content, each.terms)),
            source_session=sessions.get(memory.session or ""),
            is_superseded=is_superseded(memory, now),
            superseded_by=successors.get(memory.id),
            related_count=counts.get(memory.id, 0),
        )
        for each, memory in ((each, memories[each.id]) for each in found)
    ]


def is_superseded(memory: Memory, now: datetime) -> bool:
    """Whether it does not hold any more."""
    return memory.valid_until is not None and memory.valid_until <= now

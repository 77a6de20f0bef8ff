"""One search of memories: query, candidates, scores with session neighbours, hits; and reinforcing what was found."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from athand.errors import Conflict, InvalidInput, StoreError
from athand.indexing import without_meaning
from athand.inputs import check_choice, check_fraction, check_limit, check_name, check_past, check_query
from athand.memories import relations, rows
from athand.memories.context import MemoryContext, spaces_of
from athand.memories.filters import and_, build_filter, visible_filter
from athand.memories.model import GLOBAL_SPACE, Memory, MemoryHit
from athand.memories.salience import BY_SEARCH
from athand.memories.scoring import (
    INDEX,
    MODES,
    Situation,
    Weights,
    add_author,
    add_neighbours,
    concatenate_parts,
    facts,
    floor,
    in_session,
    match_type,
    matches,
    modulation,
    relevance,
    weigh,
)
from athand.memories.validation import check_project
from athand.memories.write import ensure_session
from athand.rank import Factor, KeywordQuery, Numbers, Part, clamp, explain, matched_words, order, prepare, totals
from athand.store import Snapshot, to_microseconds
from athand.text import excerpts, tokenize
from athand.types import Calibration, Candidate, Candidates, Filter, Hits, Query, Why

CANDIDATES = 48

log = logging.getLogger("athand")


@dataclass(frozen=True, slots=True)
class MemorySearchRequest:
    """The arguments of a search, as they were given; `check` validates them."""

    text: str
    project: str | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 10
    least: float | None = None
    with_superseded: bool = False
    session: str | None = None
    as_of: Any = None
    mode: str = "hybrid"
    weights: Weights | None = None

    def check(self, now: datetime) -> "MemorySearchRequest":
        """The same, or the error that names what is wrong."""
        if not isinstance(self.weights, Weights | None):
            raise InvalidInput(f"weights must be Weights, such as athand.SEED_WEIGHTS, not {self.weights!r}.")
        return MemorySearchRequest(
            check_query(self.text),
            None if self.project is None else check_project(self.project),
            self.filters,
            check_limit(self.limit),
            None if self.least is None else check_fraction("min_score", self.least),
            self.with_superseded,
            None if self.session is None else check_name("session", self.session),
            None if self.as_of is None else check_past("as_of", self.as_of, now),
            check_choice("mode", self.mode, MODES),
            self.weights,
        )


def search(context: MemoryContext, given: MemorySearchRequest, when_uncovered: Callable[[], None]) -> Hits[MemoryHit]:
    """The memories that answer, best first."""
    now = context.now()
    request = given.check(now)
    query, calibration = _query(context, request, _filter(request, now))
    if not request.text.strip():
        return Hits()
    moment = request.as_of or now
    situation = Situation(to_microseconds(now), to_microseconds(moment), request.project)
    with context.store.snapshot() as snapshot:
        if (within := request.filters.get("in_session")) is not None:
            rows.get_session(snapshot, within)
        found = snapshot.candidates(INDEX, query)
        notes = _notes(context, request, found, when_uncovered)
        ranked = find(
            snapshot,
            query,
            found,
            calibration if found.by_vector else None,
            situation,
            mode=request.mode,
            weights=request.weights,
            least=request.least,
            limit=request.limit,
        )
        hits = to_hits(snapshot, query, ranked, now)
    return Hits(hits, notes=notes, did_you_mean=found.corrections)


def recall(context: MemoryContext, hits: Hits[MemoryHit], request: MemorySearchRequest) -> Hits[MemoryHit]:
    """Reinforce what was found, and link it with the caller's session; where that fails, the answer still stands."""
    now = context.now()
    try:
        project = request.project or "default"
        spaces = {project, *spaces_of(hit.item for hit in hits)}
        with context.store.transaction(durable=False, spaces=spaces) as transaction:
            rows.reinforce(transaction, [hit.id for hit in hits], BY_SEARCH, now, sorted(spaces))
            if request.session is not None:
                ensure_session(transaction, request.session, project, now)
                rows.link(transaction, request.session, [hit.item for hit in hits], "recalled", now)
    except (StoreError, Conflict) as error:
        if str(error) not in context.complaints:
            context.complaints.add(str(error))
            log.warning("What was found was not reinforced: %s", error)
        return Hits(hits, notes=(*hits.notes, f"Not reinforced: {error}"), did_you_mean=hits.did_you_mean)
    return hits


def _filter(request: MemorySearchRequest, now: datetime) -> Filter:
    sessions = (request.session, request.filters.get("in_session"))
    shown = visible_filter(now, request.as_of, sessions, with_superseded=request.with_superseded)
    return and_(build_filter(now, **request.filters), shown)


def _query(context: MemoryContext, request: MemorySearchRequest, chosen: Filter) -> tuple[Query, Calibration | None]:
    """The question, tokenized and embedded once; a mode leaves the other side out."""
    meaning = None
    if request.mode != "keyword":
        meaning = context.embedder.attempt(
            lambda model: (model.embed_query(request.text), model.model_id, model.calibration)
        )
    vector, model_id, calibration = meaning or (None, None, None)
    query = Query(
        text=request.text,
        words=() if request.mode == "semantic" else tuple(tokenize(request.text)),
        vector=vector,
        model_id=model_id,
        spaces=None if request.project is None else (request.project, GLOBAL_SPACE),
        filter=chosen,
        candidates=max(CANDIDATES, request.limit),
    )
    return query, calibration


def _notes(
    context: MemoryContext, request: MemorySearchRequest, found: Candidates, when_uncovered: Callable[[], None]
) -> Sequence[str]:
    """What the caller should know: whether meaning could not be searched."""
    if request.mode == "keyword" or found.by_vector or not found.statistics.passages:
        return []
    return [without_meaning("Memories", context.embedder, when_uncovered, needed=request.mode == "semantic")]


# Only so many of the best candidates boost their session neighbours.
BOOSTING_CANDIDATES = 32


@dataclass(frozen=True, slots=True)
class MemoryMatch:
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
) -> list[MemoryMatch]:
    """The memories that are good enough, best first."""
    keywords = prepare(found.words, found.statistics, INDEX.weights)
    matched = matches(found.passages, keywords, calibration, mode)
    if weights is not None:
        parts, factors = weigh(matched, facts(found.passages, situation), weights)
        ranked = _rank(found.passages, parts, factors, 0.0 if least is None else least)
        hits = [at for at in ranked if any(part.raw[at] > 0 for part in matched.values())]
        return [_to_match(found.passages[at], parts, factors, at, keywords) for at in hits[:limit]]
    neighbours = _find_neighbours(snapshot, query, found.passages, relevance(matched))
    more = _load_missing(snapshot, query, found.passages, neighbours)
    candidates = (*found.passages, *more)
    if more:
        matched = concatenate_parts(matched, matches(more, keywords, calibration, mode))
    known = facts(candidates, situation)
    own = add_author(matched, known, found.words)
    parts, factors = add_neighbours(own, candidates, neighbours), modulation(own, known)
    enough = relevance(parts) >= (floor(found.words) if least is None else 0.0)
    ranked = [at for at in _rank(candidates, parts, factors, least or 0.0) if enough[at]]
    return [_to_match(candidates[at], parts, factors, at, keywords) for at in ranked[:limit]]


def _find_neighbours(
    snapshot: Snapshot, query: Query, candidates: Sequence[Candidate], own: Numbers
) -> dict[str, list[str]]:
    """The session neighbours of the best candidates, each with the candidates it is a neighbour of."""
    best = np.argsort(-own, kind="stable")[:BOOSTING_CANDIDATES].tolist()
    ids = [candidates[at].id for at in best if own[at] > 0 and in_session(candidates[at])]
    boosted_by: dict[str, list[str]] = {}
    for id_, neighbours in (rows.neighbours(snapshot, ids, query.spaces) if ids else {}).items():
        for neighbour in neighbours:
            boosted_by.setdefault(neighbour, []).append(id_)
    return boosted_by


def _load_missing(
    snapshot: Snapshot, query: Query, candidates: Sequence[Candidate], wanted: Iterable[str]
) -> tuple[Candidate, ...]:
    """Those of the wanted that are no candidates yet."""
    missing = sorted(set(wanted).difference(candidate.id for candidate in candidates))
    return snapshot.passages_of(INDEX, query, missing) if missing else ()


def _rank(
    candidates: Sequence[Candidate], parts: Mapping[str, Part], factors: Mapping[str, Factor], least: float
) -> list[int]:
    times, ids = [each.created_at for each in candidates], [each.id for each in candidates]
    return order(totals(parts, factors), times, ids, least)


def _to_match(
    candidate: Candidate, parts: Mapping[str, Part], factors: Mapping[str, Factor], at: int, keywords: KeywordQuery
) -> MemoryMatch:
    sides = [float(parts[side].calibrated[at]) if side in parts else 0.0 for side in ("keyword", "semantic")]
    why = Why(explain(parts, at, factors), matched_words(candidate.fields, keywords))
    return MemoryMatch(candidate.item_id, why, match_type(*sides), frozenset(keywords.worths))


def to_hits(snapshot: Snapshot, query: Query, found: Sequence[MemoryMatch], now: datetime) -> list[MemoryHit]:
    """The hits with everything needed to show them."""
    if not found:
        return []
    memories = rows.by_id(snapshot, [each.id for each in found], now, query.spaces)
    sessions = rows.sessions_by_id(snapshot, {each.session for each in memories.values() if each.session})
    ended = [id_ for id_, memory in memories.items() if memory.valid_until is not None]
    successors = relations.successors(snapshot, ended) if ended else {}
    counts = relations.count_relations(snapshot, list(memories))
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

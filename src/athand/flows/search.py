"""Searches flows: from the query to ranked steps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from athand.embed import Embedder
from athand.errors import InvalidInput
from athand.flows import rows
from athand.flows.context import FlowContext
from athand.flows.descriptions import QueryTerms, matched_fields, snippet
from athand.flows.filters import FlowFilters
from athand.flows.model import FlowHit, FlowSession, Step
from athand.flows.profiles import Profile
from athand.flows.scoring import INDEX, recency_factor, relevance
from athand.flows.validation import check_id
from athand.indexing import without_meaning
from athand.inputs import check_fraction, check_limit, check_query
from athand.rank import Factor, Numbers, Part, clamp, explain, totals
from athand.store import Snapshot, to_microseconds
from athand.text import FLOW_STOP_WORDS, split_identifier, stem, synonym_table, tokenize
from athand.types import Calibration, Candidate, Candidates, Hits, Query, Vector, Why

LIMIT = 20
CANDIDATES = 64
MAX_SESSION_STEPS = 2_000  # sessions with more steps are not ranked completely
_BATCH = 500  # values of one IN list
SCOPES = ("all", "current", "session")


@dataclass(frozen=True, slots=True)
class FlowSearchRequest:
    """The checked arguments of a search."""

    text: str
    limit: int
    session: str | None  # search only this one
    filters: FlowFilters
    min_score: float
    once: bool

    @classmethod
    def parse(
        cls,
        query: object,
        limit: object,
        scope: object,
        session: object,
        filters: object,
        min_score: object,
        once: bool,
    ) -> "FlowSearchRequest":
        """The request of these arguments; raises InvalidInput."""
        return cls(
            check_query(query),
            check_limit(limit),
            _scope_session(scope, session),
            FlowFilters.parse(filters),
            0.0 if min_score is None else check_fraction("min_score", min_score),
            once,
        )


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, its model, and the calibration of its cosines."""

    vector: Vector | None = None
    model_id: str | None = None
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class RankedSteps:
    """Candidates with the parts and factors of their scores, and the indexes of the matches, best first."""

    candidates: Sequence[Candidate]
    parts: Mapping[str, Part]
    factors: Mapping[str, Factor]
    best: Sequence[int]


def search(
    context: FlowContext,
    query: object,
    *,
    limit: object = LIMIT,
    scope: object = "all",
    session: object = None,
    filters: object = None,
    min_score: object = None,
    once: bool = False,
) -> Hits[FlowHit]:
    """The matching steps, best first; with `once`, only the best step of each session."""
    request = FlowSearchRequest.parse(query, limit, scope, session, filters, min_score, once)
    if not request.text.strip():
        return Hits()
    query_vector = context.embedder.attempt(lambda model: _embed_query(model, request.text)) or QueryVector()
    with context.store.snapshot() as snapshot:
        made, notes = _build_query(context, snapshot, request, query_vector)
        found = snapshot.candidates(INDEX, made)
        calibration = query_vector.calibration if found.by_vector else None
        ranked = _rank_steps(snapshot, request, made, found, calibration, to_microseconds(context.now()))
        hits = _to_hits(snapshot, ranked, [frozenset(each.term for each in word.variants) for word in found.words])
    return Hits(hits, notes=[*notes, *_note_missing_vectors(context, found)], did_you_mean=found.corrections)


def _scope_session(scope: object, session: object) -> str | None:
    """The session that the scope restricts the search to, if any."""
    if isinstance(scope, Mapping) and len(scope) == 1 and set(scope) <= {"session", "sessionId", "session_id"}:
        return check_id("session", next(iter(scope.values())))
    if not isinstance(scope, str) or scope not in SCOPES:
        raise InvalidInput(f'No scope {scope!r}. Choose "all", "current", or {{"session": id}}.')
    if scope == "all":
        return None
    if session is None:
        raise InvalidInput(f'The scope "{scope}" needs a session. Say which one, or search "all".')
    return check_id("session", session)


def _embed_query(model: Embedder, text: str) -> QueryVector:
    return QueryVector(model.embed_query(text), model.model_id, model.calibration)


def _build_query(
    context: FlowContext, snapshot: Snapshot, request: FlowSearchRequest, query_vector: QueryVector
) -> tuple[Query, list[str]]:
    """The query for the store, and notes on profiles that could not be read."""
    filters, app = request.filters, request.filters.app
    if request.session is not None:
        filters, app = filters.within_session(request.session), rows.get_session(snapshot, request.session).app
    profiles, wrong = context.profiles.load_readable(context.profiles.names() if app is None else [app])
    words = tokenize(request.text, FLOW_STOP_WORDS | _prefix_words(profiles))
    query = Query(
        text=request.text,
        words=tuple(words),
        vector=query_vector.vector,
        model_id=query_vector.model_id,
        spaces=None if app is None else (app,),
        filter=filters.step_condition(context.now()),
        synonyms=_synonyms(words, profiles),
        candidates=max(CANDIDATES, request.limit),
    )
    return query, wrong


def _prefix_words(profiles: Sequence[Profile]) -> frozenset[str]:
    """The words of tool name prefixes: stop words, since every step has them."""
    return frozenset(part for profile in profiles for part in split_identifier(profile.prefix))


def _synonyms(words: Sequence[str], profiles: Sequence[Profile]) -> dict[str, tuple[str, ...]]:
    """The synonyms of each word, found by its stem: `paying` is `send` too."""
    known = _synonyms_by_stem(tuple(profile.synonyms for profile in profiles))
    return {word: known[stem(word)] for word in words if stem(word) in known}


@lru_cache(maxsize=16)
def _synonyms_by_stem(groups: tuple[tuple[tuple[str, ...], ...], ...]) -> Mapping[str, tuple[str, ...]]:
    """The general synonyms and those of some profiles, by the stems of words."""
    found: dict[str, dict[str, None]] = {}
    for table in (synonym_table(), *map(synonym_table, groups)):
        for word, others in table.items():
            found.setdefault(stem(word), {}).update(dict.fromkeys(others))
    return {word: tuple(others) for word, others in found.items()}


def _note_missing_vectors(context: FlowContext, found: Candidates) -> list[str]:
    """A note for the caller if the search used keywords only."""
    if found.by_vector or not found.statistics.passages:
        return []
    return [without_meaning("Flows", context.embedder, context.when_uncovered, needed=False)]


def _rank_steps(
    snapshot: Snapshot,
    request: FlowSearchRequest,
    query: Query,
    found: Candidates,
    calibration: Calibration | None,
    now: int,
) -> RankedSteps:
    """Ranks the candidates; of the sessions among the hits, all steps are ranked."""

    def rank(candidates: Sequence[Candidate]) -> RankedSteps:
        judged = relevance(request.text, candidates, found, calibration)
        factors = {"recency": recency_factor(candidates, now, judged.parts["goal"].calibrated)}
        scores: Numbers = totals(judged.parts, factors).round(9)
        kept = np.flatnonzero(judged.answers & (scores >= request.min_score)).tolist()
        most = len(candidates) if request.once else request.limit
        return RankedSteps(candidates, judged.parts, factors, _order(snapshot, candidates, scores, kept, most))

    ranked = rank(found.passages)
    if request.once:
        return replace(ranked, best=_best_per_session(ranked)[: request.limit])
    if partial := _partial_sessions(ranked):
        others = [ranked.candidates[at] for at in ranked.best if ranked.candidates[at].item_id not in partial]
        ranked = rank([*others, *snapshot.passages_of(INDEX, query, partial)])
    return ranked


def _order(
    snapshot: Snapshot, candidates: Sequence[Candidate], scores: Numbers, kept: Sequence[int], most: int
) -> list[int]:
    """The best matches; ties are ordered by newest session, then by position in it."""

    def sort_key(at: int) -> tuple[float, int, str]:
        return -scores[at], -candidates[at].item[0], candidates[at].item_id

    ranked = sorted((sort_key(at), at) for at in kept)
    first = [(each, at) for each, at in ranked if each <= ranked[:most][-1][0]]
    positions = _read_positions(snapshot, [candidates[at].id for _, at in first])
    return [at for _, _, at in sorted((each, positions[candidates[at].id], at) for each, at in first)][:most]


def _read_positions(snapshot: Snapshot, ids: Sequence[str]) -> dict[str, int]:
    """The position of each of these steps in its session."""
    found: dict[str, int] = {}
    for start in range(0, len(ids), _BATCH):
        some = {f"v{at}": id_ for at, id_ in enumerate(ids[start : start + _BATCH])}
        names = ", ".join(f":{name}" for name in some)
        found.update(snapshot.rows(f"SELECT id, position FROM flow_steps WHERE id IN ({names})", some))
    return found


def _partial_sessions(ranked: RankedSteps) -> list[str]:
    """The sessions among the hits that have more steps than candidates."""
    known = Counter(candidate.item_id for candidate in ranked.candidates)
    first = {ranked.candidates[at].item_id: ranked.candidates[at].item[1] for at in ranked.best}
    return sorted(id_ for id_, steps in first.items() if known[id_] < steps <= MAX_SESSION_STEPS)


def _best_per_session(ranked: RankedSteps) -> list[int]:
    """The best step of every session."""
    first: dict[str, int] = {}
    for at in ranked.best:
        first.setdefault(ranked.candidates[at].item_id, at)
    return list(first.values())


def _to_hits(snapshot: Snapshot, ranked: RankedSteps, terms: QueryTerms) -> list[FlowHit]:
    chosen = [ranked.candidates[at] for at in ranked.best]
    steps = rows.steps_by_id(snapshot, [each.id for each in chosen])
    sessions = rows.sessions_by_id(snapshot, {each.item_id for each in chosen})
    return [
        _to_hit(ranked, at, sessions[candidate.item_id], steps[candidate.id], terms)
        for at, candidate in zip(ranked.best, chosen, strict=True)
    ]


def _to_hit(ranked: RankedSteps, at: int, session: FlowSession, step: Step, terms: QueryTerms) -> FlowHit:
    matched = matched_fields(session, step, terms)
    why = Why(explain(ranked.parts, at, ranked.factors), matched)
    line = snippet(step, matched)
    return FlowHit(
        id=step.id,
        corpus="flows",
        score=clamp(why.total),
        title=session.goal or f"{step.tool} on {step.screen}",
        text=line,
        why=why,
        item=step,
        tool=step.tool,
        screen=step.screen,
        session_id=session.id,
        session_goal=session.goal,
        matched_fields=matched,
        snippet=line,
        timestamp=step.timestamp,
    )

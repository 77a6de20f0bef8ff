"""One search of flows: request, candidates, scores, hits."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from athand.corpus import Answer, Match, Ranking
from athand.errors import InvalidInput
from athand.flows import rows
from athand.flows.context import FlowContext
from athand.flows.descriptions import QueryTerms, matched_fields, snippet
from athand.flows.filters import FlowFilters
from athand.flows.model import FlowHit, FlowSession, Step
from athand.flows.profiles import Profile
from athand.flows.scoring import INDEX, recency_factor, relevance
from athand.flows.validation import check_id
from athand.inputs import check_fraction, check_limit, check_query
from athand.rank import Numbers, clamp, explain, totals
from athand.store import Snapshot, to_microseconds
from athand.text import FLOW_STOP_WORDS, split_identifier, stem, synonym_table, tokenize
from athand.text_length import shorten
from athand.types import Candidate, Query, Why

CANDIDATES = 64
MAX_SESSION_STEPS = 2_000  # sessions with more steps are not ranked completely
SCOPES = ("all", "current", "session")


@dataclass(frozen=True, slots=True)
class FlowSearchRequest:
    """The checked arguments of a search."""

    query: Query
    limit: int
    min_score: float
    once: bool  # only the best step of each session
    now: int
    notes: Sequence[str]  # on profiles that could not be read
    longest: int | None = None  # characters of all steps of the answer together; None: they are whole


_SHORT, _FEW = 200, 20  # characters of a text, and texts, of a step that is too long for an answer

FlowRanking = Ranking[FlowSearchRequest]


def make_request(
    corpus: FlowContext,
    text: object,
    *,
    limit: object,
    scope: object = "all",
    session: object = None,
    filters: object = None,
    min_score: object = None,
    once: bool = False,
    longest: int | None = None,
) -> FlowSearchRequest:
    """Check the arguments of a search and embed its question."""
    question, limit = check_query(text), check_limit(limit)
    least = 0.0 if min_score is None else check_fraction("min_score", min_score)
    own, chosen = _scope_session(scope, session), FlowFilters.parse(filters)
    app = chosen.app
    if own is not None:
        chosen = chosen.within_session(own)
        with corpus.store.snapshot() as snapshot:
            app = corpus.get_session(snapshot, own).app
    profiles, problems = corpus.app_profiles.load_readable(corpus.app_profiles.names() if app is None else [app])
    words = tokenize(question, FLOW_STOP_WORDS | _prefix_words(profiles))
    now = corpus.now()
    query = corpus.make_query(
        question,
        words=words,
        synonyms=_synonyms(words, profiles),
        spaces=None if app is None else (app,),
        filter=chosen.search_condition(now),
        candidates=max(CANDIDATES, limit),
    )
    return FlowSearchRequest(query, limit, least, once, to_microseconds(now), problems, longest)


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


def rank(corpus: FlowContext, snapshot: Snapshot, request: FlowSearchRequest) -> FlowRanking:
    """The matching steps, best first; of the sessions among them, all steps are ranked."""
    answer = corpus.ask(snapshot, request.query)
    answer = replace(answer, notes=(*request.notes, *answer.notes))
    candidates = answer.found.passages
    ranking = _rank_candidates(snapshot, request, answer, candidates)
    if request.once:
        return replace(ranking, matches=_best_per_session(ranking.matches)[: request.limit])
    if partial := _partial_sessions(candidates, ranking.matches):
        others = [each.candidate for each in ranking.matches if each.candidate.item_id not in partial]
        every_step = snapshot.passages_of(INDEX, request.query, partial)
        return _rank_candidates(snapshot, request, answer, [*others, *every_step])
    return ranking


def _rank_candidates(
    snapshot: Snapshot, request: FlowSearchRequest, answer: Answer, candidates: Sequence[Candidate]
) -> FlowRanking:
    judged = relevance(request.query.text, candidates, answer.found, answer.calibration)
    factors = {"recency": recency_factor(candidates, request.now, judged.parts["goal"].calibrated)}
    scores = totals(judged.parts, factors)
    compared: Numbers = scores.round(9)  # equal scores are ties on every machine
    kept = np.flatnonzero(judged.is_match & (compared >= request.min_score)).tolist()
    best = _order(snapshot, candidates, compared, kept, len(candidates) if request.once else request.limit)
    matches = [Match(candidates[row], float(scores[row]), row) for row in best]
    return Ranking(request, matches, judged.parts, factors, answer)


def _order(
    snapshot: Snapshot, candidates: Sequence[Candidate], scores: Numbers, kept: Sequence[int], most: int
) -> list[int]:
    """The best matches; ties are ordered by newest session, then by position in it."""

    def sort_key(at: int) -> tuple[float, int, str]:
        return -scores[at], -candidates[at].item[0], candidates[at].item_id

    ranked = sorted((sort_key(at), at) for at in kept)
    best = [(key, at) for key, at in ranked if key <= ranked[:most][-1][0]]  # with all that tie with the last one
    apps = sorted({candidates[at].space for _, at in best})
    positions = rows.read_positions(snapshot, [candidates[at].id for _, at in best], apps)
    return [at for _, _, at in sorted((key, positions[candidates[at].id], at) for key, at in best)][:most]


def _partial_sessions(candidates: Sequence[Candidate], matches: Sequence[Match]) -> list[str]:
    """The sessions among the matches that have more steps than candidates."""
    known = Counter(candidate.item_id for candidate in candidates)
    steps = {each.candidate.item_id: each.candidate.item[1] for each in matches}
    return sorted(id_ for id_, number in steps.items() if known[id_] < number <= MAX_SESSION_STEPS)


def _best_per_session(matches: Sequence[Match]) -> list[Match]:
    """The best step of every session."""
    first: dict[str, Match] = {}
    for each in matches:
        first.setdefault(each.candidate.item_id, each)
    return list(first.values())


def to_hits(snapshot: Snapshot, ranking: FlowRanking, chosen: Sequence[Match]) -> list[FlowHit]:
    """The hits with everything needed to show them."""
    terms = [frozenset(variant.term for variant in word.variants) for word in ranking.answer.found.words]
    apps = sorted({each.candidate.space for each in chosen})
    steps = rows.steps_by_id(snapshot, [each.candidate.id for each in chosen], apps)
    sessions = rows.sessions_by_id(snapshot, {each.candidate.item_id for each in chosen}, apps)
    request = ranking.request
    longest = None if request.longest is None else request.longest // request.limit
    return [
        _to_hit(ranking, each, sessions[each.candidate.item_id], _cut(steps[each.candidate.id], longest), terms)
        for each in chosen
    ]


def _cut(step: Step, longest: int | None) -> Step:
    """The step; of a longer one the beginning of its texts, without the elements that were seen before it."""
    if longest is None or (length := len(json.dumps(step.to_dict(), ensure_ascii=False, default=str))) <= longest:
        return step
    note = f"This step has {length:,} characters; `steps` of its session answers it whole."

    def cut(given: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: shorten(str(each), _SHORT) for name, each in islice((given or {}).items(), _FEW)}

    return replace(
        step,
        input=cut(step.input),
        error=step.error and cut(step.error),
        before=step.before and replace(step.before, test_ids=(), a11y=()),
        prior_knowledge={"note": note},
        appeared=tuple(shorten(each, _SHORT) for each in step.appeared[:_FEW]),
    )


def _to_hit(ranking: FlowRanking, match: Match, session: FlowSession, step: Step, terms: QueryTerms) -> FlowHit:
    matched = matched_fields(session, step, terms)
    why = Why(explain(ranking.parts, match.row, ranking.factors), matched)
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

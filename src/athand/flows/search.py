"""One search of flows, from the question to the steps that answer it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from athand.embed import Embedder
from athand.errors import InvalidInput
from athand.flows import records
from athand.flows.desk import Desk
from athand.flows.entry import check_id
from athand.flows.filters import Filters
from athand.flows.model import FlowHit, FlowSession, Step
from athand.flows.profiles import Profile
from athand.flows.scoring import INDEX, age, relevance
from athand.flows.snippets import Wanted, matched_fields, snippet
from athand.indexing import without_meaning
from athand.inputs import check_fraction, check_limit, check_query
from athand.rank import Factor, Numbers, Part, clamp, explain, totals
from athand.store import Snapshot, to_microseconds
from athand.text import FLOW_STOP_WORDS, split_identifier, stem, synonym_table, tokenize
from athand.types import Calibration, Candidate, Candidates, Hits, Query, Vector, Why

LIMIT = 20
CANDIDATES = 64
MOST_STEPS = 2_000  # of a session that are all looked at
_AT_ONCE = 500
SCOPES = ("all", "current", "session")


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of a search, checked."""

    text: str
    limit: int
    session: str | None  # the one that is searched, if it is one
    filters: Filters
    least: float
    once: bool

    @classmethod
    def checked(
        cls, query: object, limit: object, scope: object, session: object, filters: object, least: object, once: bool
    ) -> "Asked":
        """The same, or the error that names what is wrong."""
        return cls(
            check_query(query),
            check_limit(limit),
            _session_of(scope, session),
            Filters.checked(filters),
            0.0 if least is None else check_fraction("min_score", least),
            once,
        )


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector of a question, whose model it is, and what its cosines mean."""

    vector: Vector | None = None
    model_id: str | None = None
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates with all that their scores are made of, and the places of those that answer, best first."""

    candidates: Sequence[Candidate]
    parts: Mapping[str, Part]
    factors: Mapping[str, Factor]
    best: Sequence[int]


def search(
    desk: Desk,
    query: object,
    *,
    limit: object = LIMIT,
    scope: object = "all",
    session: object = None,
    filters: object = None,
    min_score: object = None,
    once: bool = False,
) -> Hits[FlowHit]:
    """The steps that answer, best first; with `once`, each session by its best step alone."""
    asked = Asked.checked(query, limit, scope, session, filters, min_score, once)
    if not asked.text.strip():
        return Hits()
    meaning = desk.embedder.attempt(lambda model: _meaning(model, asked.text)) or Meaning()
    with desk.store.snapshot() as snapshot:
        made, notes = _query(desk, snapshot, asked, meaning)
        found = snapshot.candidates(INDEX, made)
        calibration = meaning.calibration if found.by_vector else None
        ranked = _ranked(snapshot, asked, made, found, calibration, to_microseconds(desk.now()))
        hits = _hits(snapshot, ranked, [frozenset(each.term for each in word.variants) for word in found.words])
    return Hits(hits, notes=[*notes, *_without_meaning(desk, found)], did_you_mean=found.corrections)


def _session_of(scope: object, session: object) -> str | None:
    """The one session that is searched, if it is one."""
    if isinstance(scope, Mapping) and len(scope) == 1 and set(scope) <= {"session", "sessionId", "session_id"}:
        return check_id("session", next(iter(scope.values())))
    if not isinstance(scope, str) or scope not in SCOPES:
        raise InvalidInput(f'No scope {scope!r}. Choose "all", "current", or {{"session": id}}.')
    if scope == "all":
        return None
    if session is None:
        raise InvalidInput(f'The scope "{scope}" needs a session. Say which one, or search "all".')
    return check_id("session", session)


def _meaning(model: Embedder, text: str) -> Meaning:
    return Meaning(model.embed_query(text), model.model_id, model.calibration)


def _query(desk: Desk, snapshot: Snapshot, asked: Asked, meaning: Meaning) -> tuple[Query, list[str]]:
    """The question as the store understands it, and which profiles could not help to make it."""
    filters, app = asked.filters, asked.filters.app
    if asked.session is not None:
        filters, app = filters.of_session(asked.session), records.get_session(snapshot, asked.session).app
    profiles, wrong = desk.profiles.readable(desk.profiles.names() if app is None else [app])
    words = tokenize(asked.text, FLOW_STOP_WORDS | _prefixes(profiles))
    query = Query(
        text=asked.text,
        words=tuple(words),
        vector=meaning.vector,
        model_id=meaning.model_id,
        spaces=None if app is None else (app,),
        filter=filters.on_steps(desk.now()),
        synonyms=_synonyms(words, profiles),
        candidates=max(CANDIDATES, asked.limit),
    )
    return query, wrong


def _prefixes(profiles: Sequence[Profile]) -> frozenset[str]:
    """What tool names begin with: every step has it, and so it tells nothing."""
    return frozenset(part for profile in profiles for part in split_identifier(profile.prefix))


def _synonyms(words: Sequence[str], profiles: Sequence[Profile]) -> dict[str, tuple[str, ...]]:
    """What else each word may be called, in whatever form it is asked: `paying` is `send` too."""
    known = _by_stem(tuple(profile.synonyms for profile in profiles))
    return {word: known[stem(word)] for word in words if stem(word) in known}


@lru_cache(maxsize=16)
def _by_stem(groups: tuple[tuple[tuple[str, ...], ...], ...]) -> Mapping[str, tuple[str, ...]]:
    """The synonyms of everywhere and of some profiles, by the stems of words."""
    found: dict[str, dict[str, None]] = {}
    for table in (synonym_table(), *map(synonym_table, groups)):
        for word, others in table.items():
            found.setdefault(stem(word), {}).update(dict.fromkeys(others))
    return {word: tuple(others) for word, others in found.items()}


def _without_meaning(desk: Desk, found: Candidates) -> list[str]:
    """What the caller should know where meaning could not be searched."""
    if found.by_vector or not found.statistics.passages:
        return []
    return [without_meaning("Flows", desk.embedder, desk.when_uncovered, needed=False)]


def _ranked(
    snapshot: Snapshot, asked: Asked, query: Query, found: Candidates, calibration: Calibration | None, now: int
) -> Ranked:
    """The candidates in order; of the sessions that come first, all steps are looked at."""

    def rank(candidates: Sequence[Candidate]) -> Ranked:
        judged = relevance(asked.text, candidates, found, calibration)
        factors = {"recency": age(candidates, now, judged.parts["goal"].calibrated)}
        scores: Numbers = totals(judged.parts, factors).round(9)
        kept = np.flatnonzero(judged.answers & (scores >= asked.least)).tolist()
        most = len(candidates) if asked.once else asked.limit
        return Ranked(candidates, judged.parts, factors, _ordered(snapshot, candidates, scores, kept, most))

    ranked = rank(found.passages)
    if asked.once:
        return replace(ranked, best=_once(ranked)[: asked.limit])
    if cut := _cut_off(ranked):
        others = [ranked.candidates[at] for at in ranked.best if ranked.candidates[at].item_id not in cut]
        ranked = rank([*others, *snapshot.passages_of(INDEX, query, cut)])
    return ranked


def _ordered(
    snapshot: Snapshot, candidates: Sequence[Candidate], scores: Numbers, kept: Sequence[int], most: int
) -> list[int]:
    """The best so many; of equals the newest session, and the steps of one as they were done."""

    def place(at: int) -> tuple[float, int, str]:
        return -scores[at], -candidates[at].item[0], candidates[at].item_id

    ranked = sorted((place(at), at) for at in kept)
    first = [(each, at) for each, at in ranked if each <= ranked[:most][-1][0]]
    positions = _positions(snapshot, [candidates[at].id for _, at in first])
    return [at for _, _, at in sorted((each, positions[candidates[at].id], at) for each, at in first)][:most]


def _positions(snapshot: Snapshot, ids: Sequence[str]) -> dict[str, int]:
    """Where in its session each of these steps is."""
    found: dict[str, int] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = {f"v{at}": id_ for at, id_ in enumerate(ids[start : start + _AT_ONCE])}
        names = ", ".join(f":{name}" for name in some)
        found.update(snapshot.rows(f"SELECT id, position FROM flow_steps WHERE id IN ({names})", some))
    return found


def _cut_off(ranked: Ranked) -> list[str]:
    """The sessions among the hits that have more steps than were found."""
    known = Counter(candidate.item_id for candidate in ranked.candidates)
    first = {ranked.candidates[at].item_id: ranked.candidates[at].item[1] for at in ranked.best}
    return sorted(id_ for id_, steps in first.items() if known[id_] < steps <= MOST_STEPS)


def _once(ranked: Ranked) -> list[int]:
    """The best step of every session."""
    first: dict[str, int] = {}
    for at in ranked.best:
        first.setdefault(ranked.candidates[at].item_id, at)
    return list(first.values())


def _hits(snapshot: Snapshot, ranked: Ranked, wanted: Wanted) -> list[FlowHit]:
    chosen = [ranked.candidates[at] for at in ranked.best]
    steps = records.steps_by_id(snapshot, [each.id for each in chosen])
    sessions = records.sessions_by_id(snapshot, {each.item_id for each in chosen})
    return [
        _hit(ranked, at, sessions[candidate.item_id], steps[candidate.id], wanted)
        for at, candidate in zip(ranked.best, chosen, strict=True)
    ]


def _hit(ranked: Ranked, at: int, session: FlowSession, step: Step, wanted: Wanted) -> FlowHit:
    matched = matched_fields(session, step, wanted)
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

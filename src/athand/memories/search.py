"""The search of memories: request, candidates, scores with session neighbours, hits; reinforces what was found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from athand.corpus import Answer, Corpus, Match, Ranking
from athand.embed import LazyEmbedder
from athand.errors import Conflict, InvalidInput, StoreError
from athand.inputs import check_choice, check_fraction, check_limit, check_name, check_past, check_query
from athand.memories import relations, rows, sessions
from athand.memories.filters import and_, build_filter, visible_filter
from athand.memories.model import GLOBAL_SPACE, Memory, MemoryHit, spaces_of
from athand.memories.salience import BY_SEARCH
from athand.memories.scoring import (
    INDEX,
    MODES,
    SESSION_OF,
    Situation,
    Weights,
    add_author,
    add_neighbours,
    concatenate_parts,
    facts,
    floor,
    has_answer,
    match_types,
    matches,
    modulation,
    relevance,
    weigh,
)
from athand.memories.usage import UseCounter
from athand.memories.validation import check_project
from athand.rank import Factor, Numbers, Part, order, totals
from athand.store import Snapshot, Store, Transaction, to_microseconds
from athand.text import excerpts_of, find_marks
from athand.types import Candidate, Candidates, Hits, Query

CANDIDATES = 48
CLOSEST = 3
_ENOUGH_FOR_A_TITLE = 1000  # characters
# Only this many of the best candidates boost their session neighbours.
BOOSTING_CANDIDATES = 32


@dataclass(frozen=True, slots=True)
class MemorySearchRequest:
    """The checked arguments of a search."""

    query: Query
    limit: int
    least: float | None
    project: str | None
    session: str | None  # the caller's own
    in_session: str | None  # the one whose memories are searched
    weights: Weights | None
    now: datetime
    as_of: datetime | None
    longest: int | None = None  # characters of all texts of the answer together; None: they are whole

    @property
    def longest_text(self) -> int | None:
        """The most characters of one text; a hit has its text twice, the second time in its item."""
        return None if self.longest is None else self.longest // (2 * self.limit)

    @property
    def situation(self) -> Situation:
        """What scores depend on besides query and memory."""
        return Situation(to_microseconds(self.now), to_microseconds(self.as_of or self.now), self.project)


class MemoryCorpus(Corpus[MemorySearchRequest, MemoryHit]):
    """The corpus of memories, with what counts their uses."""

    def __init__(self, store: Store, embedder: LazyEmbedder, **options: Any) -> None:
        super().__init__(store, embedder, **options)
        self.uses = UseCounter(store)

    def close(self) -> None:
        """Writes the uses that are not written yet."""
        self.uses.close()


MemoryRanking = Ranking[MemorySearchRequest]


def make_request(
    corpus: MemoryCorpus,
    text: object,
    *,
    project: object = None,
    filters: Mapping[str, Any] = MappingProxyType({}),
    limit: object = 10,
    min_score: object = None,
    include_superseded: bool = False,
    session: object = None,
    as_of: object = None,
    mode: object = "hybrid",
    weights: object = None,
    longest: int | None = None,
) -> MemorySearchRequest:
    """Checks the arguments of a search and embeds its question."""
    if not isinstance(weights, Weights | None):
        raise InvalidInput(f"weights must be Weights, such as athand.SEED_WEIGHTS, not {weights!r}.")
    now = corpus.now()
    question, mode = check_query(text), check_choice("mode", mode, MODES)
    project = None if project is None else check_project(project)
    limit = check_limit(limit)
    least = None if min_score is None else check_fraction("min_score", min_score)
    session = None if session is None else check_name("session", session)
    moment = None if as_of is None else check_past("as_of", as_of, now)
    in_session = filters.get("in_session")
    visible = visible_filter(now, moment, (session, in_session), with_superseded=include_superseded)
    query = corpus.make_query(
        question,
        mode=mode,
        spaces=None if project is None else (project, GLOBAL_SPACE),
        filter=and_(build_filter(now, **filters), visible),
        candidates=max(CANDIDATES, limit),
    )
    return MemorySearchRequest(query, limit, least, project, session, in_session, weights, now, moment, longest)


def rank(corpus: MemoryCorpus, snapshot: Snapshot, request: MemorySearchRequest) -> MemoryRanking:
    """The memories that are relevant enough, best first."""
    if request.in_session is not None:
        sessions.get(snapshot, request.in_session, request.project)
    query, answer = request.query, corpus.ask(snapshot, request.query)
    candidates = answer.found.passages
    matched = matches(answer.found, answer.keywords, answer.calibration, query.mode)
    if request.weights is not None:
        parts, factors = weigh(matched, facts(candidates, request.situation), request.weights)
        is_match = sum((part.raw > 0 for part in matched.values()), np.zeros(len(candidates), bool))
        return _to_ranking(request, answer, candidates, parts, factors, is_match)
    neighbours = _find_neighbours(snapshot, query, candidates, relevance(matched))
    if more := _load_missing(snapshot, query, candidates, neighbours):
        added = Candidates(more, answer.found.words, answer.found.statistics)
        matched = concatenate_parts(matched, matches(added, answer.keywords, answer.calibration, query.mode))
        candidates = (*candidates, *more)
    known = facts(candidates, request.situation)
    own = add_author(matched, known, answer.found.words)
    parts, factors = add_neighbours(own, candidates, neighbours), modulation(own, known)
    enough = relevance(parts) >= (floor(answer.found.words) if request.least is None else 0.0)
    if request.least is None and not has_answer(parts, answer.found.words):
        enough = np.zeros(len(candidates), bool)
    ranking = _to_ranking(request, answer, candidates, parts, factors, enough)
    if ranking.matches or not candidates:
        return ranking
    return replace(ranking, closest=_closest(snapshot, request, candidates, totals(parts, factors)))


def _closest(
    snapshot: Snapshot, request: MemorySearchRequest, candidates: Sequence[Candidate], scores: Numbers
) -> list[str]:
    """The titles of the memories that came nearest."""
    times, ids = [each.created_at for each in candidates], [each.id for each in candidates]
    best = [candidates[at].item_id for at in order(scores, times, ids, 0.0)[:CLOSEST]]
    found = rows.by_id(snapshot, best, request.now, request.query.spaces, _ENOUGH_FOR_A_TITLE)
    return [found[id_].title for id_ in best]


def _to_ranking(
    request: MemorySearchRequest,
    answer: Answer,
    candidates: Sequence[Candidate],
    parts: Mapping[str, Part],
    factors: Mapping[str, Factor],
    enough: npt.NDArray[np.bool_],
) -> MemoryRanking:
    """The candidates that are relevant enough, in the order of their scores."""
    times, ids = [each.created_at for each in candidates], [each.id for each in candidates]
    scores = totals(parts, factors)
    best = [row for row in order(scores, times, ids, request.least or 0.0) if enough[row]]
    return Ranking(request, [Match(candidates[row], float(scores[row]), row) for row in best], parts, factors, answer)


def to_hits(snapshot: Snapshot, ranking: MemoryRanking, chosen: Sequence[Match]) -> list[MemoryHit]:
    """The hits with everything needed to show them."""
    if not chosen:
        return []
    now = ranking.request.now
    longest, spaces = ranking.request.longest_text, ranking.request.query.spaces
    found = rows.by_id(snapshot, [each.candidate.item_id for each in chosen], now, spaces, longest)
    memories = [found[each.candidate.item_id] for each in chosen]
    named = {memory.session for memory in memories if memory.session}
    source_sessions = sessions.by_id(snapshot, named, ranking.request.project)
    ended = [memory.id for memory in memories if memory.valid_until is not None]
    successors = relations.successors(snapshot, ended, spaces) if ended else {}
    counts = relations.count_relations(snapshot, [memory.id for memory in memories], spaces)
    texts = (_whole_text(snapshot, memory, longest, now) for memory in memories)
    terms = frozenset(ranking.answer.keywords.worths)
    highlights = excerpts_of(texts, terms)
    kinds = match_types(ranking.parts, [each.row for each in chosen])
    return [
        MemoryHit(
            memory.id,
            INDEX.corpus,
            score,
            memory.title,
            memory.content,
            why,
            memory,
            marks=find_marks(memory.content, terms),
            match_type=kind,
            highlights=marked,
            source_session=source_sessions.get(memory.session or ""),
            is_superseded=memory.valid_until is not None and memory.valid_until <= now,
            superseded_by=successors.get(memory.id),
            related_count=counts.get(memory.id, 0),
        )
        for memory, score, why, kind, marked in zip(
            memories, ranking.scores(chosen), ranking.reasons(chosen), kinds, highlights, strict=True
        )
    ]


def _whole_text(snapshot: Snapshot, memory: Memory, longest: int | None, now: datetime) -> str:
    """The text of a memory, read again if it was cut: one at a time, as many may not fit into memory together."""
    is_whole = longest is None or len(memory.content) <= longest
    return memory.content if is_whole else rows.get(snapshot, memory.id, now, [memory.space]).content


def recall(corpus: MemoryCorpus, hits: Hits[MemoryHit], request: MemorySearchRequest) -> Hits[MemoryHit]:
    """Reinforces the hits and links them with the caller's session; a failure is only noted in the answer."""
    now, session, project = corpus.now(), request.session, request.project or "default"
    ids, memories = [hit.id for hit in hits], [hit.item for hit in hits]
    spaces = {project, *spaces_of(memories)}

    def write(transaction: Transaction) -> None:
        rows.reinforce(transaction, ids, BY_SEARCH, now, sorted(spaces))
        if session is not None:
            sessions.ensure(transaction, session, project, now)
            sessions.link(transaction, session, memories, "recalled", now)

    try:
        corpus.uses.count(spaces, write)
    except (StoreError, Conflict) as error:
        corpus.warn_once("What was found was not reinforced: %s", error)
        return Hits(hits, notes=(*hits.notes, f"Not reinforced: {error}"), did_you_mean=hits.did_you_mean)
    return hits


def _find_neighbours(
    snapshot: Snapshot, query: Query, candidates: Sequence[Candidate], own: Numbers
) -> dict[str, list[str]]:
    """The session neighbours of the best candidates, each with the candidates that boost it."""
    best = np.argsort(-own, kind="stable")[:BOOSTING_CANDIDATES].tolist()
    ids = [candidates[at].id for at in best if own[at] > 0 and candidates[at].item[SESSION_OF] is not None]
    boosted_by: dict[str, list[str]] = {}
    for id_, beside in (sessions.neighbours(snapshot, ids, query.spaces) if ids else {}).items():
        for neighbour in beside:
            boosted_by.setdefault(neighbour, []).append(id_)
    return boosted_by


def _load_missing(
    snapshot: Snapshot, query: Query, candidates: Sequence[Candidate], wanted: Iterable[str]
) -> tuple[Candidate, ...]:
    """The passages of these memories that are not among the candidates yet."""
    missing = sorted(set(wanted).difference(candidate.id for candidate in candidates))
    return snapshot.passages_of(INDEX, query, missing) if missing else ()

"""One natural question to the documents, from its words to the hits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from athand.documents import records
from athand.documents.desk import Desk
from athand.documents.globs import path_filter
from athand.documents.model import DocumentHit
from athand.documents.scoring import FLOOR, INDEX, matches, modulation, repetition
from athand.indexing import without_meaning
from athand.inputs import check_fraction, check_limit, check_query
from athand.rank import Factor, KeywordQuery, Part, clamp, explain, matched_words, order, prepare, totals
from athand.store import Snapshot
from athand.text import excerpts, tokenize
from athand.types import Calibration, Candidate, Candidates, Filter, Hits, Query, Why

CANDIDATES = 50
_FEW_CHUNKS = 500


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of a search, checked."""

    text: str
    limit: int
    path: str | None
    least: float | None
    once: bool = False

    @classmethod
    def checked(cls, query: object, limit: object, path: Any, min_score: object, *, once: bool = False) -> "Asked":
        """The same, or the error that names what is wrong."""
        least = None if min_score is None else check_fraction("min_score", min_score)
        return cls(check_query(query), check_limit(limit), path, least, once)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk that answers: its unclamped score, and its place among the candidates."""

    candidate: Candidate
    total: float
    at: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The chunks that answer, best first, with what their scores are made of and what should be known about them."""

    ranked: Sequence[Ranked]
    parts: Mapping[str, Part]
    factors: Mapping[str, Factor]
    keywords: KeywordQuery
    corrections: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def why(self, each: Ranked) -> Why:
        """The reasons of one score."""
        signals = explain(self.parts, each.at, self.factors)
        return Why(signals, matched_words(each.candidate.fields, self.keywords))


def answer(desk: Desk, snapshot: Snapshot, asked: Asked, spaces: tuple[str, ...], candidates: int) -> Answer:
    """Every candidate that is good enough, best first."""
    query, calibration = _query(desk, asked, spaces, candidates)
    found = _few(snapshot, query) if asked.path else None
    found = found or snapshot.candidates(INDEX, query)
    ranked = rank(found, calibration if found.by_vector else None, asked.least)
    if found.by_vector or not found.statistics.passages:
        return ranked
    return replace(ranked, notes=(without_meaning("Documents", desk.embedder, desk.when_uncovered, needed=False),))


def _few(snapshot: Snapshot, query: Query) -> Candidates | None:
    """All chunks below a path, where they are few: looking for them among the best of everything takes longer."""
    inside, values = records.within(query.spaces or (), "i.space")
    rows = snapshot.rows(
        f"SELECT i.id, i.chunks FROM documents i WHERE {inside} AND {query.filter.where} LIMIT {_FEW_CHUNKS + 1}",
        {**values, **query.filter.parameters},
    )
    if sum(chunks for _, chunks in rows) > _FEW_CHUNKS:
        return None
    asked = snapshot.candidates(INDEX, replace(query, filter=Filter(), candidates=1))
    return replace(asked, passages=snapshot.passages_of(INDEX, query, [id_ for id_, _ in rows]))


def search(
    desk: Desk, snapshot: Snapshot, asked: Asked, spaces: tuple[str, ...], freshness: Callable[[], Mapping[str, Any]]
) -> Hits[DocumentHit]:
    """The chunks that answer a question."""
    if not asked.text.strip():
        return Hits(freshness=freshness())
    found = answer(desk, snapshot, asked, spaces, max(CANDIDATES, asked.limit))
    ranked = best_of_each(found.ranked) if asked.once else found.ranked
    hits = _hits(snapshot, found, ranked[: asked.limit])
    return Hits(hits, notes=found.notes, did_you_mean=found.corrections, freshness=freshness())


def rank(found: Candidates, calibration: Calibration | None, least: float | None) -> Answer:
    """The candidates that are good enough, in the order of their scores."""
    keywords = prepare(found.words, found.statistics, INDEX.weights)
    parts = matches(found.passages, keywords, calibration)
    factors = modulation(parts, found.passages, found.words, found.statistics.passages)
    factors["repetition"] = repetition(totals(parts, factors), found.passages)
    scores = totals(parts, factors)
    ids = [f"{each.space}\0{each.item_id}\0{each.id}" for each in found.passages]
    places = order(scores, [each.created_at for each in found.passages], ids, FLOOR if least is None else least)
    ranked = [Ranked(found.passages[at], float(scores[at]), at) for at in places]
    return Answer(ranked, parts, factors, keywords, found.corrections)


def best_of_each(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Every document once, with its best chunk."""
    best: dict[tuple[str, str], Ranked] = {}
    for each in ranked:
        best.setdefault((each.candidate.space, each.candidate.item_id), each)
    return list(best.values())


def _hits(snapshot: Snapshot, found: Answer, ranked: Sequence[Ranked]) -> list[DocumentHit]:
    """The hits with everything needed to show them."""
    chunks = records.chunks_by_id(snapshot, [(each.candidate.space, each.candidate.id) for each in ranked])
    places = list({(each.candidate.space, each.candidate.item_id) for each in ranked})
    documents = records.documents_by_id(snapshot, places)
    terms = frozenset(found.keywords.worths)
    return [
        DocumentHit(
            chunk.chunk_id,
            INDEX.corpus,
            clamp(each.total),
            chunk.title,
            chunk.content,
            found.why(each),
            chunk,
            keywords=documents[chunk.folder_id, chunk.document_id].keywords,
            highlights=tuple(excerpts(chunk.content, terms)),
        )
        for each, chunk in ((each, chunks[each.candidate.space, each.candidate.id]) for each in ranked)
    ]


def _query(desk: Desk, asked: Asked, spaces: tuple[str, ...], candidates: int) -> tuple[Query, Calibration | None]:
    """The question, tokenized and embedded once."""
    meaning = desk.embedder.attempt(lambda model: (model.embed_query(asked.text), model.model_id, model.calibration))
    vector, model_id, calibration = meaning or (None, None, None)
    query = Query(
        text=asked.text,
        words=tuple(tokenize(asked.text)),
        vector=vector,
        model_id=model_id,
        spaces=spaces,
        filter=path_filter(asked.path),
        candidates=candidates,
    )
    return query, calibration

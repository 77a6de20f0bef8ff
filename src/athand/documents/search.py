"""One natural question to the documents, from its words to the hits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from athand.documents.context import DocumentContext
from athand.documents.cursors import Cursors
from athand.documents.folders import all_folders
from athand.documents.globs import path_filter
from athand.documents.model import Continuation, Document, DocumentHit, FoundDocument, FoundDocuments
from athand.documents.rows import chunks_by_id, documents_by_id, space_condition
from athand.documents.scoring import FLOOR, INDEX, adjustment_factors, match_parts, repetition_factor
from athand.errors import InvalidInput
from athand.indexing import without_meaning
from athand.inputs import check_fraction, check_limit, check_query
from athand.rank import Factor, KeywordQuery, Part, clamp, explain, matched_words, order, prepare, totals
from athand.store import Snapshot
from athand.text import excerpts, tokenize
from athand.types import Calibration, Candidate, Candidates, Filter, Hits, Query, Why

CANDIDATES = 50
_MAX_CHUNKS_BELOW_PATH = 500


@dataclass(frozen=True, slots=True)
class DocumentSearchRequest:
    """The arguments of a search, checked."""

    text: str
    limit: int
    path: str | None
    min_score: float | None
    once: bool = False

    @classmethod
    def from_arguments(
        cls, query: object, limit: object, path: Any, min_score: object, *, once: bool = False
    ) -> "DocumentSearchRequest":
        """The same, or the error that names what is wrong."""
        min_score = None if min_score is None else check_fraction("min_score", min_score)
        return cls(check_query(query), check_limit(limit), path, min_score, once)


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk that answers: its unclamped score, and its place among the candidates."""

    candidate: Candidate
    total: float
    index: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """The chunks that answer, best first, with what their scores are made of and what should be known about them."""

    ranked: Sequence[RankedChunk]
    parts: Mapping[str, Part]
    factors: Mapping[str, Factor]
    keywords: KeywordQuery
    corrections: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def why(self, each: RankedChunk) -> Why:
        """The reasons of one score."""
        signals = explain(self.parts, each.index, self.factors)
        return Why(signals, matched_words(each.candidate.fields, self.keywords))


def find_chunks(
    context: DocumentContext,
    snapshot: Snapshot,
    request: DocumentSearchRequest,
    spaces: tuple[str, ...],
    candidates: int,
) -> Ranking:
    """Every candidate that is good enough, best first."""
    query, calibration = _build_query(context, request, spaces, candidates)
    found = _candidates_below_path(snapshot, query) if request.path else None
    found = found or snapshot.candidates(INDEX, query)
    ranked = rank_candidates(found, calibration if found.by_vector else None, request.min_score)
    if found.by_vector or not found.statistics.passages:
        return ranked
    return replace(
        ranked, notes=(without_meaning("Documents", context.embedder, context.when_uncovered, needed=False),)
    )


def _candidates_below_path(snapshot: Snapshot, query: Query) -> Candidates | None:
    """All chunks below a path, where they are few: looking for them among the best of everything takes longer."""
    inside, values = space_condition(query.spaces or (), "i.space")
    rows = snapshot.rows(
        f"SELECT i.id, i.chunks FROM documents i WHERE {inside} AND {query.filter.where} "
        f"LIMIT {_MAX_CHUNKS_BELOW_PATH + 1}",
        {**values, **query.filter.parameters},
    )
    if sum(chunks for _, chunks in rows) > _MAX_CHUNKS_BELOW_PATH:
        return None
    request = snapshot.candidates(INDEX, replace(query, filter=Filter(), candidates=1))
    return replace(request, passages=snapshot.passages_of(INDEX, query, [id_ for id_, _ in rows]))


def search_chunks(
    context: DocumentContext,
    snapshot: Snapshot,
    request: DocumentSearchRequest,
    spaces: tuple[str, ...],
    freshness: Callable[[], Mapping[str, Any]],
) -> Hits[DocumentHit]:
    """The chunks that answer a question."""
    if not request.text.strip():
        return Hits(freshness=freshness())
    found = find_chunks(context, snapshot, request, spaces, max(CANDIDATES, request.limit))
    ranked = best_chunk_per_document(found.ranked) if request.once else found.ranked
    hits = _to_hits(snapshot, found, ranked[: request.limit])
    return Hits(hits, notes=found.notes, did_you_mean=found.corrections, freshness=freshness())


def rank_candidates(found: Candidates, calibration: Calibration | None, min_score: float | None) -> Ranking:
    """The candidates that are good enough, in the order of their scores."""
    keywords = prepare(found.words, found.statistics, INDEX.weights)
    parts = match_parts(found.passages, keywords, calibration)
    factors = adjustment_factors(parts, found.passages, found.words, found.statistics.passages)
    factors["repetition"] = repetition_factor(totals(parts, factors), found.passages)
    scores = totals(parts, factors)
    ids = [f"{each.space}\0{each.item_id}\0{each.id}" for each in found.passages]
    places = order(scores, [each.created_at for each in found.passages], ids, FLOOR if min_score is None else min_score)
    ranked = [RankedChunk(found.passages[index], float(scores[index]), index) for index in places]
    return Ranking(ranked, parts, factors, keywords, found.corrections)


def best_chunk_per_document(ranked: Sequence[RankedChunk]) -> list[RankedChunk]:
    """Every document once, with its best chunk."""
    best: dict[tuple[str, str], RankedChunk] = {}
    for each in ranked:
        best.setdefault((each.candidate.space, each.candidate.item_id), each)
    return list(best.values())


def _to_hits(snapshot: Snapshot, found: Ranking, ranked: Sequence[RankedChunk]) -> list[DocumentHit]:
    """The hits with everything needed to show them."""
    chunks = chunks_by_id(snapshot, [(each.candidate.space, each.candidate.id) for each in ranked])
    places = list({(each.candidate.space, each.candidate.item_id) for each in ranked})
    documents = documents_by_id(snapshot, places)
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


def _build_query(
    context: DocumentContext, request: DocumentSearchRequest, spaces: tuple[str, ...], candidates: int
) -> tuple[Query, Calibration | None]:
    """The question, tokenized and embedded once."""
    meaning = context.embedder.attempt(
        lambda model: (model.embed_query(request.text), model.model_id, model.calibration)
    )
    vector, model_id, calibration = meaning or (None, None, None)
    query = Query(
        text=request.text,
        words=tuple(tokenize(request.text)),
        vector=vector,
        model_id=model_id,
        spaces=spaces,
        filter=path_filter(request.path),
        candidates=candidates,
    )
    return query, calibration


FIND_DOCUMENTS = "find_documents"
MAX_DOCUMENTS = 100
_DOCUMENT_CANDIDATES = 400
_COLUMNS = [each.name for each in fields(Document)]


def find_documents(
    context: DocumentContext,
    snapshot: Snapshot,
    query: str,
    spaces: tuple[str, ...],
    limit: int,
    token: str | None,
    cursors: Cursors,
    freshness: Callable[[], Mapping[str, Any]],
) -> FoundDocuments:
    """The documents whose chunks answer, by their best one."""
    after = None
    if token is not None:
        query, spaces, after = _resume(snapshot, cursors.decode(FIND_DOCUMENTS, token), query, spaces)
    request = DocumentSearchRequest.from_arguments(query, check_limit(limit, MAX_DOCUMENTS), None, None)
    if not request.text.strip():
        return FoundDocuments((), 0, Continuation(False), freshness())
    found = find_chunks(context, snapshot, request, spaces, _DOCUMENT_CANDIDATES)
    best = sorted(best_chunk_per_document(found.ranked), key=_sort_key)
    rest = best if after is None else [each for each in best if _sort_key(each) > after]
    page = rest[: request.limit]
    more = len(rest) > len(page)
    next_token = (
        cursors.encode(FIND_DOCUMENTS, {"query": query, "folders": spaces, "after": _sort_key(page[-1])})
        if more
        else None
    )
    return FoundDocuments(
        tuple(_to_found_documents(snapshot, found, page)),
        len(best),
        Continuation(more, next_token),
        freshness(),
        found.notes,
    )


def _resume(
    snapshot: Snapshot, state: Mapping[str, Any], query: str, spaces: tuple[str, ...]
) -> tuple[str, tuple[str, ...], list[Any]]:
    """The query, the folders and the last document of the page before; a token allows no other question."""
    if query not in ("", state["query"]):
        raise InvalidInput("query differs from the search that the continuation_token goes on with. Leave it empty.")
    known, every = set(state["folders"]), {folder.folder_id for folder in all_folders(snapshot)}
    if set(spaces) not in (known, every):
        raise InvalidInput("folder_id differs from the search that the continuation_token goes on with. Leave it out.")
    return state["query"], tuple(state["folders"]), state["after"]


def _sort_key(each: RankedChunk) -> list[Any]:
    """Where a document stands in the order of all."""
    return [-each.total, each.candidate.space, each.candidate.item_id]


def _to_found_documents(snapshot: Snapshot, found: Ranking, page: Sequence[RankedChunk]) -> list[FoundDocument]:
    places = [(each.candidate.space, each.candidate.item_id) for each in page]
    documents = documents_by_id(snapshot, places)
    return [
        FoundDocument(
            **{name: getattr(documents[place], name) for name in _COLUMNS},
            score=clamp(each.total),
            why=found.why(each),
            best_chunk_id=each.candidate.id,
        )
        for each, place in zip(page, places, strict=True)
    ]

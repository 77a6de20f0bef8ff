"""Search of documents by a natural question: hits by chunk (`search`) or by document (`find_documents`)."""

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

CANDIDATES = 50  # chunks ranked by `search`
_DOCUMENT_CANDIDATES = 400  # chunks ranked by `find_documents`
MAX_DOCUMENTS = 100  # per page
_MAX_CHUNKS_BELOW_PATH = 500
_FIND_DOCUMENTS = "find_documents"  # kind of its cursors
_DOCUMENT_FIELDS = [each.name for each in fields(Document)]


@dataclass(frozen=True, slots=True)
class DocumentSearchRequest:
    """The checked arguments of a search."""

    text: str
    limit: int
    path: str | None
    min_score: float | None
    once: bool = False

    @classmethod
    def from_arguments(
        cls, query: object, limit: object, path: Any, min_score: object, *, once: bool = False
    ) -> "DocumentSearchRequest":
        """Checks the arguments; raises InvalidInput that names the wrong one."""
        min_score = None if min_score is None else check_fraction("min_score", min_score)
        return cls(check_query(query), check_limit(limit), path, min_score, once)


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A candidate with its unclamped score; `index` is its row in the parts and factors."""

    candidate: Candidate
    total: float
    index: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranked chunks, best first, with the parts and factors of their scores, and notes for the caller."""

    ranked: Sequence[RankedChunk]
    parts: Mapping[str, Part]
    factors: Mapping[str, Factor]
    keywords: KeywordQuery
    corrections: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def why(self, each: RankedChunk) -> Why:
        """The explanation of one score."""
        signals = explain(self.parts, each.index, self.factors)
        return Why(signals, matched_words(each.candidate.fields, self.keywords))


def find_chunks(
    context: DocumentContext,
    snapshot: Snapshot,
    request: DocumentSearchRequest,
    spaces: tuple[str, ...],
    candidates: int,
) -> Ranking:
    """Embeds the query, fetches candidates and ranks them; those below the minimum score are dropped."""
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
    """All chunks below a path as candidates, when they are few: faster than filtering the best of all folders."""
    inside, values = space_condition(query.spaces or (), "i.space")
    rows = snapshot.rows(
        f"SELECT i.id, i.chunks FROM documents i WHERE {inside} AND {query.filter.where} "
        f"LIMIT {_MAX_CHUNKS_BELOW_PATH + 1}",
        {**values, **query.filter.parameters},
    )
    if sum(chunks for _, chunks in rows) > _MAX_CHUNKS_BELOW_PATH:
        return None
    unfiltered = snapshot.candidates(INDEX, replace(query, filter=Filter(), candidates=1))
    return replace(unfiltered, passages=snapshot.passages_of(INDEX, query, [id_ for id_, _ in rows]))


def search_chunks(
    context: DocumentContext,
    snapshot: Snapshot,
    request: DocumentSearchRequest,
    spaces: tuple[str, ...],
    freshness: Callable[[], Mapping[str, Any]],
) -> Hits[DocumentHit]:
    """The hits of a question; only those within the limit are read from the store and filled in."""
    if not request.text.strip():
        return Hits(freshness=freshness())
    ranking = find_chunks(context, snapshot, request, spaces, max(CANDIDATES, request.limit))
    ranked = best_chunk_per_document(ranking.ranked) if request.once else ranking.ranked
    hits = _to_hits(snapshot, ranking, ranked[: request.limit])
    return Hits(hits, notes=ranking.notes, did_you_mean=ranking.corrections, freshness=freshness())


def rank_candidates(found: Candidates, calibration: Calibration | None, min_score: float | None) -> Ranking:
    """Scores the candidates and orders them; those below the minimum score (default: FLOOR) are dropped."""
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
    """The best chunk of each document, in ranked order."""
    best: dict[tuple[str, str], RankedChunk] = {}
    for each in ranked:
        best.setdefault((each.candidate.space, each.candidate.item_id), each)
    return list(best.values())


def _to_hits(snapshot: Snapshot, ranking: Ranking, ranked: Sequence[RankedChunk]) -> list[DocumentHit]:
    """Ranked chunks as hits, with content, key phrases, highlights and explanation."""
    chunks = chunks_by_id(snapshot, [(each.candidate.space, each.candidate.id) for each in ranked])
    documents = documents_by_id(snapshot, list({(each.candidate.space, each.candidate.item_id) for each in ranked}))
    terms = frozenset(ranking.keywords.worths)
    return [
        DocumentHit(
            chunk.chunk_id,
            INDEX.corpus,
            clamp(each.total),
            chunk.title,
            chunk.content,
            ranking.why(each),
            chunk,
            keywords=documents[chunk.folder_id, chunk.document_id].keywords,
            highlights=tuple(excerpts(chunk.content, terms)),
        )
        for each, chunk in ((each, chunks[each.candidate.space, each.candidate.id]) for each in ranked)
    ]


def _build_query(
    context: DocumentContext, request: DocumentSearchRequest, spaces: tuple[str, ...], candidates: int
) -> tuple[Query, Calibration | None]:
    """The query, tokenized and embedded, and the calibration of the model; without a vector when the model fails."""
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
    """A page of the documents whose chunks match, ordered by their best chunk."""
    after = None
    if token is not None:
        query, spaces, after = _resume(snapshot, cursors.decode(_FIND_DOCUMENTS, token), query, spaces)
    request = DocumentSearchRequest.from_arguments(query, check_limit(limit, MAX_DOCUMENTS), None, None)
    if not request.text.strip():
        return FoundDocuments((), 0, Continuation(False), freshness())
    ranking = find_chunks(context, snapshot, request, spaces, _DOCUMENT_CANDIDATES)
    best = sorted(best_chunk_per_document(ranking.ranked), key=_sort_key)
    rest = best if after is None else [each for each in best if _sort_key(each) > after]
    page = rest[: request.limit]
    more = len(rest) > len(page)
    next_token = (
        cursors.encode(_FIND_DOCUMENTS, {"query": query, "folders": spaces, "after": _sort_key(page[-1])})
        if more
        else None
    )
    return FoundDocuments(
        tuple(_to_found_documents(snapshot, ranking, page)),
        len(best),
        Continuation(more, next_token),
        freshness(),
        ranking.notes,
    )


def _resume(
    snapshot: Snapshot, state: Mapping[str, Any], query: str, spaces: tuple[str, ...]
) -> tuple[str, tuple[str, ...], list[Any]]:
    """Query, folders and last sort key from a cursor; other arguments than those of the first page are refused."""
    if query not in ("", state["query"]):
        raise InvalidInput("query differs from the search that the continuation_token goes on with. Leave it empty.")
    first, every = set(state["folders"]), {folder.folder_id for folder in all_folders(snapshot)}
    if set(spaces) not in (first, every):
        raise InvalidInput("folder_id differs from the search that the continuation_token goes on with. Leave it out.")
    return state["query"], tuple(state["folders"]), state["after"]


def _sort_key(each: RankedChunk) -> list[Any]:
    """The order of documents: by score, then folder and path."""
    return [-each.total, each.candidate.space, each.candidate.item_id]


def _to_found_documents(snapshot: Snapshot, ranking: Ranking, page: Sequence[RankedChunk]) -> list[FoundDocument]:
    keys = [(each.candidate.space, each.candidate.item_id) for each in page]
    documents = documents_by_id(snapshot, keys)
    return [
        FoundDocument(
            **{name: getattr(documents[key], name) for name in _DOCUMENT_FIELDS},
            score=clamp(each.total),
            why=ranking.why(each),
            best_chunk_id=each.candidate.id,
        )
        for each, key in zip(page, keys, strict=True)
    ]

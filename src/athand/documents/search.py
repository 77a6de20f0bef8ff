"""Search of documents by a natural question: hits by chunk (`search`) or by document (`find_documents`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from athand.corpus import Answer, Match, Ranking
from athand.documents.context import DocumentContext
from athand.documents.cursors import Cursors
from athand.documents.folders import all_folders
from athand.documents.globs import path_filter
from athand.documents.model import Continuation, Document, DocumentHit, FoundDocument, FoundDocuments
from athand.documents.rows import chunks_by_id, documents_by_id
from athand.documents.scoring import FLOOR, FLOOR_OF_OTHERS, INDEX, adjustment_factors, match_parts, repetition_factor
from athand.errors import InvalidInput
from athand.inputs import check_fraction, check_limit, check_query
from athand.rank import clamp, order, totals
from athand.store import Snapshot, one_of
from athand.text import excerpts, find_marks
from athand.types import Candidates, Filter, Query

CANDIDATES = 50  # chunks ranked by `search`
_DOCUMENT_CANDIDATES = 400  # chunks ranked by `find_documents`
MAX_DOCUMENTS = 100  # per page
_MAX_CHUNKS_BELOW_PATH = 500
_FIND_DOCUMENTS = "find_documents"  # kind of its cursors
_DOCUMENT_FIELDS = [each.name for each in fields(Document)]


@dataclass(frozen=True, slots=True)
class DocumentSearchRequest:
    """The checked arguments of a search; `folder_id` None searches all folders, an empty list none."""

    query: Query
    limit: int
    folder_id: str | Sequence[str] | None
    has_path: bool
    min_score: float | None
    once: bool


DocumentRanking = Ranking[DocumentSearchRequest]


def make_request(
    context: DocumentContext,
    query: object,
    *,
    folder_id: str | Sequence[str] | None = None,
    limit: object = 10,
    path: Any = None,
    min_score: object = None,
    once: bool = False,
    candidates: int = CANDIDATES,
) -> DocumentSearchRequest:
    """Checks the arguments and embeds the question; raises InvalidInput that names the wrong one."""
    text, limit = check_query(query), check_limit(limit)
    least = None if min_score is None else check_fraction("min_score", min_score)
    made = context.make_query(text, filter=path_filter(path), candidates=max(candidates, limit))
    return DocumentSearchRequest(made, limit, folder_id, bool(path), least, once)


def rank_chunks(
    context: DocumentContext, snapshot: Snapshot, request: DocumentSearchRequest, spaces: tuple[str, ...]
) -> DocumentRanking:
    """Fetches candidates of these folders and ranks them; those below the minimum score are dropped."""
    query = replace(request.query, spaces=spaces)
    few = _candidates_below_path(context, snapshot, query) if request.has_path else None
    answer = context.ask(snapshot, query, few)
    ranking = rank_candidates(request, answer)
    return replace(ranking, matches=best_chunk_per_document(ranking.matches)) if request.once else ranking


def _candidates_below_path(context: DocumentContext, snapshot: Snapshot, query: Query) -> Candidates | None:
    """All chunks below a path as candidates, when they are few: faster than filtering the best of all folders."""
    inside, values = one_of("i.space", query.spaces or (), "space")
    rows = snapshot.rows(
        f"SELECT i.id, i.chunks FROM documents i WHERE {inside} AND {query.filter.where} "
        f"LIMIT {_MAX_CHUNKS_BELOW_PATH + 1}",
        {**values, **query.filter.parameters},
    )
    if sum(chunks for _, chunks in rows) > _MAX_CHUNKS_BELOW_PATH:
        return None
    unfiltered = snapshot.candidates(INDEX, replace(query, filter=Filter(), candidates=1))
    found = replace(unfiltered, passages=snapshot.passages_of(INDEX, query, [id_ for id_, _ in rows]))
    return context.add_corrected(snapshot, query, found)


def rank_candidates(request: DocumentSearchRequest, answer: Answer) -> DocumentRanking:
    """Scores the candidates and orders them; without a minimum score, nothing is left unless the best one fits."""
    found = answer.found
    parts = match_parts(found, answer.keywords, answer.calibration)
    factors = adjustment_factors(parts, found, request.query.text)
    factors["repetition"] = repetition_factor(totals(parts, factors), found.passages)
    scores = totals(parts, factors)
    ids = [f"{each.space}\0{each.item_id}\0{each.id}" for each in found.passages]
    least = request.min_score
    if least is None:
        least = FLOOR_OF_OTHERS if scores.max(initial=0.0) >= FLOOR else np.inf
    rows = order(scores, [each.created_at for each in found.passages], ids, least)
    matches = [Match(found.passages[row], float(scores[row]), row) for row in rows]
    return Ranking(request, matches, parts, factors, answer)


def best_chunk_per_document(ranked: Sequence[Match]) -> list[Match]:
    """The best chunk of each document, in ranked order."""
    best: dict[tuple[str, str], Match] = {}
    for each in ranked:
        best.setdefault((each.candidate.space, each.candidate.item_id), each)
    return list(best.values())


def to_hits(snapshot: Snapshot, ranking: DocumentRanking, ranked: Sequence[Match]) -> list[DocumentHit]:
    """Ranked chunks as hits, with content, key phrases, highlights and explanation."""
    chunks = chunks_by_id(snapshot, [(each.candidate.space, each.candidate.id) for each in ranked])
    documents = documents_by_id(snapshot, list({(each.candidate.space, each.candidate.item_id) for each in ranked}))
    terms = frozenset(ranking.answer.keywords.worths)
    return [
        DocumentHit(
            chunk.chunk_id,
            INDEX.corpus,
            clamp(each.total),
            chunk.title,
            chunk.content,
            why,
            chunk,
            marks=find_marks(chunk.content, terms),
            keywords=documents[chunk.folder_id, chunk.document_id].keywords,
            highlights=tuple(excerpts(chunk.content, terms)),
        )
        for each, why in zip(ranked, ranking.reasons(ranked), strict=True)
        for chunk in [chunks[each.candidate.space, each.candidate.id]]
    ]


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
    limit = check_limit(limit, MAX_DOCUMENTS)
    request = make_request(context, query, limit=limit, once=True, candidates=_DOCUMENT_CANDIDATES)
    if not request.query.text.strip():
        return FoundDocuments((), 0, Continuation(False), freshness())
    ranking = rank_chunks(context, snapshot, request, spaces)
    best = sorted(ranking.matches, key=_sort_key)
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
        ranking.answer.notes,
    )


def _resume(
    snapshot: Snapshot, state: Mapping[str, Any], query: str, spaces: tuple[str, ...]
) -> tuple[str, tuple[str, ...], list[Any]]:
    """Query, folders and last sort key from a cursor; other arguments than those of the first page are refused."""
    if query not in ("", state["query"]):
        raise InvalidInput("query differs from the search that the continuation_token continues. Leave it empty.")
    first, every = set(state["folders"]), {folder.folder_id for folder in all_folders(snapshot)}
    if set(spaces) not in (first, every):
        raise InvalidInput("folder_id differs from the search that the continuation_token continues. Leave it out.")
    return state["query"], tuple(state["folders"]), state["after"]


def _sort_key(each: Match) -> list[Any]:
    """The order of documents: by score, then folder and path."""
    return [-each.total, each.candidate.space, each.candidate.item_id]


def _to_found_documents(snapshot: Snapshot, ranking: DocumentRanking, page: Sequence[Match]) -> list[FoundDocument]:
    keys = [(each.candidate.space, each.candidate.item_id) for each in page]
    documents = documents_by_id(snapshot, keys)
    return [
        FoundDocument(
            **{name: getattr(documents[key], name) for name in _DOCUMENT_FIELDS},
            score=clamp(each.total),
            why=why,
            best_chunk_id=each.candidate.id,
        )
        for each, key, why in zip(page, keys, ranking.reasons(page), strict=True)
    ]

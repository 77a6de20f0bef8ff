"""The response of `search_content`: a page of results, statistics, the next cursor and hints what to do next."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from athand.documents.content_request import ContentSearchRequest
from athand.documents.content_search import (
    ContentMatch,
    ContentMatches,
    ContentSearchCache,
    Generations,
    explain_match,
    is_case_sensitive,
    search_matches,
)
from athand.documents.context import DocumentContext
from athand.documents.cursors import Cursors
from athand.documents.folders import FolderRecord
from athand.documents.model import (
    Chunk,
    Continuation,
    Document,
    NavigationHints,
    ResponseStatus,
    SearchChunkResult,
    SearchContentResponse,
    SearchData,
    SearchStatistics,
)
from athand.documents.rows import chunks_by_id, documents_by_id
from athand.rank import clamp
from athand.store import Snapshot
from athand.text import terms
from athand.text_length import estimate_tokens, shorten

STRONG_SCORE = 0.7
_FEW = 5
_MANY = 20
_MAX_RELATED = 5
_MAX_QUOTED = 60  # characters of a concept or term in a sentence


def build_response(
    context: DocumentContext,
    request: ContentSearchRequest,
    snapshot: Snapshot,
    searched: Sequence[FolderRecord],
    cursors: Cursors,
    cache: ContentSearchCache,
    freshness: Mapping[str, Any],
) -> SearchContentResponse:
    """Searches and returns one page of results."""
    spaces = tuple(folder.folder_id for folder in searched)
    generations = tuple((folder.folder_id, folder.generation) for folder in searched)
    matches = search_matches(context, request, snapshot, generations, cache)
    notes = _build_notes(context, request, matches, generations)
    start = matches.offset_after(request.after)
    page, results = _build_page(snapshot, request, matches, start)
    total = len(matches.ordered)
    has_more = start + len(page) < total
    token = request.cursor(cursors, page[-1].position, generations) if has_more and page else None
    phrases = [phrase for result in results for phrase in result.document_keywords]
    return SearchContentResponse(
        SearchData(results, _build_statistics(request, results, total, spaces, by_meaning=matches.by_meaning)),
        ResponseStatus(True, 200, f"Found {total:,} result{'' if total == 1 else 's'}" if total else "Nothing fits"),
        Continuation(token is not None, token),
        build_hints(request, results, total, token, spaces, phrases),
        freshness,
        notes,
    )


def _build_notes(
    context: DocumentContext, request: ContentSearchRequest, matches: ContentMatches, generations: Generations
) -> tuple[str, ...]:
    """What the caller should know: concepts were not compared, or the index changed between two pages."""
    notes = []
    if not matches.by_meaning:
        needed = not request.terms
        notes.append(context.note_keyword_only(needs_meaning=needed))
    if request.after is not None and request.generations != generations:
        notes.append(
            "Documents have changed since the page before: what did not change is neither repeated nor left out."
        )
    return tuple(notes)


def _build_page(
    snapshot: Snapshot, request: ContentSearchRequest, matches: ContentMatches, start: int
) -> tuple[Sequence[ContentMatch], tuple[SearchChunkResult, ...]]:
    """The matches of a page and their results: as many as fit into `max_tokens`, and at least one."""
    window = matches.ordered[start : start + request.limit]
    chunks = chunks_by_id(snapshot, [match.chunk_key for match in window])
    page = window[: _count_within_tokens([chunks[match.chunk_key].content for match in window], request.max_tokens)]
    documents = documents_by_id(snapshot, list({match.document_key for match in page}))
    by_meaning = bool(request.concepts) and matches.by_meaning
    results = [
        _to_result(match, chunks[match.chunk_key], documents[match.document_key], by_meaning=by_meaning)
        for match in page
    ]
    return page, tuple(results)


def _count_within_tokens(texts: Sequence[str], max_tokens: int | None) -> int:
    """How many of the first texts fit into a number of LLM tokens; the first always does."""
    if max_tokens is None:
        return len(texts)
    left = max_tokens
    for count, text in enumerate(texts):
        if count and estimate_tokens(text) > left:
            return count
        left -= estimate_tokens(text)
    return len(texts)


def _to_result(match: ContentMatch, chunk: Chunk, document: Document, *, by_meaning: bool) -> SearchChunkResult:
    return SearchChunkResult(
        chunk.chunk_id,
        chunk.document_id,
        chunk.content,
        clamp(match.total),
        chunk.chunk_index,
        document.keywords,
        chunk.folder_id,
        chunk.heading,
        chunk.place,
        chunk.start_line,
        chunk.end_line,
        explain_match(match, by_meaning=by_meaning),
    )


def _build_statistics(
    request: ContentSearchRequest,
    results: Sequence[SearchChunkResult],
    total: int,
    spaces: Sequence[str],
    *,
    by_meaning: bool,
) -> SearchStatistics:
    scores = [result.relevance_score for result in results]
    return SearchStatistics(
        total,
        tuple(dict.fromkeys(result.document_id for result in results)),
        round(math.fsum(scores) / len(scores), 4) if scores else 0.0,
        describe_request(request, spaces, by_meaning=by_meaning),
    )


def describe_request(request: ContentSearchRequest, folder_ids: Sequence[str], *, by_meaning: bool) -> str:
    """One sentence: the concepts and terms, the folders, and the minimum score."""
    parts = []
    if request.concepts and by_meaning:
        parts.append(f"about {_join_list([_quote(concept) for concept in request.concepts])}")
    if request.terms:
        exact = [f'"{_quote(term)}"' + (" (case matters)" if is_case_sensitive(term) else "") for term in request.terms]
        verb = "preferring those that contain" if parts else "that contain"
        parts.append(f"{verb} {_join_list(exact)}")
    path = f" under {request.path.removeprefix('**/')}" if request.path else ""
    least = (
        f", scoring at least {request.min_score:g}"
        if request.min_score and (by_meaning or not request.concepts)
        else ""
    )
    return f"Passages {', '.join(parts)} in {_describe_folders(folder_ids)}{path}{least}."


def _describe_folders(folder_ids: Sequence[str]) -> str:
    if not folder_ids:
        return "no folder"
    return _join_list(folder_ids) if len(folder_ids) <= _FEW else f"{len(folder_ids)} folders"


def build_hints(
    request: ContentSearchRequest,
    results: Sequence[SearchChunkResult],
    total: int,
    next_token: str | None,
    folder_ids: Sequence[str],
    phrases: Iterable[str],
) -> NavigationHints:
    """Suggested next calls, by the number and scores of the results, and related queries."""
    actions = (
        _suggest_after_results(request, results, total) if results else _suggest_after_nothing(request, folder_ids)
    )
    if next_token:
        actions.append(f"More results: search_content(continuation_token='{next_token}')")
    return NavigationHints(tuple(actions), related_queries(request, phrases))


def related_queries(request: ContentSearchRequest, phrases: Iterable[str]) -> tuple[str, ...]:
    """Key phrases of the documents found that share no term with the request."""
    seen = {term for text in (*request.concepts, *request.terms) for term in terms(text)}
    chosen: list[str] = []
    for phrase in phrases:
        new = set(terms(phrase))
        if new and new.isdisjoint(seen):
            chosen.append(phrase)
            seen |= new
    return tuple(chosen[:_MAX_RELATED])


def _suggest_after_results(
    request: ContentSearchRequest, results: Sequence[SearchChunkResult], total: int
) -> list[str]:
    best = results[0]
    ids = f"folder_id='{best.folder_id}', document_id={best.document_id!r}"
    if best.relevance_score >= STRONG_SCORE and total <= _FEW:
        lines = f", start_line={best.start_line}, end_line={best.end_line}"
        return [f"Read this document: get_document_text({ids}{lines})", f"See its outline: get_document_data({ids})"]
    if total > _MANY and best.relevance_score < STRONG_SCORE:
        again = (
            f"search_content({_folder_argument(request)}semantic_concepts={list(request.concepts)!r}, exact_terms=[…])"
        )
        narrow = [] if request.terms else [f"Narrow the {total} matches with exact terms: {again}"]
        words = " ".join(request.concepts or request.terms)
        return [*narrow, f"Find the right files first: find_documents({_folder_argument(request)}query={words!r})"]
    around = f"get_chunks('{best.folder_id}', ['{best.chunk_id}'], neighbours=1)"
    return [f"Read around the best match: {around}", f"See its outline: get_document_data({ids})"]


def _suggest_after_nothing(request: ContentSearchRequest, folder_ids: Sequence[str]) -> list[str]:
    if not folder_ids:
        return ["Nothing is indexed yet: add(path) adds a folder"]
    lower = [f"Ask for less: min_score={request.min_score / 2:.2g}"] if request.min_score > 0.1 else []
    words = " ".join((*request.concepts, *request.terms))
    if request.terms and not request.concepts:
        lower.append(
            f"Search by meaning: search_content({_folder_argument(request)}semantic_concepts={list(request.terms)!r})"
        )
    return [
        *lower,
        f"Ask in plain words: search({_folder_argument(request)}query={words!r})",
        f"See what there is: explore('{folder_ids[0]}')",
    ]


def _folder_argument(request: ContentSearchRequest) -> str:
    """The folders of the request as the first argument of a call."""
    if request.folder_ids is None:
        return ""
    given = request.folder_ids[0] if len(request.folder_ids) == 1 else list(request.folder_ids)
    return f"folder_id={given!r}, "


def _quote(text: str) -> str:
    """A concept or term on one line, as it stands in a sentence."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return shorten(line, _MAX_QUOTED)


def _join_list(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"

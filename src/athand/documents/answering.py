"""One call of `search_content`, from its arguments to the page that answers it."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from athand.documents import content, records
from athand.documents.asking import Asked
from athand.documents.content import Match, Matches, Meaning
from athand.documents.desk import Desk
from athand.documents.folders import Registered
from athand.documents.globs import path_filter
from athand.documents.hints import hints, interpretation
from athand.documents.model import Continuation
from athand.documents.responses import (
    ResponseStatus,
    SearchChunkResult,
    SearchContentResponse,
    SearchData,
    SearchStatistics,
)
from athand.documents.scoring import INDEX
from athand.documents.tokens import Tokens
from athand.indexing import without_meaning
from athand.store import Snapshot

_REMEMBERED = 50_000  # matches, of the latest searches

Generations = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Remembered:
    """The latest searches: the next page of one need not search again, as long as nothing has changed."""

    _searches: "OrderedDict[tuple[Any, ...], Matches]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: tuple[Any, ...]) -> Matches | None:
        """What was found when this was asked before."""
        with self._lock:
            if key in self._searches:
                self._searches.move_to_end(key)
            return self._searches.get(key)

    def clear(self) -> None:
        """Forget everything: the index was made anew."""
        with self._lock:
            self._searches.clear()

    def keep(self, key: tuple[Any, ...], matches: Matches) -> None:
        """Remember what was found, and forget the oldest beyond the limit."""
        with self._lock:
            self._searches[key] = matches
            while sum(len(each.ordered) + 1 for each in self._searches.values()) > _REMEMBERED:
                self._searches.popitem(last=False)


def answer(
    desk: Desk,
    asked: Asked,
    snapshot: Snapshot,
    searched: Sequence[Registered],
    tokens: Tokens,
    remembered: Remembered,
    freshness: Mapping[str, Any],
) -> SearchContentResponse:
    """A page of results, and all that is said about it."""
    spaces = tuple(folder.folder_id for folder in searched)
    generations = tuple((folder.folder_id, folder.generation) for folder in searched)
    matches = _matches(desk, asked, snapshot, spaces, generations, remembered)
    notes = _notes(desk, asked, matches, generations)
    start = matches.after(asked.after)
    page = _page(snapshot, asked, matches, start)
    results = tuple(result for _, result in page)
    has_more = start + len(page) < len(matches.ordered)
    token = asked.token(tokens, page[-1][0].position, generations) if has_more and page else None
    total = len(matches.ordered)
    phrases = [phrase for result in results for phrase in result.document_keywords]
    return SearchContentResponse(
        SearchData(results, _statistics(asked, results, total, spaces, by_meaning=matches.by_meaning)),
        ResponseStatus(True, 200, f"Found {total:,} result{'' if total == 1 else 's'}" if total else "Nothing fits"),
        Continuation(token is not None, token),
        hints(asked, results, total, token, spaces, phrases),
        freshness,
        notes,
    )


def _matches(
    desk: Desk,
    asked: Asked,
    snapshot: Snapshot,
    spaces: tuple[str, ...],
    generations: Generations,
    remembered: Remembered,
) -> Matches:
    key = (asked.question, generations, desk.embedder.attempt(lambda model: model.model_id) if asked.concepts else None)
    known = remembered.get(key)
    if known is None:
        chosen, meaning = path_filter(asked.path), _meaning(desk, asked)
        known = content.find(snapshot, asked, spaces, meaning, chosen)
        if not known.by_meaning and not snapshot.frequencies(INDEX, spaces, ())[""]:
            return Matches((), True)  # where nothing is indexed, nothing is missing either
        if not known.by_meaning and asked.terms:  # what cannot be compared must not hide what is there literally
            known = content.find(snapshot, _without_concepts(asked), spaces, None, chosen)
            return Matches(known.ordered, False)  # until the vectors are there, which changes no generation
        if known.by_meaning:
            remembered.keep(key, known)
    return known


def _meaning(desk: Desk, asked: Asked) -> Meaning | None:
    if not asked.concepts:
        return None
    return desk.embedder.attempt(
        lambda model: Meaning(
            tuple(model.embed_query(concept) for concept in asked.concepts),
            model.model_id,
            tuple(content.calibration_of(concept, model.calibration) for concept in asked.concepts),
        )
    )


def _without_concepts(asked: Asked) -> Asked:
    return Asked(asked.folder_ids, (), asked.terms, 0.0, asked.limit, asked.max_tokens, asked.path)


def _notes(desk: Desk, asked: Asked, matches: Matches, generations: Generations) -> tuple[str, ...]:
    notes = []
    if not matches.by_meaning:
        needed = not asked.terms
        notes.append(without_meaning("Documents", desk.embedder, desk.when_uncovered, needed=needed))
    if asked.after is not None and asked.generations != generations:
        notes.append(
            "Documents have changed since the page before: what did not change is neither repeated nor left out."
        )
    return tuple(notes)


def _page(snapshot: Snapshot, asked: Asked, found: Matches, start: int) -> list[tuple[Match, SearchChunkResult]]:
    """The results of a page, as many as the caller has tokens for, and at least one."""
    matches = found.ordered[start : start + asked.limit]
    chunks = records.chunks_by_id(snapshot, [match.place for match in matches])
    documents = records.documents_by_id(snapshot, list({match.document for match in matches}))
    page: list[tuple[Match, SearchChunkResult]] = []
    left = asked.max_tokens
    for match in matches:
        chunk = chunks[match.place]
        if left is not None and page and records.tokens(chunk.content) > left:
            break
        left = None if left is None else left - records.tokens(chunk.content)
        page.append(
            (
                match,
                SearchChunkResult(
                    chunk.chunk_id,
                    chunk.document_id,
                    chunk.content,
                    content.shown_score(match),
                    chunk.chunk_index,
                    documents[match.document].keywords,
                    chunk.folder_id,
                    chunk.heading,
                    chunk.place,
                    chunk.start_line,
                    chunk.end_line,
                    content.explain(match, by_meaning=bool(asked.concepts) and found.by_meaning),
                ),
            )
        )
    return page


def _statistics(
    asked: Asked, results: Sequence[SearchChunkResult], total: int, spaces: Sequence[str], *, by_meaning: bool
) -> SearchStatistics:
    return SearchStatistics(
        total,
        tuple(dict.fromkeys(result.document_id for result in results)),
        content.average([result.relevance_score for result in results]),
        interpretation(asked, spaces, by_meaning=by_meaning),
    )

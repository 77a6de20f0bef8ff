"""Candidate search in SQLite: the best passages by BM25 and by vector, with the filter in SQL."""

import json
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import isnan

import apsw
import numpy as np

from athand.rank import prepare
from athand.store.candidates import (
    SCORE_ALL_UP_TO,
    Ranking,
    Scores,
    gather_candidates,
    initial_depth,
    rank_by_bm25,
    select_candidates,
    select_terms,
)
from athand.store.contract import Index
from athand.store.query_terms import LexiconCache, resolve_query
from athand.store.sqlite.matrix import MatrixView
from athand.store.sqlite.passages import ALL_SPACES, match_any
from athand.store.sqlite.sql import rows
from athand.store.sqlite.vocabulary import SqliteVocabulary
from athand.types import Candidate, Candidates, Query, QueryWord, Statistics, Vector

_SCAN_THREADS = 4
# FTS5 selects this many times more passages than are wanted, so that the best by our own BM25 are among them.
OVERFETCH = 8
# Long passages take longer to score: fewer are selected beyond this many characters, but at least four times as many.
OVERFETCH_LEAST, OVERFETCH_CHARACTERS = 4, 300_000
# Up to this many passages, scanning takes less time than starting a thread.
THREADED_SCAN_FROM = 10_000


class SqliteCandidateFinder:
    """Finds candidates; caches the words of the corpora and runs vector scans in threads."""

    def __init__(self) -> None:
        self._lexicons = LexiconCache()
        self._pool = ThreadPoolExecutor(_SCAN_THREADS, "athand-scan")

    def close(self) -> None:
        """Stops the threads."""
        self._pool.shutdown()

    def find(self, connection: apsw.Connection, index: Index, query: Query, view: MatrixView | None) -> Candidates:
        """The candidates of both rankings, each with its fields and its exact cosine."""
        spaces = None if query.spaces is None else space_numbers(connection, index, query.spaces)
        scope = space_numbers(connection, index, (ALL_SPACES,)) if spaces is None else spaces
        statistics = _statistics(connection, index, scope)
        words, corrections = resolve_query(query, SqliteVocabulary(connection, index.corpus, scope, self._lexicons))
        scores: Scores = {}
        if statistics.passages <= max(SCORE_ALL_UP_TO, query.candidates):
            found = _load_candidates(connection, index, query, view, _all_numbers(connection, index, spaces))
        else:
            by_vector = self._rank_by_vector(view, query, spaces, in_thread=statistics.passages > THREADED_SCAN_FROM)
            by_words = _rank_by_words(connection, index, words, statistics, spaces, scores)
            sides = [side for side in (by_words, by_vector) if side]
            load = partial(_load_candidates, connection, index, query, view)
            found = select_candidates(query, sides, load, partial(_filter_numbers, connection, index, query))
        return gather_candidates(found, scores, words, statistics, corrections, by_vector=view is not None)

    def frequencies(
        self, connection: apsw.Connection, index: Index, names: Sequence[str] | None, terms: Sequence[str]
    ) -> dict[str, int]:
        """Document frequency of each term; the key "" has the number of passages."""
        scope = space_numbers(connection, index, (ALL_SPACES,) if names is None else names)
        known = SqliteVocabulary(connection, index.corpus, scope, self._lexicons).frequencies(terms)
        return {**known, "": _statistics(connection, index, scope).passages}

    def _rank_by_vector(
        self, view: MatrixView | None, query: Query, spaces: Sequence[int] | None, *, in_thread: bool
    ) -> Ranking | None:
        """Ranks by vector. A long scan runs in a thread beside the keyword search: both release the GIL."""
        vector = query.vector
        if view is None or vector is None or not vector.any():
            return None
        if not in_thread:
            return lambda limit: view.nearest(vector, limit, spaces)[0].tolist()
        first = initial_depth(query)
        ahead = self._pool.submit(view.nearest, vector, first, spaces)

        def best(limit: int) -> list[int]:
            numbers, _ = ahead.result() if limit == first else view.nearest(vector, limit, spaces)
            nearest: list[int] = numbers.tolist()
            return nearest

        return best


def passages_of(
    connection: apsw.Connection, index: Index, query: Query, view: MatrixView | None, item_ids: Sequence[str]
) -> tuple[Candidate, ...]:
    """The passages of these items, where they are in the query's spaces and pass its filter."""
    numbers = [row[0] for row in _find_passages(connection, index, query, item_ids)]
    return tuple(_load_candidates(connection, index, query, view, numbers).values())


def cosines_of(
    connection: apsw.Connection,
    index: Index,
    query: Query,
    view: MatrixView,
    item_ids: Sequence[str],
    vectors: Sequence[Vector],
) -> dict[tuple[str, str], tuple[float, ...]]:
    """The cosines of the passages of these items in the query's spaces, by space and id: one for each vector."""
    found = _find_passages(connection, index, query, item_ids)
    numbers = np.array([row[0] for row in found], np.int64)
    columns = [view.cosines(numbers, vector).tolist() for vector in vectors]
    return {
        (space, id_): tuple(cosines)
        for (_, space, id_), *cosines in zip(found, *columns, strict=True)
        if not isnan(cosines[0])
    }


def _find_passages(
    connection: apsw.Connection, index: Index, query: Query, item_ids: Sequence[str]
) -> list[tuple[int, str, str]]:
    """Number, space and id of the passages of these items in the query's spaces."""
    inside = "" if query.spaces is None else "AND i.space IN (SELECT value FROM json_each(:spaces))"
    found = rows(
        connection,
        f"SELECT p.number, i.space, p.id FROM {index.corpus} i JOIN spaces s ON s.corpus = :corpus "
        f"AND s.space = i.space JOIN {index.corpus}_passages p ON p.space = s.number AND p.item_id = i.id "
        f"WHERE i.id IN (SELECT value FROM json_each(:ids)) {inside}",
        {"corpus": index.corpus, "ids": json.dumps(list(item_ids)), "spaces": json.dumps(query.spaces)},
    )
    return [(number, space, id_) for number, space, id_ in found]


def space_numbers(connection: apsw.Connection, index: Index, names: Sequence[str]) -> list[int]:
    """The numbers of the spaces that exist."""
    found = rows(
        connection,
        "SELECT number FROM spaces WHERE corpus = ? AND space IN (SELECT value FROM json_each(?)) ORDER BY number",
        (index.corpus, json.dumps(names)),
    )
    return [row[0] for row in found]


def _statistics(connection: apsw.Connection, index: Index, scope: Sequence[int]) -> Statistics:
    found = rows(
        connection,
        "SELECT passages, lengths FROM spaces WHERE number IN (SELECT value FROM json_each(?))",
        (json.dumps(list(scope)),),
    )
    passages = sum(row[0] for row in found)
    sums = [json.loads(row[1]) or [0] * len(index.fields) for row in found]
    averages = [sum(field) / passages if passages else 0.0 for field in zip(*sums, strict=True)]
    return Statistics(passages, tuple(averages or [0.0] * len(index.fields)))


def _all_numbers(connection: apsw.Connection, index: Index, spaces: Sequence[int] | None) -> list[int]:
    """The numbers of all passages of the spaces."""
    inside = "" if spaces is None else "WHERE space IN (SELECT value FROM json_each(?))"
    values = () if spaces is None else (json.dumps(spaces),)
    return [row[0] for row in rows(connection, f"SELECT number FROM {index.corpus}_passages {inside}", values)]


def _rank_by_words(
    connection: apsw.Connection,
    index: Index,
    words: Sequence[QueryWord],
    statistics: Statistics,
    spaces: Sequence[int] | None,
    scores: Scores,
) -> Ranking | None:
    """Ranks by our BM25 the passages that FTS5's own BM25, which ignores spaces, selects; adds their scores."""
    chosen = select_terms(words)
    if not chosen:
        return None
    table = f"{index.corpus}_words"
    match = match_any(chosen, "-space")
    if spaces is not None:
        match = f"{match_any(list(map(str, spaces)), 'space')} AND {match}"
    weights = ", ".join(map(str, (0.0, *index.weights)))
    fields = ", ".join(f"p.{field}" for field in index.fields)
    keywords = prepare(words, statistics, index.weights)
    length = max(1, round(sum(statistics.average_lengths)))

    def best(limit: int) -> list[int]:
        found = rows(
            connection,
            # In a subquery: otherwise SQLite reads the fields of all matches, not only of the best.
            f"SELECT p.number, p.created_at, p.id, {fields} "
            f"FROM (SELECT rowid AS number FROM {table} WHERE {table} MATCH ? "
            f"ORDER BY bm25({table}, {weights}), rowid DESC LIMIT ?) w "  # newest first among equals
            f"CROSS JOIN {index.corpus}_passages p USING (number)",
            (match, limit * max(OVERFETCH_LEAST, min(OVERFETCH, OVERFETCH_CHARACTERS // (limit * length)))),
        )
        return rank_by_bm25(found, keywords, scores)[:limit]

    return best


def _filter_numbers(connection: apsw.Connection, index: Index, query: Query, numbers: Sequence[int]) -> list[int]:
    """The numbers whose passage exists and whose item passes the filter, in the same order."""
    found = rows(
        connection,
        f"SELECT p.number FROM {index.corpus}_passages p {ITEM_JOIN.format(index.corpus)} "
        f"WHERE p.number IN (SELECT value FROM json_each(:numbers)) {_filter_condition(query)}",
        {**query.filter.parameters, "numbers": json.dumps(numbers)},
    )
    passing = {row[0] for row in found}
    return [number for number in numbers if number in passing]


ITEM_JOIN = "JOIN spaces s ON s.number = p.space JOIN {} i ON i.space = s.space AND i.id = p.item_id"


def _filter_condition(query: Query) -> str:
    return f"AND ({query.filter.where})" if query.filter.where else ""


def _load_candidates(
    connection: apsw.Connection, index: Index, query: Query, view: MatrixView | None, numbers: Collection[int]
) -> dict[int, Candidate]:
    """Loads the passages that pass the filter, by number."""
    if not numbers:
        return {}
    fields = "".join(f", p.{field}" for field in index.fields)
    values = "".join(f", i.{column}" for column in index.item_columns)
    found = rows(
        connection,
        f"SELECT p.number, p.id, p.item_id, s.space, p.created_at {fields} {values} "
        f"FROM {index.corpus}_passages p {ITEM_JOIN.format(index.corpus)} "
        f"WHERE p.number IN (SELECT value FROM json_each(:numbers)) {_filter_condition(query)} ORDER BY p.number",
        {**query.filter.parameters, "numbers": json.dumps(list(numbers))},
    )
    cosines: list[float | None] = [None] * len(found)
    if view is not None and query.vector is not None:
        known = view.cosines(np.array([row[0] for row in found], np.int64), query.vector)
        cosines = [None if isnan(cosine) else cosine for cosine in known.tolist()]
    end = 5 + len(index.fields)
    return {
        row[0]: Candidate(row[1], row[2], row[3], row[5:end], row[4], cosine, row[end:])
        for row, cosine in zip(found, cosines, strict=True)
    }

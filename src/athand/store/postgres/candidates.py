"""Candidate search in PostgreSQL: the best passages by BM25 and by vector, with the filter in SQL."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from athand.rank import prepare
from athand.store.candidates import (
    KEYWORD_ROWS,
    SCORE_ALL_UP_TO,
    Ranking,
    Scores,
    gather_candidates,
    rank_by_bm25,
    select_candidates,
    select_terms,
)
from athand.store.contract import Index
from athand.store.postgres.embeddings import Model, matches_checksum, unpack
from athand.store.postgres.sql import Connection, rows
from athand.store.postgres.vector_index import INDEXED_FROM, AnnPolicy, nearest
from athand.store.postgres.vocabulary import PostgresVocabulary
from athand.store.query_terms import LexiconCache, resolve_query
from athand.types import Candidate, Candidates, Query, QueryWord, Statistics, Vector

# Very common words bring at most this many rows: the newest that pass the filter.
MOST_ROWS = 4 * KEYWORD_ROWS


@dataclass(frozen=True, slots=True)
class PostgresCandidateFinder:
    """Searches for one query; `model` is set if it has a vector for every passage of the corpus."""

    connection: Connection
    index: Index
    query: Query
    model: Model | None
    ann_policy: AnnPolicy

    def candidates(self, lexicons: LexiconCache) -> Candidates:
        """The candidates of both rankings, each with its fields and its exact cosine."""
        by_vector = self._start_vector_search()
        vocabulary = PostgresVocabulary(self.connection, self.index, self.query.spaces, lexicons)
        words, corrections = resolve_query(self.query, vocabulary)
        statistics = vocabulary.statistics
        scores: Scores = {}
        if statistics.passages <= max(SCORE_ALL_UP_TO, self.query.candidates):
            found = self._load_candidates("TRUE", {})
        else:
            by_vector = by_vector or self._rank_by_vector(statistics.passages)
            sides = [self._rank_by_words(words, statistics, scores), by_vector]
            found = select_candidates(
                self.query, [side for side in sides if side], self._load_numbers, self._filter_numbers
            )
        return gather_candidates(found, scores, words, statistics, corrections, by_vector=self.model is not None)

    def of_items(self, item_ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of these items, where they are in the query's spaces and pass its filter."""
        return tuple(self._load_candidates("p.item_id = ANY(:item_ids)", {"item_ids": list(item_ids)}).values())

    def cosines(self, item_ids: Sequence[str], vectors: Sequence[Vector]) -> dict[tuple[str, str], tuple[float, ...]]:
        """The cosines of the passages of these items in the query's spaces, by space and id: one for each vector."""
        if self.model is None:
            return {}
        corpus = self.index.corpus
        found = self._rows(
            f"SELECT p.space, p.id, halfvec_send(v.vector), v.checksum FROM {corpus}_passages p "
            f"JOIN {corpus}_vectors v ON v.space = p.space AND v.model = :model AND v.hash = p.hash "
            f"{self._inside('v')} WHERE p.item_id = ANY(:item_ids) {self._inside('p')}",
            {"item_ids": list(item_ids)},
        )
        columns = [_cosines([row[2:] for row in found], vector) for vector in vectors]
        return {
            (space, id_): tuple(cosines)
            for (space, id_, *_), *cosines in zip(found, *columns, strict=True)
            if cosines[0] is not None
        }

    def _rank_by_words(self, words: Sequence[QueryWord], statistics: Statistics, scores: Scores) -> Ranking | None:
        """Ranks by BM25 the passages that have any of the selected terms; adds their scores."""
        chosen = select_terms(words)
        if not chosen:
            return None
        found = self._fetch_matching(chosen, filtered=False)
        if len(found) == MOST_ROWS:
            found = self._fetch_matching(chosen, filtered=True)
        ranked = rank_by_bm25(found, prepare(words, statistics, self.index.weights), scores)
        return lambda limit: ranked[:limit]

    def _fetch_matching(self, terms: Sequence[str], *, filtered: bool) -> list[tuple[Any, ...]]:
        """Number, time, id and fields of the passages that have any of the terms; at most MOST_ROWS."""
        fields = ", ".join(f"p.{field}" for field in self.index.fields)
        item, passed = (self._item_join, self._filter_condition) if filtered else ("", "")
        spaces = "" if self.query.spaces is None else "AND p.words && :lexemes::text[]"
        return self._rows(
            f"SELECT p.number, p.created_at, p.id, {fields} FROM {self.index.corpus}_passages p {item} "
            f"WHERE p.words && :terms::text[] {spaces} {self._inside('p')} {passed} "
            f"{'ORDER BY p.created_at DESC, p.id' if filtered else ''} LIMIT {MOST_ROWS}",
            {"terms": list(terms), "lexemes": [f" {space}" for space in self.query.spaces or ()]},
        )

    def _start_vector_search(self) -> Ranking | None:
        """Starts the vector search of a query over all spaces early, so that it runs beside the keyword search."""
        if self.query.spaces is not None or self.model is None or self.ann_policy.exact:
            return None
        indexed = self.ann_policy.index_size(self.connection, self.index.corpus, self.model)
        return self._rank_by_vector(indexed) if indexed > INDEXED_FROM else None

    def _rank_by_vector(self, passages: int) -> Ranking | None:
        if self.model is None or self.query.vector is None or not self.query.vector.any():
            return None
        return nearest(self.connection, self.index.corpus, self.query, self.model, passages, self.ann_policy)

    def _inside(self, alias: str) -> str:
        """SQL condition for the spaces of the query; with one for each joined table, a cluster asks fewer machines."""
        return "" if self.query.spaces is None else f"AND {alias}.space = ANY(:spaces)"

    @property
    def _filter_condition(self) -> str:
        """SQL condition of the query's filter on the item."""
        return f"AND ({self.query.filter.where})" if self.query.filter.where else ""

    def _rows(self, sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        known = {"spaces": list(self.query.spaces or ()), "model": self.model.number if self.model else 0}
        return rows(self.connection, sql, {**self.query.filter.parameters, **known, **values})

    def _filter_numbers(self, numbers: Sequence[int]) -> list[int]:
        """The numbers whose item passes the filter, in the same order."""
        found = self._rows(
            f"SELECT p.number FROM {self.index.corpus}_passages p {self._item_join} "
            f"WHERE p.number = ANY(:numbers) {self._inside('p')} {self._filter_condition}",
            {"numbers": list(numbers)},
        )
        passing = {row[0] for row in found}
        return [number for number in numbers if number in passing]

    @property
    def _item_join(self) -> str:
        return f"JOIN {self.index.corpus} i ON i.space = p.space AND i.id = p.item_id {self._inside('i')}"

    def _load_numbers(self, numbers: Collection[int]) -> dict[int, Candidate]:
        return self._load_candidates("p.number = ANY(:numbers)", {"numbers": list(numbers)}) if numbers else {}

    def _load_candidates(self, chosen: str, values: dict[str, Any]) -> dict[int, Candidate]:
        """Loads the passages that fulfil a condition and pass the filter, by number."""
        fields = [f"p.{field}" for field in self.index.fields]
        columns = [*fields, *(f"i.{column}" for column in self.index.item_columns)]
        corpus = self.index.corpus
        found = self._rows(
            "SELECT p.number, p.id, p.item_id, p.space, p.created_at, halfvec_send(v.vector), v.checksum, "
            f"{', '.join(columns)} FROM {corpus}_passages p {self._item_join} LEFT JOIN {corpus}_vectors v "
            f"ON v.space = p.space AND v.model = :model AND v.hash = p.hash {self._inside('v')} "
            f"WHERE {chosen} {self._inside('p')} {self._filter_condition} ORDER BY p.number",
            values,
        )
        cosines = _cosines([row[5:7] for row in found], self.query.vector)
        start, end = 7, 7 + len(fields)
        return {
            row[0]: Candidate(row[1], row[2], row[3], row[start:end], row[4], cosine, row[end:])
            for row, cosine in zip(found, cosines, strict=True)
        }


def _cosines(sent: Sequence[tuple[bytes | None, int]], asked: Vector | None) -> list[float | None]:
    """Cosines in double precision, rounded as in SQLite; None where a vector is missing or damaged."""
    if asked is None:
        return [None] * len(sent)
    vectors = [None if packed is None else unpack(packed) for packed, _ in sent]
    whole = [
        vector is not None and matches_checksum(vector, sum_) for vector, (_, sum_) in zip(vectors, sent, strict=True)
    ]
    known = [vector for vector, good in zip(vectors, whole, strict=True) if vector is not None and good]
    if not known:
        return [None] * len(sent)
    cosines = iter((np.stack(known).astype(np.float64) @ asked.astype(np.float64)).round(9).tolist())
    return [next(cosines) if good else None for good in whole]

"""The PostgreSQL engine, with pgvector."""

import logging
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from athand.errors import AthandError, StoreError, Unavailable
from athand.store.contract import Index, IndexSource, Passage, PassagesOf, Row, Schema
from athand.store.postgres import counts, embeddings, maintenance, passages
from athand.store.postgres.candidates import PostgresCandidateFinder
from athand.store.postgres.citus import distribute, distributed_tables, find_node_problems
from athand.store.postgres.connections import (
    NODE_SETTINGS,
    READ_SECONDS,
    WRITE_SECONDS,
    ConnectionLost,
    LimitedConnection,
    PostgresConnections,
    begin,
    explain_error,
    read_snapshot,
    roll_back,
)
from athand.store.postgres.planner_statistics import StatisticsPolicy, make_statistics
from athand.store.postgres.scan import scan_passages
from athand.store.postgres.schema import VERSION, list_tables
from athand.store.postgres.sql import execute, execute_many, rows
from athand.store.postgres.vector_index import AnnPolicy, maintain_indexes
from athand.store.postgres.vocabulary import PostgresVocabulary
from athand.store.query_terms import LexiconCache
from athand.store.rebuild import rebuild_in_one_transaction
from athand.store.spelling import find_spellings
from athand.text import text_hash
from athand.types import Candidate, Candidates, Query, Scan, ScanMatch, Vector, Vectors

log = logging.getLogger("athand")

# A write of this many passages is a bulk load: its vector index is built at the end, in a third of the time.
_BULK = 100


class PostgresSnapshot:
    """A read-only transaction: all reads see one state."""

    def __init__(self, connection: LimitedConnection, lexicons: LexiconCache, ann_policy: AnnPolicy) -> None:
        self._connection = connection
        self._lexicons = lexicons
        self._ann_policy = ann_policy
        self._models: dict[tuple[str, str], embeddings.Model | None] = {}

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Runs a portable SELECT with named parameters."""
        return rows(self._connection, sql, _without_nul(parameters))

    def candidates(self, index: Index, query: Query) -> Candidates:
        """The best passages by keyword and by vector that pass the filter."""
        return self._finder(index, query).candidates(self._lexicons)

    def passages_of(self, index: Index, query: Query, item_ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of these items, where they are in the query's spaces and pass its filter."""
        return self._finder(index, query).of_items(item_ids)

    def cosines(
        self, index: Index, query: Query, item_ids: Sequence[str], vectors: Sequence[Vector]
    ) -> dict[tuple[str, str], tuple[float, ...]]:
        """The cosines of the passages of these items in the query's spaces, by space and id: one for each vector."""
        return self._finder(index, query).cosines(item_ids, vectors)

    def scan(self, index: Index, scan: Scan) -> tuple[list[ScanMatch], bool]:
        """Every passage that matches the scan and its filter, and whether vectors could be compared."""
        model = self._model(index.corpus, scan.model_id)
        return scan_passages(self._connection, index, scan, model), model is not None

    def frequencies(self, index: Index, spaces: tuple[str, ...] | None, terms: Sequence[str]) -> dict[str, int]:
        """Document frequency of each known term in the spaces; the key "" has the number of passages."""
        vocabulary = PostgresVocabulary(self._connection, index, spaces, self._lexicons)
        return {**vocabulary.frequencies(terms), "": vocabulary.statistics.passages}

    def cached_vectors(
        self, model_id: str, hashes: Sequence[bytes], spaces: Iterable[str] | None = None
    ) -> dict[bytes, Vector]:
        """The stored vectors of these text hashes, without damaged ones; a cluster is asked only for the spaces."""
        inside = sorted(spaces) if self._connection.is_distributed and spaces is not None else None
        return embeddings.cached_vectors(self._connection, model_id, hashes, inside)

    def fingerprint(self, index: Index) -> str:
        """A hash of all derived data, equal for equal indexes on either engine."""
        return maintenance.fingerprint(self._connection, index)

    def _finder(self, index: Index, query: Query) -> PostgresCandidateFinder:
        return PostgresCandidateFinder(
            self._connection, index, query, self._model(index.corpus, query.model_id), self._ann_policy
        )

    def _model(self, corpus: str, model_id: str | None) -> embeddings.Model | None:
        """The model, if every passage has its vector; cached for the snapshot."""
        if model_id is None:
            return None
        if (corpus, model_id) not in self._models:
            self._models[corpus, model_id] = embeddings.covering_model(self._connection, corpus, model_id)
        return self._models[corpus, model_id]


class PostgresTransaction(PostgresSnapshot):
    """A write transaction."""

    def __init__(self, connection: LimitedConnection, lexicons: LexiconCache, ann_policy: AnnPolicy) -> None:
        super().__init__(connection, lexicons, ann_policy)
        self.to_compact: set[str] = set()
        self.bulk_loaded: set[str] = set()
        self.written: Counter[str] = Counter()  # passages by corpus

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Runs a portable statement and returns how many rows it changed."""
        return execute(self._connection, sql, parameters)

    def execute_many(self, sql: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Runs a portable statement once per parameter set."""
        execute_many(self._connection, sql, parameters)

    def put(self, index: Index, items: Sequence[Passage], vectors: Vectors | None) -> None:
        """Adds passages to the keyword index and, with vectors, to the vector index."""
        if not items:
            return
        embeddings.update_coverage(self._connection, index.corpus, vectors)
        self._models.clear()
        if vectors is not None:
            embeddings.put_vectors(self._connection, index.corpus, items, vectors)
        self.written[index.corpus] += len(items)
        if len(items) >= _BULK:
            self.bulk_loaded.add(index.corpus)
        self._maybe_compact(index, passages.put(self._connection, index, items), items[0].text)

    def remove(self, index: Index, space: str, item_ids: Iterable[str]) -> None:
        """Removes the passages of these items; their vectors stay cached in case the texts come back."""
        changed = passages.remove(self._connection, index, space, ids := list(item_ids))
        self._maybe_compact(index, changed, "".join(ids))

    def _maybe_compact(self, index: Index, changed: int, text: str) -> None:
        """Randomly schedules compaction of the term counts, with p proportional to the rows written."""
        if counts.should_compact(changed, text_hash(text)):
            self.to_compact.add(index.corpus)

    def forget(self, index: Index, items: Sequence[Passage], read_passages: PassagesOf) -> None:
        """Erases what removed passages left behind: cached vectors, and spellings that no other passage has."""
        passages.forget_vectors(self._connection, index.corpus, items)
        for space, terms in passages.forget_words(self._connection, index.corpus, items).items():
            find_items = partial(passages.find_items, self._connection, index.corpus, space)
            passages.spell(self._connection, index.corpus, space, find_spellings(terms, find_items, read_passages))

    def clear(self, index: Index) -> None:
        """Drops all derived data of a corpus, so that its items can be indexed again."""
        maintenance.clear(self._connection, index.corpus)


class PostgresStore:
    """A store on a PostgreSQL server; `exact` compares every vector instead of using an ANN index."""

    def __init__(self, location: str, schemas: Sequence[Schema], *, exact: bool = False) -> None:
        self.schemas = schemas
        self._connections = PostgresConnections(location, schemas)
        self._lexicons = LexiconCache()
        self._ann_policy = AnnPolicy(exact, self._connections.run_async)
        self._bulk_loaded: set[str] = set()
        self._statistics = StatisticsPolicy()

    @property
    def location(self) -> str:
        """The address, without the password."""
        return self._connections.shown

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """Opens a consistent read-only view."""
        with self._connections.borrow(READ_SECONDS) as connection:
            execute(
                connection,
                # A reader that is idle for long, as in a copy, must not be disconnected.
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0",
            )
            try:
                yield PostgresSnapshot(connection, self._lexicons, self._ann_policy)
            finally:
                roll_back(connection)

    @contextmanager
    def transaction(
        self, *, durable: bool = True, spaces: Iterable[str] | None = None, patience: float | None = None
    ) -> Iterator[PostgresTransaction]:
        """Commits at the end, rolls back on any error; `durable` waits for the disk.

        Holds a write lock on the spaces (None: on all of them), so what is read there still holds at the commit.
        """
        limit = WRITE_SECONDS if spaces is None else READ_SECONDS  # a write to all spaces may change every row
        with self._connections.borrow(limit) as connection:
            number = begin(connection, spaces, limit, durable=durable)
            transaction = PostgresTransaction(connection, self._lexicons, self._ann_policy)
            try:
                yield transaction
            except psycopg.OperationalError as error:
                roll_back(connection)
                raise self._explain_lost_write(error) from error
            except BaseException:
                roll_back(connection)
                raise
            self._commit(connection, number)
        self._bulk_loaded |= transaction.bulk_loaded
        for corpus in transaction.to_compact:
            self._compact(corpus)
        for corpus, count in transaction.written.items():
            if self._statistics.note_written(corpus, count):
                self._make_statistics(corpus)

    def rebuild(self, index: Index, source: IndexSource, report: Callable[[int], None]) -> None:
        """Makes the index of a corpus anew in one transaction; the old one answers until then."""
        rebuild_in_one_transaction(self, index, source, report)

    def missing_vectors(self, corpus: str, model_id: str, after: int, limit: int) -> list[tuple[int, str, str]]:
        """Number, space and item id of the next passages after `after` without a vector of this model."""
        with self._connections.borrow() as connection:
            return embeddings.missing_vectors(connection, corpus, model_id, after, limit)

    def add_vectors(self, index: Index, items: Sequence[Passage], vectors: Vectors) -> None:
        """Stores vectors of passages that are indexed already, or soon will be."""
        with self.transaction(durable=False, spaces={each.space for each in items}) as transaction:
            embeddings.put_vectors(transaction._connection, index.corpus, items, vectors)

    def activate_model(self, corpus: str, model_id: str) -> bool:
        """Switches vector search to this model once every passage has its vector; drops those of other models."""
        with self.transaction(durable=False) as transaction:
            if not embeddings.activate_model(transaction._connection, corpus, model_id):
                return False
        self._maintain_indexes(corpus)
        return True

    def counts(self, corpus: str) -> dict[str, int]:
        """Number of passages per space."""
        with self._connections.borrow() as connection:
            sql = f"SELECT space, count(*) FROM {corpus}_passages GROUP BY space ORDER BY space"
            return {space: count for space, count in rows(connection, sql)}

    def erase_traces(self) -> bool:
        """Drops unused vectors and vacuums; the log and the backups of the server are out of our reach."""
        with self.transaction() as transaction:
            maintenance.drop_unused_vectors(transaction._connection)
        with self._connections.connect_without_limit() as connection:
            for table in list_tables(connection):
                execute(connection, f"VACUUM (SKIP_LOCKED) {table}")
        return True

    def items_without_passages(self, corpus: str) -> list[tuple[str, str]]:
        """Space and id of every item that is not in the index; some have nothing that could be found."""
        with self._connections.connect_without_limit() as connection:
            return maintenance.items_without_passages(connection, corpus)

    def check_integrity(self) -> list[str]:
        """Lists every problem of the store; empty if there is none."""
        with self._connections.connect_without_limit() as connection, read_snapshot(connection):
            return [*maintenance.check_integrity(connection), *self._find_node_problems(connection)]

    def _find_node_problems(self, connection: LimitedConnection) -> Iterable[str]:
        return find_node_problems(connection, NODE_SETTINGS) if distributed_tables(connection) else ()

    @contextmanager
    def salvage(self) -> Iterator[tuple["PostgresStore", Sequence[str]]]:
        """Nothing is left out: a server keeps what it cannot read out of its tables."""
        yield self, ()

    def fingerprint(self, index: Index) -> str:
        """The fingerprint of the newest snapshot."""
        with self.snapshot() as snapshot:
            return snapshot.fingerprint(index)

    def size_bytes(self) -> int:
        """The size of all tables and indexes on the server's disk."""
        with self._connections.borrow() as connection:
            return maintenance.size_bytes(connection)

    def facts(self) -> dict[str, str | int]:
        """Engine, its version and the schema version; the log of the server is not counted."""
        with self._connections.borrow() as connection:
            server = connection.info.server_version
        return {"engine": "postgres", "version": f"{server // 10_000}.{server % 10_000}", "schema": VERSION, "log": 0}

    def back_up(self, path: Path, *, force: bool = False) -> None:
        """Refuses: a server is backed up by its own tools, which the error names."""
        raise Unavailable(
            f"{self.location} is on a server, which is copied by its own tools: "
            f"pg_dump --schema=athand --format=custom --file={shlex.quote(str(path))} {shlex.quote(self.location)} "
            f"— or into a file of SQLite: athand store copy {shlex.quote(self.location)} {shlex.quote(str(path))}"
        )

    def distribute(self) -> dict[str, str]:
        """Distributes the tables over a Citus cluster; returns what was done by table."""
        with self._connections.connect_without_limit() as connection:
            return distribute(connection, self.location, NODE_SETTINGS)

    def close(self) -> None:
        """Closes the connections, after merging counts and building indexes for bulk loads."""
        for corpus in self._bulk_loaded:
            self._merge_sums(corpus)
            self._maintain_indexes(corpus)
        self._connections.close()

    def _commit(self, connection: LimitedConnection, number: str) -> None:
        """Commits; if the answer is lost, asks the server whether the commit took place."""
        try:
            done = connection.execute("COMMIT").statusmessage
        except psycopg.OperationalError as error:
            start = connection.start
            connection.close()  # libpq may still take it for busy, and then the pool could not take it back
            if not self._connections.was_committed(number, start):
                raise ConnectionLost(
                    f"{self.location} went away during a write. Nothing of it was kept; try again."
                ) from error
        else:
            if done != "COMMIT":  # an error in it was caught by the caller
                raise StoreError(f"{self.location} refused a part of the write, so nothing of it was kept.")

    def _explain_lost_write(self, error: psycopg.OperationalError) -> AthandError:
        """The error for a failure before the commit: nothing was written."""
        explained = explain_error(error, self.location)
        return (
            ConnectionLost(f"{explained} Nothing of this write was kept.")
            if isinstance(explained, ConnectionLost)
            else explained
        )

    def _compact(self, corpus: str) -> None:
        """Compacts the term counts after a write; a failure is only logged, as a later write compacts again."""
        try:
            with self.transaction(durable=False, spaces=()) as transaction:
                counts.compact(transaction._connection, corpus)
        except StoreError as error:
            log.warning("The term counts of %s were not compacted: %s", corpus, error)
        self._connections.start(lambda: self._maintain_indexes(corpus))  # building an index takes a while

    def _make_statistics(self, corpus: str) -> None:
        """Makes the planner's statistics after bulk writes; a failure is only logged: searches would only be slower."""
        [schema] = (each for each in self.schemas if each.index.corpus == corpus)
        try:
            with self._connections.borrow(WRITE_SECONDS) as connection:
                self._statistics.note_made(corpus, make_statistics(connection, schema))
        except StoreError as error:
            log.warning("The server has no statistics of %s yet, so searches may be slow: %s", corpus, error)

    def _merge_sums(self, corpus: str) -> None:
        """Merges the term counts after bulk loads; a failure is only logged."""
        try:
            with self.transaction(durable=False) as transaction:
                counts.merge_sums(transaction._connection, corpus)
        except StoreError as error:
            log.warning("The term counts of %s were not merged: %s", corpus, error)

    def _maintain_indexes(self, corpus: str) -> None:
        """Builds missing vector indexes; a failure is only logged: searches without them are slower, not different."""
        try:
            with self._connections.connect_without_limit() as connection:
                maintain_indexes(connection, corpus)
        except StoreError as error:
            log.warning("The vectors of %s are not indexed: %s", corpus, error)


def _without_nul(parameters: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Replaces NUL characters, which PostgreSQL cannot store: a search for one finds nothing and is no error."""
    if not parameters or not any(isinstance(each, str) and "\0" in each for each in parameters.values()):
        return parameters
    return {name: each.replace("\0", "\ufffd") if isinstance(each, str) else each for name, each in parameters.items()}

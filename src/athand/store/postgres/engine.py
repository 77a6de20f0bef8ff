"""PostgreSQL with pgvector: many machines, one store."""

import logging
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from athand.errors import AthandError, StoreError, Unavailable
from athand.store.contract import Index, Passage, Row
from athand.store.postgres import counts, embeddings, maintenance, passages
from athand.store.postgres.candidates import CandidateFinder
from athand.store.postgres.connections import (
    READING,
    WRITING,
    ConnectionLost,
    Connections,
    LimitedConnection,
    begin,
    explain_error,
    read_snapshot,
    roll_back,
)
from athand.store.postgres.maintenance import distribute
from athand.store.postgres.scan import scan_passages
from athand.store.postgres.schema import VERSION
from athand.store.postgres.sql import Connection, execute, execute_many, rows
from athand.store.postgres.vector_index import AnnPolicy, maintain_indexes
from athand.store.postgres.vocabulary import SpaceVocabulary, VocabularyCache
from athand.text import text_hash
from athand.types import Candidate, Candidates, Query, Scan, ScanMatch, Vector, Vectors

log = logging.getLogger("athand")

# Who puts so many passages at once will put more: their index is made at the end, when it takes a third of the time.
_MANY = 100


class PostgresSnapshot:
    """A read transaction: everything in it is of one moment."""

    def __init__(self, connection: Connection, remembered: VocabularyCache, ann_policy: AnnPolicy) -> None:
        self._connection = connection
        self._remembered = remembered
        self._ann_policy = ann_policy
        self._models: dict[tuple[str, str], embeddings.Model | None] = {}

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """The rows of a portable SELECT with named parameters."""
        return rows(self._connection, sql, _without_nul(parameters))

    def candidates(self, index: Index, query: Query) -> Candidates:
        """Passages that may answer, filters applied."""
        return self._finder(index, query).candidates(self._remembered)

    def passages_of(self, index: Index, query: Query, item_ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of these items, where they are in the query's spaces and pass its filter."""
        return self._finder(index, query).of_items(item_ids)

    def scan(self, index: Index, scan: Scan) -> tuple[list[ScanMatch], bool]:
        """Every passage that a scan is after, and whether vectors could be compared; filters applied."""
        model = self._model(index.corpus, scan.model_id)
        return scan_passages(self._connection, index, scan, model), model is not None

    def frequencies(self, index: Index, spaces: tuple[str, ...] | None, terms: Sequence[str]) -> dict[str, int]:
        """In how many passages of the spaces each known term is; under an empty term, how many passages there are."""
        vocabulary = SpaceVocabulary(self._connection, index, spaces, self._remembered)
        return {**vocabulary.frequencies(terms), "": vocabulary.statistics.passages}

    def cached_vectors(self, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors already known for these texts; damaged ones are left out."""
        return embeddings.cached_vectors(self._connection, model_id, hashes)

    def fingerprint(self, index: Index) -> str:
        """A hash of everything that is derived: equal when two indexes hold the same."""
        return maintenance.fingerprint(self._connection, index)

    def _finder(self, index: Index, query: Query) -> CandidateFinder:
        return CandidateFinder(
            self._connection, index, query, self._model(index.corpus, query.model_id), self._ann_policy
        )

    def _model(self, corpus: str, model_id: str | None) -> embeddings.Model | None:
        """The model if it covers the corpus, looked up once."""
        if model_id is None:
            return None
        if (corpus, model_id) not in self._models:
            self._models[corpus, model_id] = embeddings.covering_model(self._connection, corpus, model_id)
        return self._models[corpus, model_id]


class PostgresTransaction(PostgresSnapshot):
    """A write transaction."""

    def __init__(self, connection: Connection, remembered: VocabularyCache, ann_policy: AnnPolicy) -> None:
        super().__init__(connection, remembered, ann_policy)
        self.to_compact: set[str] = set()
        self.loaded: set[str] = set()

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Run a portable statement; how many rows it changed."""
        return execute(self._connection, sql, parameters)

    def execute_many(self, sql: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Run a portable statement once for each of these."""
        execute_many(self._connection, sql, parameters)

    def put(self, index: Index, items: Sequence[Passage], vectors: Vectors | None) -> None:
        """Index these passages by word and by vector."""
        if not items:
            return
        embeddings.update_coverage(self._connection, index.corpus, vectors)
        self._models.clear()
        if vectors is not None:
            embeddings.put_vectors(self._connection, index.corpus, items, vectors)
        if len(items) >= _MANY:
            self.loaded.add(index.corpus)
        self._maybe_compact(index, passages.put(self._connection, index, items), items[0].text)

    def remove(self, index: Index, space: str, item_ids: Iterable[str]) -> None:
        """Take these items out of the index; their vectors stay known, in case the texts come back."""
        changed = passages.remove(self._connection, index, space, ids := list(item_ids))
        self._maybe_compact(index, changed, "".join(ids))

    def _maybe_compact(self, index: Index, changed: int, text: str) -> None:
        """Fold the counts after this write, if chance says so."""
        if counts.should_compact(changed, text_hash(text)):
            self.to_compact.add(index.corpus)

    def forget(self, index: Index, passage: Passage) -> None:
        """Leave no trace of a removed passage: neither its vector nor how its words were written."""
        passages.forget(self._connection, index.corpus, passage)

    def clear(self, index: Index) -> None:
        """Drop all that is derived from the items of a corpus, to index them again."""
        maintenance.clear(self._connection, index.corpus)


class PostgresStore:
    """The engine for many users; `exact` compares every vector instead of asking an index."""

    def __init__(self, location: str, *, exact: bool = False) -> None:
        self._connections = Connections(location)
        self._remembered = VocabularyCache()
        self._ann_policy = AnnPolicy(exact, self._connections.run_async)
        self._loaded: set[str] = set()

    @property
    def location(self) -> str:
        """The address, without the password."""
        return self._connections.shown

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """One consistent view of the store."""
        with self._connections.borrow(READING) as connection:
            execute(
                connection,
                # A reader that is busy elsewhere, as in a copy, holds nobody up.
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0",
            )
            try:
                yield PostgresSnapshot(connection, self._remembered, self._ann_policy)
            finally:
                roll_back(connection)

    @contextmanager
    def transaction(
        self, *, durable: bool = True, spaces: Iterable[str] | None = None
    ) -> Iterator[PostgresTransaction]:
        """Commit at the end, roll back on any error; `durable` waits until the disk has it.

        Nobody else writes in the spaces meanwhile: what is read there still holds when it is written. None: in any.
        """
        limit = WRITING if spaces is None else READING  # what is about all spaces may be about all that there is
        with self._connections.borrow(limit) as connection:
            number = begin(connection, spaces, limit, durable=durable)
            transaction = PostgresTransaction(connection, self._remembered, self._ann_policy)
            try:
                yield transaction
            except psycopg.OperationalError as error:
                roll_back(connection)
                raise self._explain_lost_write(error) from error
            except BaseException:
                roll_back(connection)
                raise
            self._commit(connection, number)
        self._loaded |= transaction.loaded
        for corpus in transaction.to_compact:
            self._compact(corpus)

    def missing_vectors(self, corpus: str, model_id: str, after: int, limit: int) -> list[tuple[int, str, str]]:
        """Number, space and item id of the next passages that have no vector of this model yet."""
        with self._connections.borrow() as connection:
            return embeddings.missing_vectors(connection, corpus, model_id, after, limit)

    def add_vectors(self, index: Index, items: Sequence[Passage], vectors: Vectors) -> None:
        """Keep vectors of passages that are there already, or soon will be."""
        with self.transaction(durable=False, spaces={each.space for each in items}) as transaction:
            embeddings.put_vectors(transaction._connection, index.corpus, items, vectors)

    def activate_model(self, corpus: str, model_id: str) -> bool:
        """Search by this model's vectors from now on, if no passage is without one; drop those of other models."""
        with self.transaction(durable=False) as transaction:
            if not embeddings.activate_model(transaction._connection, corpus, model_id):
                return False
        self._maintain_indexes(corpus)
        return True

    def counts(self, corpus: str) -> dict[str, int]:
        """Passages per space."""
        with self._connections.borrow() as connection:
            sql = f"SELECT space, count(*) FROM {corpus}_passages GROUP BY space ORDER BY space"
            return {space: count for space, count in rows(connection, sql)}

    def erase_traces(self) -> bool:
        """Let the server reuse the room of deleted rows. What its log and its backups keep is not ours to erase."""
        with self.transaction() as transaction:
            maintenance.drop_unused_vectors(transaction._connection)
        with self._connections.connect_unlimited() as connection:
            for table in maintenance.tables(connection):
                execute(connection, f"VACUUM (SKIP_LOCKED) {table}")
        return True

    def check_integrity(self) -> list[str]:
        """Everything that is wrong with the store; empty when all is well."""
        with self._connections.connect_unlimited() as connection, read_snapshot(connection):
            return maintenance.check_integrity(connection)

    def fingerprint(self, index: Index) -> str:
        """The fingerprint of the newest snapshot."""
        with self.snapshot() as snapshot:
            return snapshot.fingerprint(index)

    def size_bytes(self) -> int:
        """All tables and indexes, as they are on the server's disk."""
        with self._connections.borrow() as connection:
            return maintenance.size_bytes(connection)

    def facts(self) -> dict[str, str | int]:
        """The engine, its version, the version of the schema; its log is the server's own affair."""
        with self._connections.borrow() as connection:
            server = connection.info.server_version
        return {"engine": "postgres", "version": f"{server // 10_000}.{server % 10_000}", "schema": VERSION, "log": 0}

    def back_up(self, path: Path, *, force: bool = False) -> None:
        """A server has tools of its own for that."""
        raise Unavailable(
            f"{self.location} is on a server, which is copied by its own tools: "
            f"pg_dump --schema=athand --format=custom --file={shlex.quote(str(path))} {shlex.quote(self.location)} "
            f"— or into a file of SQLite: athand store copy {shlex.quote(self.location)} {shlex.quote(str(path))}"
        )

    def distribute(self) -> dict[str, str]:
        """Spread the tables over the machines of a Citus cluster; what was done, by table."""
        with self._connections.connect_unlimited() as connection:
            return distribute(connection, self.location)

    def close(self) -> None:
        """Let go of the server, after tidying up behind many new passages."""
        for corpus in self._loaded:
            self._merge_sums(corpus)
            self._maintain_indexes(corpus)
        self._connections.close()

    def _commit(self, connection: LimitedConnection, number: str) -> None:
        """Commit; where the answer is lost, find out whether it took place."""
        try:
            done = connection.execute("COMMIT").statusmessage
        except psycopg.OperationalError as error:
            if not self._connections.was_committed(number, connection.start):
                raise ConnectionLost(
                    f"{self.location} went away during a write. Nothing of it was kept; try again."
                ) from error
        else:
            if done != "COMMIT":  # an error in it was caught by the caller
                raise StoreError(f"{self.location} refused a part of the write, so nothing of it was kept.")

    def _explain_lost_write(self, error: psycopg.OperationalError) -> AthandError:
        """A connection that breaks before the commit takes all of the write with it."""
        explained = explain_error(error, self.location)
        return (
            ConnectionLost(f"{explained} Nothing of this write was kept.")
            if isinstance(explained, ConnectionLost)
            else explained
        )

    def _compact(self, corpus: str) -> None:
        """Fold the counts; the write before it is kept, whatever happens here, and a later one folds again."""
        try:
            with self.transaction(durable=False, spaces=()) as transaction:
                counts.compact(transaction._connection, corpus)
        except StoreError as error:
            log.warning("The counts of %s were not folded: %s", corpus, error)
        self._connections.start(lambda: self._maintain_indexes(corpus))  # building an index takes a while

    def _merge_sums(self, corpus: str) -> None:
        """Sum up what many writes of many passages have counted."""
        try:
            with self.transaction(durable=False) as transaction:
                counts.merge_sums(transaction._connection, corpus)
        except StoreError as error:
            log.warning("The counts of %s were not summed up: %s", corpus, error)

    def _maintain_indexes(self, corpus: str) -> None:
        """Make the indexes that are missing; without them a search is slower, not different."""
        try:
            with self._connections.connect_unlimited() as connection:
                maintain_indexes(connection, corpus)
        except StoreError as error:
            log.warning("The vectors of %s are not indexed: %s", corpus, error)


def _without_nul(parameters: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """PostgreSQL's text has no NUL, so nothing with one can be found; asking must still be possible."""
    if not parameters or not any(isinstance(each, str) and "\0" in each for each in parameters.values()):
        return parameters
    return {name: each.replace("\0", "\ufffd") if isinstance(each, str) else each for name, each in parameters.items()}

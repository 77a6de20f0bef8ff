"""The SQLite engine: one file for many threads and processes."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from athand.errors import DataError, StoreBusy, StoreError, Unavailable
from athand.store.contract import Index, IndexSource, Passage, PassagesOf, Row, Schema
from athand.store.rebuild import rebuild_in_one_transaction
from athand.store.spelling import find_spellings
from athand.store.sqlite import backup, embeddings, maintenance, passages
from athand.store.sqlite.candidates import SqliteCandidateFinder, cosines_of, passages_of
from athand.store.sqlite.connections import BUSY_SECONDS, MEMORY, SqliteConnections, begin_write, empty_log
from athand.store.sqlite.damage import delete_damaged_rows, find_damaged_rows
from athand.store.sqlite.matrix import MatrixView, VectorMatrix
from athand.store.sqlite.matrix_files import BLOCK
from athand.store.sqlite.rebuild import NewIndex, index_file
from athand.store.sqlite.scan import scan_passages
from athand.store.sqlite.schema import VERSION
from athand.store.sqlite.sql import rows
from athand.types import Candidate, Candidates, Query, Scan, ScanMatch, Vector, Vectors

log = logging.getLogger("athand")
_LARGE = 100_000_000  # bytes of a database that takes more than a moment to write anew
Matrices = Callable[[apsw.Connection, str, str | None], MatrixView | None]


class SqliteSnapshot:
    """A read-only transaction: all reads see one state."""

    def __init__(self, connection: apsw.Connection, matrices: Matrices, finder: SqliteCandidateFinder) -> None:
        self._connection = connection
        self._matrices = matrices
        self._finder = finder
        self._views: dict[tuple[str, str | None], MatrixView | None] = {}

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Runs a portable SELECT with named parameters."""
        return rows(self._connection, sql, parameters or {})

    def candidates(self, index: Index, query: Query) -> Candidates:
        """The best passages by keyword and by vector that pass the filter."""
        return self._finder.find(self._connection, index, query, self._view(index.corpus, query.model_id))

    def passages_of(self, index: Index, query: Query, item_ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of these items, where they are in the query's spaces and pass its filter."""
        return passages_of(self._connection, index, query, self._view(index.corpus, query.model_id), item_ids)

    def cosines(
        self, index: Index, query: Query, item_ids: Sequence[str], vectors: Sequence[Vector]
    ) -> dict[tuple[str, str], tuple[float, ...]]:
        """The cosines of the passages of these items in the query's spaces, by space and id: one for each vector."""
        view = self._view(index.corpus, query.model_id)
        return {} if view is None else cosines_of(self._connection, index, query, view, item_ids, vectors)

    def scan(self, index: Index, scan: Scan) -> tuple[list[ScanMatch], bool]:
        """Every passage that matches the scan and its filter, and whether vectors could be compared."""
        view = self._view(index.corpus, scan.model_id)
        return scan_passages(self._connection, index, scan, view), view is not None

    def frequencies(self, index: Index, spaces: tuple[str, ...] | None, terms: Sequence[str]) -> dict[str, int]:
        """Document frequency of each known term in the spaces; the key "" has the number of passages."""
        return self._finder.frequencies(self._connection, index, spaces, terms)

    def _view(self, corpus: str, model_id: str | None) -> MatrixView | None:
        """The vectors at this snapshot, refreshed once."""
        if (corpus, model_id) not in self._views:
            self._views[corpus, model_id] = self._matrices(self._connection, corpus, model_id)
        return self._views[corpus, model_id]

    def cached_vectors(
        self, model_id: str, hashes: Sequence[bytes], spaces: Iterable[str] | None = None
    ) -> dict[bytes, Vector]:
        """The stored vectors of these text hashes; damaged ones are left out."""
        return embeddings.cached_vectors(self._connection, model_id, hashes)

    def fingerprint(self, index: Index) -> str:
        """A hash of all derived data, equal for equal indexes on either engine."""
        return maintenance.fingerprint(self._connection, index)


class SqliteTransaction(SqliteSnapshot):
    """A write transaction."""

    def __init__(self, connection: apsw.Connection, matrices: Matrices, finder: SqliteCandidateFinder) -> None:
        super().__init__(connection, matrices, finder)
        self.removed: list[tuple[str, int]] = []
        self.added: Counter[tuple[str, str]] = Counter()

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Runs a portable statement and returns how many rows it changed."""
        rows(self._connection, sql, parameters or {})
        return self._connection.changes()

    def execute_many(self, sql: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Runs a portable statement once per parameter set."""
        self._connection.executemany(sql, parameters)

    def put(self, index: Index, items: Sequence[Passage], vectors: Vectors | None) -> None:
        """Adds passages to the keyword index and, with vectors, to the vector index."""
        if not items:
            return
        passages.put(self._connection, index, items)
        if vectors is not None:
            embeddings.put_vectors(self._connection, vectors)
            self.added[index.corpus, vectors.model_id] += len(items)
        embeddings.update_coverage(self._connection, index.corpus, vectors)

    def remove(self, index: Index, space: str, item_ids: Iterable[str]) -> None:
        """Removes the passages of these items; their vectors stay cached in case the texts come back."""
        numbers = passages.remove(self._connection, index, space, item_ids)
        self.removed += [(index.corpus, number) for number in numbers]

    def forget(self, index: Index, items: Sequence[Passage], read_passages: PassagesOf) -> None:
        """Erases what removed passages left behind: cached vectors, and spellings that no other passage has."""
        passages.forget_vectors(self._connection, maintenance.corpora(self._connection), items)
        for space, terms in passages.forget_words(self._connection, index, items).items():
            find_items = partial(passages.find_items, self._connection, index, space)
            passages.spell(self._connection, space, find_spellings(terms, find_items, read_passages))

    def clear(self, index: Index) -> None:
        """Drops all derived data of a corpus, so that its items can be indexed again."""
        maintenance.clear(self._connection, index)


class SqliteStore:
    """A store in a SQLite file, or in memory."""

    def __init__(self, location: str, schemas: Sequence[Schema], vfs: str | None = None) -> None:
        self.schemas = schemas
        self.location = location if location == MEMORY else str(Path(location).expanduser().absolute())
        self._connections = SqliteConnections(self.location, schemas, vfs)
        self._writing = threading.Lock()
        self._matrices: dict[tuple[str, int, int], VectorMatrix] = {}
        self._matrices_lock = threading.Lock()
        self._unsaved: set[VectorMatrix] = set()  # those with full blocks that are not in the files yet
        self._finder = SqliteCandidateFinder()
        self._added: Counter[tuple[str, str]] = Counter()
        on_disk = self.location != MEMORY and vfs is None and not self._connections.read_only
        self._folder = Path(f"{self.location}-vectors") if on_disk else None

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """Opens a consistent read-only view."""
        with self._connections.borrow() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteSnapshot(connection, self._view, self._finder)
            finally:
                if connection.in_transaction:  # an I/O error has ended it already
                    connection.execute("ROLLBACK")
            self._save_matrices(connection)

    @contextmanager
    def transaction(
        self, *, durable: bool = True, spaces: Iterable[str] | None = None, patience: float | None = None
    ) -> Iterator[SqliteTransaction]:
        """Commits at the end, rolls back on any error. SQLite has one writer at a time, whatever the spaces."""
        with self._write_lock(patience), self._connections.borrow() as connection:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            begin_write(connection, patience)
            transaction = SqliteTransaction(connection, self._view, self._finder)
            try:
                yield transaction
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._update_files(connection, transaction)

    def rebuild(self, index: Index, source: IndexSource, report: Callable[[int], None]) -> None:
        """Makes the index of a corpus anew beside the old one, which answers; others can write meanwhile."""
        if self._folder is None:  # in memory there is one connection for all
            return rebuild_in_one_transaction(self, index, source, report)
        location = Path(self.location)
        with (
            index_file(location) as path,
            self._connections.open_beside(path) as connection,
            self._connections.borrow() as reader,
        ):
            # Not in a transaction: each read sees the newest state, and no reader holds up the log.
            newest = SqliteSnapshot(reader, self._view, self._finder)
            new = NewIndex(connection, index, source)
            new.fill(newest, report)
            with self._write_lock():
                new.replace_old(newest)

    def missing_vectors(self, corpus: str, model_id: str, after: int, limit: int) -> list[tuple[int, str, str]]:
        """Number, space and item id of the next passages after `after` without a vector of this model."""
        with self._connections.borrow() as connection:
            return embeddings.missing_vectors(connection, corpus, model_id, after, limit)

    def add_vectors(self, index: Index, items: Sequence[Passage], vectors: Vectors) -> None:
        """Stores vectors of passages that are indexed already, or soon will be."""
        with self.transaction(durable=False) as transaction:
            embeddings.put_vectors(transaction._connection, vectors)

    def activate_model(self, corpus: str, model_id: str) -> bool:
        """Switches vector search to this model once every passage has its vector; drops those of other models."""
        with self.transaction(durable=False) as transaction:
            if not embeddings.activate_model(transaction._connection, corpus, model_id):
                return False
            models = transaction.rows(f"SELECT number, {embeddings.DIMENSIONS}, model_id FROM models")
        for number, dimensions, other in models:
            if other != model_id:
                self._matrix(corpus, number, dimensions).discard()
        return True

    def counts(self, corpus: str) -> dict[str, int]:
        """Number of passages per space."""
        with self._connections.borrow() as connection:
            sql = "SELECT space, passages FROM spaces WHERE corpus = ? AND space <> '' AND passages > 0 ORDER BY space"
            return {space: int(count) for space, count in rows(connection, sql, (corpus,))}

    def erase_traces(self) -> bool:
        """Rewrites the database and empties the log, so that deleted text is nowhere on disk; False if others read it.

        Only VACUUM is enough: a page split leaves copies of moved rows in the gaps.
        """
        try:
            with self._write_lock(), self._borrow_for_long() as connection:
                maintenance.drop_unused_vectors(connection)
                maintenance.merge_words(connection)
                if (size := self.size_bytes()) > _LARGE:
                    log.warning(
                        "%s is written anew (%s MB), so that no trace of what was deleted stays. Others can read it "
                        "meanwhile, not write.",
                        self.location,
                        f"{size // 1_000_000:,}",
                    )
                connection.execute("VACUUM")
                return empty_log(connection)
        except StoreBusy:
            return False
        except DataError:
            raise
        except StoreError as error:
            raise StoreError(
                f"What was deleted is in no answer any more, but traces of it stay on the disk: {self.location} "
                f"could not be written anew: the disk may be full, {2 * self.size_bytes():,} bytes must be free. "
                "Make room, then run: athand reindex"
            ) from error

    def items_without_passages(self, corpus: str) -> list[tuple[str, str]]:
        """Space and id of every item that is not in the index; some have nothing that could be found."""
        with self._connections.borrow() as connection:
            return maintenance.items_without_passages(connection, corpus)

    def check_integrity(self) -> list[str]:
        """Lists every problem of the store; empty if there is none."""
        with self._borrow_for_long() as connection:
            return maintenance.check_integrity(connection, self.schemas)

    @contextmanager
    def salvage(self) -> Iterator[tuple["SqliteStore", Sequence[str]]]:
        """A store in which every row can be read: this one, or a copy without damaged rows, and which these are."""
        with self._borrow_for_long() as connection:
            damaged = find_damaged_rows(connection, self.schemas)
        if self._folder is None or all(row.is_derived for row in damaged):
            yield self, ()
            return
        with index_file(Path(self.location)) as path:
            with self._borrow_for_long() as connection:
                backup.copy_pages(connection, path)
            left_out = delete_damaged_rows(path, self.schemas)
            with closing(SqliteStore(str(path), self.schemas)) as store:
                yield store, left_out

    def fingerprint(self, index: Index) -> str:
        """The fingerprint of the newest snapshot."""
        with self.snapshot() as snapshot:
            return snapshot.fingerprint(index)

    def size_bytes(self) -> int:
        """The size of the database and its log on disk."""
        files = [Path(self.location), Path(f"{self.location}-wal")]
        return sum(file.stat().st_size for file in files if file.is_file())

    def facts(self) -> dict[str, str | int]:
        """Engine, its version, schema version, and the bytes of the log."""
        log = Path(f"{self.location}-wal")
        size = log.stat().st_size if log.is_file() else 0
        return {"engine": "sqlite", "version": apsw.sqlite_lib_version(), "schema": VERSION, "log": size}

    def back_up(self, path: Path, *, force: bool = False) -> None:
        """Copies a snapshot to a file and verifies it, while others read and write."""
        with self._borrow_for_long() as connection:
            backup.back_up(connection, path, force=force)

    def distribute(self) -> dict[str, str]:
        """Refuses: a file stays on one machine."""
        raise Unavailable(
            f"{self.location} is a file and stays on one machine. Copy it to a server first: "
            f"athand store copy {self.location} postgresql://user@host/database"
        )

    def close(self) -> None:
        """Stops the threads and closes the file."""
        self._finder.close()
        self._connections.close()

    @contextmanager
    def _write_lock(self, patience: float | None = None) -> Iterator[None]:
        """One thread of this process writes at a time; the others wait as they wait for other processes."""
        seconds = BUSY_SECONDS if patience is None else patience
        if not self._writing.acquire(timeout=seconds):
            raise StoreBusy(f"{self.location} is in use: this process has been writing for {seconds} s. Try again.")
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def _borrow_for_long(self) -> Iterator[apsw.Connection]:
        """A connection for work that takes long, which ends when the store is closed."""
        with self._connections.borrow() as connection, self._connections.takes_long(connection):
            yield connection

    def _view(self, connection: apsw.Connection, corpus: str, model_id: str | None) -> MatrixView | None:
        """The vectors of a corpus and model, or None while some passages have none."""
        model = embeddings.covering_model(connection, corpus, model_id) if model_id else None
        if model is None:
            return None
        matrix = self._matrix(corpus, *model)
        view = matrix.refresh(connection)
        if matrix.has_unsaved_blocks:
            self._unsaved.add(matrix)
        return view

    def _matrix(self, corpus: str, model: int, dimensions: int) -> VectorMatrix:
        with self._matrices_lock:
            fresh = VectorMatrix(self._folder, corpus, model, dimensions)
            return self._matrices.setdefault((corpus, model, dimensions), fresh)

    def _update_files(self, connection: apsw.Connection, transaction: SqliteTransaction) -> None:
        """Updates the vector files after a commit."""
        try:
            self._wipe(connection, transaction.removed)
            self._flush(connection, transaction.added)
        except OSError as error:
            raise StoreError(
                f"The change was made, but the files in {self._folder} cannot be written ({error.strerror}). "
                "Delete that folder; it is made again."
            ) from error

    def _wipe(self, connection: apsw.Connection, removed: Sequence[tuple[str, int]]) -> None:
        """Overwrites removed vectors with zeros in memory and in the files: they may be derived from secrets."""
        for corpus in {corpus for corpus, _ in removed}:
            numbers = [number for owner, number in removed if owner == corpus]
            for model, dimensions in rows(connection, f"SELECT number, {embeddings.DIMENSIONS} FROM models"):
                self._matrix(corpus, model, dimensions).erase(numbers)

    def _flush(self, connection: apsw.Connection, added: Counter[tuple[str, str]]) -> None:
        """Writes new vectors to the files once they fill a block, for the next process."""
        self._added += added
        for corpus, model_id in [key for key, count in self._added.items() if count >= BLOCK]:
            self._view(connection, corpus, model_id)
            self._save_matrices(connection)
            del self._added[corpus, model_id]

    def _save_matrices(self, connection: apsw.Connection) -> None:
        """Writes full blocks to the files; matrices without any are not visited."""
        while self._unsaved:
            try:
                matrix = self._unsaved.pop()
            except KeyError:  # another thread was faster
                return
            matrix.save(connection)

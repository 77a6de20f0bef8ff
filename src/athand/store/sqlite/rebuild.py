"""Builds the index of a corpus anew in a file of its own, and puts it in place of the old one in one short write."""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from athand.errors import StoreError
from athand.files import create_private
from athand.store.contract import Index, IndexSource, Passage, Snapshot
from athand.store.sqlite import embeddings, passages
from athand.store.sqlite.sql import rows, value
from athand.types import Vectors

_BATCH = 512  # items that are indexed again together
_RESERVED = 1 << 20  # numbers of passages that others may give meanwhile


@contextmanager
def index_file(location: Path) -> Iterator[Path]:
    """A private file beside the store, deleted in the end."""
    path = location.with_name(f".{location.name}.unfinished-{os.getpid()}-{threading.get_ident()}")
    try:
        create_private(path)
    except OSError as error:
        raise StoreError(f"The new index cannot be written beside {location} ({error.strerror}).") from error
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


class NewIndex:
    """The index of a corpus in a file of its own, filled while others write to the store.

    Its connection has that file as `main` and the store as `store`. What others change meanwhile is seen by the
    numbers of passages, which only grow, and by items that have no passages any more.
    """

    def __init__(self, connection: apsw.Connection, index: Index, source: IndexSource) -> None:
        self._connection, self._index, self._source = connection, index, source
        self._table = f"{index.corpus}_passages"
        self._last = self._last_number()
        self._vectors: Vectors | None = None
        self._create_tables()

    def fill(self, snapshot: Snapshot, report: Callable[[int], None]) -> None:
        """Indexes everything that is in the store; `report` hears how many passages are done."""
        done = 0
        for batch in self._source.all_passages(snapshot):
            self._put([each for each in batch if not self._has(each)], snapshot)
            done += len(batch)
            report(done)
        self._catch_up(snapshot)

    def replace_old(self, snapshot: Snapshot) -> None:
        """Takes the place of the old index. The store is locked meanwhile: rows are copied, hardly any is made."""
        self._connection.execute("BEGIN; UPDATE store.settings SET value = value WHERE 0").fetchall()
        try:
            self._catch_up(snapshot)
            self._copy_tables()
            self._copy_statistics()
            self._renew_coverage()
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _create_tables(self) -> None:
        """The tables of the index as they are in the store, and two that are needed to follow changes."""
        self._connection.execute(
            "PRAGMA main.journal_mode = MEMORY; PRAGMA main.synchronous = OFF; PRAGMA main.cache_size = -64000"
        ).fetchall()
        corpus = self._index.corpus
        found = rows(
            self._connection,
            "SELECT sql FROM store.sqlite_schema WHERE sql IS NOT NULL "
            "AND (name IN ('spaces', 'vocabulary', ?1 || '_words', ?1 || '_literals') OR tbl_name = ?1 || '_passages') "
            "ORDER BY rowid",
            (corpus,),
        )
        for (sql,) in found:
            self._connection.execute(sql)
        self._connection.execute(
            "INSERT INTO main.sqlite_sequence VALUES (?, ?)", (self._table, self._last + _RESERVED)
        )
        if self._index.texts:  # what is in the index of literal texts: needed to take it out again
            self._connection.execute(
                f"CREATE TABLE main.{self._index.texts} (space, id, content, PRIMARY KEY (space, id))"
            )
        self._connection.execute(
            f"CREATE TABLE main.had_none AS SELECT i.space, i.id FROM store.{corpus} i WHERE NOT EXISTS "
            f"(SELECT 1 FROM store.{self._table} p JOIN store.spaces s ON s.number = p.space "
            "WHERE s.corpus = ? AND s.space = i.space AND p.item_id = i.id); "
            "CREATE INDEX main.had_none_by_id ON had_none (space, id)",
            (corpus,),
        ).fetchall()

    def _catch_up(self, snapshot: Snapshot) -> None:
        """Indexes again what was changed in the store since the last time, and drops what was deleted there."""
        last = self._last_number()
        changed = self._changed_items()
        for start in range(0, len(changed), _BATCH):
            items = changed[start : start + _BATCH]
            gone: dict[str, list[str]] = defaultdict(list)
            for space, item_id in items:
                gone[space].append(item_id)
            with self._connection:
                for space, ids in gone.items():
                    passages.remove(self._connection, self._index, space, ids)
            self._put(self._source.passages_of(snapshot, items), snapshot)
        self._last = last

    def _changed_items(self) -> list[tuple[str, str]]:
        """Space and id of the items with newer passages, and of those that have none any more."""
        found = rows(
            self._connection,
            f"SELECT s.space, p.item_id FROM store.{self._table} p JOIN store.spaces s ON s.number = p.space "
            f"WHERE p.number > ? UNION SELECT s.space, p.item_id FROM main.{self._table} p "
            "JOIN main.spaces s ON s.number = p.space WHERE NOT EXISTS "
            f"(SELECT 1 FROM store.{self._table} o WHERE o.space = p.space AND o.item_id = p.item_id) AND NOT (EXISTS "
            "(SELECT 1 FROM main.had_none h WHERE h.space = s.space AND h.id = p.item_id) AND EXISTS "
            f"(SELECT 1 FROM store.{self._index.corpus} i WHERE i.space = s.space AND i.id = p.item_id "
            "AND NOT i.is_deleted))",
            (self._last,),
        )
        return [(space, item_id) for space, item_id in found]

    def _last_number(self) -> int:
        return value(self._connection, "SELECT seq FROM store.sqlite_sequence WHERE name = ?", (self._table,)) or 0

    def _has(self, passage: Passage) -> bool:
        """Whether the passage is there already: its item was changed between two reads, and is indexed again later."""
        place = "(SELECT number FROM main.spaces WHERE corpus = ? AND space = ?)"
        sql = f"SELECT 1 FROM main.{self._table} WHERE space = {place} AND id = ?"
        return bool(value(self._connection, sql, (self._index.corpus, passage.space, passage.id)))

    def _put(self, items: Sequence[Passage], snapshot: Snapshot) -> None:
        if not items:
            return
        self._add_spaces({each.space for each in items})
        vectors = self._source.embed(items, snapshot)
        if vectors is not None:
            self._vectors = vectors
            embeddings.put_changed_vectors(self._connection, vectors)
        with self._connection:
            passages.put(self._connection, self._index, items)
            if self._index.texts:
                self._connection.executemany(
                    f"INSERT OR REPLACE INTO main.{self._index.texts} VALUES (?, ?, ?)",
                    ((each.space, each.id, each.content) for each in items),
                )

    def _add_spaces(self, names: Collection[str]) -> None:
        """Gives spaces the numbers that they have in the store."""
        given = "SELECT number FROM store.spaces WHERE corpus = ? AND space = ?"
        for name in {passages.ALL_SPACES, *names}:
            key = (self._index.corpus, name)
            if value(self._connection, given, key) is None:
                self._connection.execute("INSERT OR IGNORE INTO store.spaces (corpus, space) VALUES (?, ?)", key)
            number = value(self._connection, given, key)
            self._connection.execute(
                "INSERT OR IGNORE INTO main.spaces (number, corpus, space) VALUES (?, ?, ?)", (number, *key)
            )

    def _copy_tables(self) -> None:
        """Copies the passages, and the tables that FTS5 keeps its indexes in, as they are."""
        names = rows(
            self._connection,
            "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT GLOB '*_config' "
            "AND (name = ?1 || '_passages' OR name GLOB ?1 || '_words_*' OR name GLOB ?1 || '_literals_*')",
            (self._index.corpus,),
        )
        for (name,) in names:
            self._connection.execute(f"DELETE FROM store.{name}")
            self._connection.execute(f"INSERT INTO store.{name} SELECT * FROM main.{name}")
        self._connection.execute(
            "INSERT INTO store.sqlite_sequence SELECT ?1, 0 WHERE NOT EXISTS "
            "(SELECT 1 FROM store.sqlite_sequence WHERE name = ?1); UPDATE store.sqlite_sequence SET "
            "seq = 1 + max(seq, (SELECT seq FROM main.sqlite_sequence WHERE name = ?1)) WHERE name = ?1",
            {"1": self._table},
        ).fetchall()

    def _copy_statistics(self) -> None:
        corpus = {"corpus": self._index.corpus}
        for sql in (
            "DELETE FROM store.vocabulary WHERE space IN (SELECT number FROM store.spaces WHERE corpus = :corpus)",
            "INSERT INTO store.vocabulary SELECT * FROM main.vocabulary",
            "UPDATE store.spaces SET passages = 0, lengths = '[]' WHERE corpus = :corpus",
            "UPDATE store.spaces SET passages = s.passages, lengths = s.lengths FROM main.spaces s "
            "WHERE s.number = store.spaces.number",
        ):
            self._connection.execute(sql, corpus)

    def _renew_coverage(self) -> None:
        """Says of each model whether every passage has its vector, and that copies of vectors are stale."""
        corpus = {"corpus": self._index.corpus}
        if self._vectors is not None:
            number = embeddings.model_number(self._connection, self._vectors.model_id, self._vectors.dimensions)
            self._connection.execute(
                "INSERT OR IGNORE INTO store.coverage (corpus, model, complete) VALUES (:corpus, :number, 0)",
                {**corpus, "number": number},
            )
        self._connection.execute(
            f"UPDATE store.coverage SET epoch = {embeddings.NEXT_EPOCH}, complete = NOT EXISTS "
            f"(SELECT 1 FROM main.{self._table} p WHERE NOT EXISTS "
            "(SELECT 1 FROM store.vectors v WHERE v.model = coverage.model AND v.hash = p.hash)) "
            "WHERE corpus = :corpus",
            corpus,
        )

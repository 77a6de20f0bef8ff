"""Copies a store into another one, whichever their engines: rows in batches, then the index with its vectors.

An interrupted copy resumes: batches that are already equal are skipped. No embedding model is needed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from athand.corpus import AnyCorpus
from athand.errors import Conflict, DataError
from athand.store import Index, Passage, Row, Snapshot, Store, Transaction
from athand.store.tables import Table, read_tables
from athand.store.values import digest
from athand.text import text_hash
from athand.types import Vectors

Progress = Callable[[int, int], None]
_Model = tuple[str, int]  # its id and its dimensions


def copy_store(source: Store, target: Store, corpora: Iterable[AnyCorpus], progress: Progress) -> dict[str, int]:
    """Copies everything or resumes an interrupted copy, verifies it, and returns the number of rows by table."""
    tables = read_tables(source.schemas)
    with source.snapshot() as view:
        _begin(view, target, tables)
        writers = {each.index.corpus: _Writer(view, each, _covering_model(view, each.index)) for each in corpora}
        counter = _Counter(_count_rows(view, tables), progress)
        for table in tables.values():
            writer = writers.get(table.name)
            # A literal index needs the texts, which another table has: `finish_index` builds it at the end.
            replace_index = writer.index if writer and not writer.corpus.index.texts else _index_nothing
            _copy_table(view, target, table, replace_index, counter.advance)
        with target.snapshot() as copied:
            counts = _verify(view, copied, tables)
        for writer in writers.values():
            writer.finish_index(target)
    _finish(target)
    return counts


@dataclass(slots=True)
class _Counter:
    """Reports progress."""

    total: int
    progress: Progress
    done: int = 0

    def advance(self, rows: int) -> None:
        self.done += rows
        self.progress(self.done, self.total)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Indexes the copied items of a corpus, with the vectors of the source."""

    view: Snapshot
    corpus: AnyCorpus
    covering: _Model | None

    def index(self, transaction: Transaction, before: Sequence[Row], after: Sequence[Row]) -> None:
        """Replaces the index entries of the rows before by those of the rows after."""
        gone: dict[str, list[str]] = defaultdict(list)
        for space, id_, *_ in before:
            gone[space].append(id_)
        for space, ids in gone.items():
            transaction.remove(self.corpus.index, space, ids)
        self._put(transaction, self.corpus.passages_of(transaction, [(row[0], row[1]) for row in after]))

    def finish_index(self, target: Store) -> None:
        """Copies the remaining vectors, and rebuilds the index if its fingerprint differs from the source's."""
        self._add_other_vectors(target)
        fingerprint = self.view.fingerprint(self.corpus.index)
        if target.fingerprint(self.corpus.index) != fingerprint:
            self._index_all(target)
            self._check_fingerprint(target, fingerprint)

    def _check_fingerprint(self, target: Store, fingerprint: str) -> None:
        if target.fingerprint(self.corpus.index) != fingerprint:
            raise DataError(
                f"All rows were copied to {target.location}, but its index differs from that of the original. "
                "See what is wrong with either by: athand status --check"
            )

    def _index_all(self, target: Store) -> None:
        """Rebuilds the whole index of the target."""
        with target.transaction() as transaction:
            transaction.clear(self.corpus.index)
            for passages in self.corpus.all_passages(transaction):
                self._put(transaction, passages)
        if self.covering:
            target.activate_model(self.corpus.index.corpus, self.covering[0])
        self._add_other_vectors(target)

    def _put(self, transaction: Transaction, passages: Sequence[Passage]) -> None:
        transaction.put(self.corpus.index, passages, self._vectors(self.covering, passages) if self.covering else None)

    def _add_other_vectors(self, target: Store) -> None:
        """Copies the vectors of models that are not active, which saves work if one is chosen again."""
        models = self.view.rows("SELECT model_id, dimensions FROM models ORDER BY number")
        for model in [(id_, dimensions) for id_, dimensions in models if (id_, dimensions) != self.covering]:
            for passages in self.corpus.all_passages(self.view):
                vectors = self._vectors(model, passages)
                if vectors.by_hash:
                    target.add_vectors(self.corpus.index, passages, vectors)

    def _vectors(self, model: _Model, passages: Sequence[Passage]) -> Vectors:
        hashes = [text_hash(passage.text) for passage in passages]
        return Vectors(*model, self.view.cached_vectors(model[0], hashes))


def _index_nothing(transaction: Transaction, before: Sequence[Row], after: Sequence[Row]) -> None:
    """For tables without an index, or with one that is built at the end."""


def _covering_model(view: Snapshot, index: Index) -> _Model | None:
    """Id and dimensions of the model that has a vector for every passage."""
    found = view.rows(
        "SELECT m.model_id, m.dimensions FROM models m JOIN coverage c ON c.model = m.number "
        "WHERE c.corpus = :corpus AND c.complete ORDER BY m.number",
        {"corpus": index.corpus},
    )
    return (found[-1][0], found[-1][1]) if found else None


BATCH = 500
_MARK = "copied_from"  # setting in the target while the copy is incomplete

ReplaceIndex = Callable[[Transaction, Sequence[Row], Sequence[Row]], None]  # gets the rows before and after, keys first


def _begin(source: Snapshot, target: Store, tables: Iterable[str]) -> None:
    """Marks the target as an incomplete copy; raises if it holds anything else."""
    [(origin,)] = source.rows("SELECT value FROM settings WHERE name = 'store_id'")
    with target.transaction() as transaction:
        if transaction.rows("SELECT value FROM settings WHERE name = 'store_id'") == [(origin,)]:
            raise Conflict(f"{target.location} is the store to be copied. Give another one.")
        marks = transaction.rows("SELECT value FROM settings WHERE name = :name", {"name": _MARK})
        if marks == [(origin,)]:
            return
        if marks or any(transaction.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in tables):
            raise Conflict(f"{target.location} is not empty. Nothing was copied; give a store that is new.")
        transaction.execute(
            "INSERT INTO settings (name, value) VALUES (:name, :value)", {"name": _MARK, "value": origin}
        )


def _finish(target: Store) -> None:
    """Removes the mark of an incomplete copy."""
    with target.transaction() as transaction:
        transaction.execute("DELETE FROM settings WHERE name = :name", {"name": _MARK})


def _count_rows(snapshot: Snapshot, tables: Iterable[str]) -> int:
    """The number of rows to copy."""
    return sum(int(snapshot.rows(f"SELECT count(*) FROM {table}")[0][0]) for table in tables)


def _copy_table(
    source: Snapshot, target: Store, table: Table, replace_index: ReplaceIndex, progress: Callable[[int], None]
) -> None:
    """Makes the target's table equal to the source's, batch by batch; equal batches are not written again."""
    after: Row | None = None
    more = True
    while more:
        rows = _read_batch(source, table, after, None, BATCH)
        more = len(rows) == BATCH
        last = _key(table, rows[-1]) if more else None  # the last batch has no upper bound
        with target.transaction() as transaction:
            there = _read_batch(transaction, table, after, last)
            if there != rows:
                _replace(transaction, table, after, last, rows)
                replace_index(transaction, there, rows)
        after = last
        progress(len(rows))


def _verify(source: Snapshot, target: Snapshot, tables: Mapping[str, Table]) -> dict[str, int]:
    """Compares every table by count and hash; returns the counts."""
    counts = {}
    for table in tables.values():
        (ours, our_hash), (theirs, their_hash) = (_summary(snapshot, table) for snapshot in (source, target))
        if our_hash != their_hash:
            raise DataError(
                f"The copy differs: of {table} there are {ours:,} here and {theirs:,} there, or they are not the same. "
                "Is somebody writing there? Copy again: what is right already is not copied twice."
            )
        counts[table.name] = ours
    return counts


def _summary(snapshot: Snapshot, table: Table) -> tuple[int, str]:
    """The number of rows, and a hash over them."""
    rows = 0

    def read_rows() -> Iterator[Row]:
        nonlocal rows
        after: Row | None = None
        while batch := _read_batch(snapshot, table, after, None, BATCH):
            rows += len(batch)
            yield from batch
            after = _key(table, batch[-1])

    hashed = digest(read_rows())
    return rows, hashed


def _column_names(table: Table) -> list[str]:
    """All columns, those of the key first."""
    return list(dict.fromkeys((*table.key, *table.columns)))


def _key(table: Table, row: Row) -> Row:
    return row[: len(table.key)]


def _key_range(table: Table, after: Row | None, last: Row | None) -> tuple[str, dict[str, object]]:
    """SQL condition: after < key <= last."""
    key = table.key
    where: list[str] = ["1 = 1"]
    values: dict[str, object] = {}
    for name, sign, place in (("after", ">", after), ("last", "<=", last)):
        if place is not None:
            where.append(f"({', '.join(key)}) {sign} ({', '.join(f':{name}{at}' for at in range(len(key)))})")
            values |= {f"{name}{at}": value for at, value in enumerate(place)}
    return " AND ".join(where), values


def _read_batch(
    snapshot: Snapshot, table: Table, after: Row | None, last: Row | None, limit: int | None = None
) -> list[Row]:
    where, values = _key_range(table, after, last)
    rest = f"ORDER BY {', '.join(table.key)}" + (f" LIMIT {limit}" if limit else "")
    return snapshot.rows(f"SELECT {', '.join(_column_names(table))} FROM {table} WHERE {where} {rest}", values)


def _replace(transaction: Transaction, table: Table, after: Row | None, last: Row | None, rows: Sequence[Row]) -> None:
    """Replaces the rows between the keys by these."""
    where, values = _key_range(table, after, last)
    transaction.execute(f"DELETE FROM {table} WHERE {where}", values)
    names = _column_names(table)
    marks = ", ".join(f":{name}" for name in names)
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
    for row in rows:
        transaction.execute(insert, dict(zip(names, row, strict=True)))

"""Moving everything to another store, and with it what is derived from it. No model is needed."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from athand.derive import Corpus
from athand.errors import DataError
from athand.store import Index, Passage, Row, Snapshot, Store, Transaction, copying
from athand.store.tables import KEYS
from athand.text import text_hash
from athand.types import Vectors

Progress = Callable[[int, int], None]
_Model = tuple[str, int]  # its id and its dimensions


def copy(source: Store, target: Store, corpora: Sequence[Corpus], progress: Progress) -> dict[str, int]:
    """Copy everything, go on where an earlier copy was cut off, and compare both; the number of rows by table."""
    with source.snapshot() as view:
        copying.begin(view, target)
        writers = {each.index.corpus: _Writer(view, each, _covering_model(view, each.index)) for each in corpora}
        counter = _Counter(copying.count(view), progress)
        for table in KEYS:
            writer = writers.get(table)
            # What is also found literally must be taken out by its text, which is another table's: see `settle`.
            replaced = writer.index if writer and not writer.corpus.index.texts else _nothing
            copying.copy_table(view, target, table, replaced, counter.advance)
        with target.snapshot() as copied:
            counts = copying.verify(view, copied)
        for writer in writers.values():
            writer.settle(target)
    copying.finish(target)
    return counts


@dataclass(slots=True)
class _Counter:
    """Adds up what is done."""

    total: int
    progress: Progress
    done: int = 0

    def advance(self, rows: int) -> None:
        self.done += rows
        self.progress(self.done, self.total)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Indexes the copied items of a corpus with the vectors their originals have."""

    view: Snapshot
    corpus: Corpus
    covering: _Model | None

    def index(self, transaction: Transaction, before: Sequence[Row], after: Sequence[Row]) -> None:
        """Index the items of these rows in place of those that were there."""
        gone: dict[str, list[str]] = defaultdict(list)
        for space, id_, *_ in before:
            gone[space].append(id_)
        for space, ids in gone.items():
            transaction.remove(self.corpus.index, space, ids)
        self._put(transaction, self.corpus.passages_of(transaction, [(row[0], row[1]) for row in after]))

    def settle(self, target: Store) -> None:
        """Make sure that the index of the copy is that of the original: it may have been cut off, or not begun."""
        self._add_other_vectors(target)
        fingerprint = self.view.fingerprint(self.corpus.index)
        if target.fingerprint(self.corpus.index) != fingerprint:
            self._index_all(target)
            self._refuse_other(target, fingerprint)

    def _refuse_other(self, target: Store, fingerprint: str) -> None:
        if target.fingerprint(self.corpus.index) != fingerprint:
            raise DataError(
                f"All rows were copied to {target.location}, but its index differs from that of the original. "
                "See what is wrong with either by: athand status --check"
            )

    def _index_all(self, target: Store) -> None:
        """Make the whole index of the copy anew."""
        with target.transaction() as transaction:
            transaction.clear(self.corpus.index)
            for passages in self.corpus.every(transaction):
                self._put(transaction, passages)
        if self.covering:
            target.finish_cover(self.corpus.index.corpus, self.covering[0])
        self._add_other_vectors(target)

    def _put(self, transaction: Transaction, passages: Sequence[Passage]) -> None:
        transaction.put(self.corpus.index, passages, self._vectors(self.covering, passages) if self.covering else None)

    def _add_other_vectors(self, target: Store) -> None:
        """The vectors of models that do not cover everything: they save work when one of them is chosen again."""
        models = self.view.rows("SELECT model_id, dimensions FROM models ORDER BY number")
        for model in [(id_, dimensions) for id_, dimensions in models if (id_, dimensions) != self.covering]:
            for passages in self.corpus.every(self.view):
                vectors = self._vectors(model, passages)
                if vectors.by_hash:
                    target.add_vectors(self.corpus.index, passages, vectors)

    def _vectors(self, model: _Model, passages: Sequence[Passage]) -> Vectors:
        hashes = [text_hash(passage.text) for passage in passages]
        return Vectors(*model, self.view.cached_vectors(model[0], hashes))


def _nothing(transaction: Transaction, before: Sequence[Row], after: Sequence[Row]) -> None:
    """These rows have nothing derived, or not yet."""


def _covering_model(view: Snapshot, index: Index) -> _Model | None:
    """The model that has a vector for every passage."""
    found = view.rows(
        "SELECT m.model_id, m.dimensions FROM models m JOIN coverage c ON c.model = m.number "
        "WHERE c.corpus = :corpus AND c.complete ORDER BY m.number",
        {"corpus": index.corpus},
    )
    return (found[-1][0], found[-1][1]) if found else None

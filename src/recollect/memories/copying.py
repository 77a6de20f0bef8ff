"""Moving all memories to another store, and with them what is derived from them. No model is needed."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.errors import DataError
from recollect.memories import records
from recollect.memories.model import to_passage
from recollect.memories.scoring import INDEX
from recollect.store import Passage, Row, Snapshot, Store, Transaction, copying
from recollect.store.tables import KEYS
from recollect.text import text_hash
from recollect.types import Vectors

Progress = Callable[[int, int], None]
_Model = tuple[str, int]  # its id and its dimensions


def copy(source: Store, target: Store, now: datetime, progress: Progress) -> dict[str, int]:
    """Copy everything, go on where an earlier copy was cut off, and compare both; the number of rows by table."""
    with source.snapshot() as view:
        copying.begin(view, target)
        writer = _Writer(view, now, _covering_model(view))
        counter = _Counter(copying.count(view), progress)
        for table in KEYS:
            replaced = writer.index if table == INDEX.corpus else _nothing
            copying.copy_table(view, target, table, replaced, counter.advance)
        writer.add_other_vectors(target)
        with target.snapshot() as copied:
            counts = copying.verify(view, copied)
        fingerprint = view.fingerprint(INDEX)
        if target.fingerprint(INDEX) != fingerprint:
            # The model was changed since an earlier attempt, or somebody has written there.
            writer.index_all(target)
            _refuse_other(target, fingerprint)
    copying.finish(target)
    return counts


def _refuse_other(target: Store, fingerprint: str) -> None:
    if target.fingerprint(INDEX) != fingerprint:
        raise DataError(
            f"All rows were copied to {target.location}, but its index differs from that of the original. "
            "See what is wrong with either by: recollect status --check"
        )


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
    """Indexes copied memories with the vectors their original has."""

    view: Snapshot
    now: datetime
    covering: _Model | None

    def index(self, transaction: Transaction, before: Sequence[Row], after: Sequence[Row]) -> None:
        """Index the memories of these rows in place of those that were there."""
        gone: dict[str, list[str]] = defaultdict(list)
        for space, id_, *_ in before:
            gone[space].append(id_)
        for space, ids in gone.items():
            transaction.remove(INDEX, space, ids)
        passages = _passages(transaction, [row[1] for row in after], self.now)
        transaction.put(INDEX, passages, self._vectors(self.covering, passages) if self.covering else None)

    def index_all(self, target: Store) -> None:
        """Make the whole index of the copy anew."""
        with target.transaction() as transaction:
            transaction.clear(INDEX)
            for passages in _all_passages(transaction, self.now):
                transaction.put(INDEX, passages, self._vectors(self.covering, passages) if self.covering else None)
        if self.covering:
            target.finish_cover(INDEX.corpus, self.covering[0])
        self.add_other_vectors(target)

    def add_other_vectors(self, target: Store) -> None:
        """The vectors of models that do not cover all memories: they save work when one of them is chosen again."""
        models = self.view.rows("SELECT model_id, dimensions FROM models ORDER BY number")
        for model in [(id_, dimensions) for id_, dimensions in models if (id_, dimensions) != self.covering]:
            for passages in _all_passages(self.view, self.now):
                vectors = self._vectors(model, passages)
                if vectors.by_hash:
                    target.add_vectors(INDEX, passages, vectors)

    def _vectors(self, model: _Model, passages: Sequence[Passage]) -> Vectors:
        hashes = [text_hash(passage.text) for passage in passages]
        return Vectors(*model, self.view.cached_vectors(model[0], hashes))


def _nothing(transaction: Transaction, before: Sequence[Row], after: Sequence[Row]) -> None:
    """These rows have nothing derived."""


def _covering_model(view: Snapshot) -> _Model | None:
    """The model that has a vector for every memory."""
    found = view.rows(
        "SELECT m.model_id, m.dimensions FROM models m JOIN coverage c ON c.model = m.number "
        "WHERE c.corpus = :corpus AND c.complete ORDER BY m.number",
        {"corpus": INDEX.corpus},
    )
    return (found[-1][0], found[-1][1]) if found else None


def _passages(snapshot: Snapshot, ids: Sequence[str], now: datetime) -> list[Passage]:
    memories = records.by_id(snapshot, ids, now)
    return [to_passage(memories[id_]) for id_ in ids if not memories[id_].is_deleted]


def _all_passages(view: Snapshot, now: datetime) -> Iterator[list[Passage]]:
    ids = [row[0] for row in view.rows("SELECT id FROM memories ORDER BY space, id")]
    for start in range(0, len(ids), copying.BATCH):
        yield _passages(view, ids[start : start + copying.BATCH], now)

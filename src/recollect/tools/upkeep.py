"""Everything derived from the tools, made anew: index and vectors."""

from collections.abc import Callable, Iterator

from recollect import derive
from recollect.derive import BATCH, Corpus, Items
from recollect.store import Passage, Snapshot
from recollect.tools import records
from recollect.tools.desk import Desk
from recollect.tools.scoring import INDEX


def reindex(desk: Desk, progress: Callable[[int], None]) -> int:
    """Make everything derived anew; how many tools there are."""
    return derive.reindex(desk.store, desk.embedder, CORPUS, progress, use_cache=desk.use_cache)


def embed_missing(desk: Desk, stop: Callable[[], bool]) -> bool:
    """Give every tool a vector of the current model; until all have one, searches go by keyword."""
    return derive.embed_missing(desk.store, desk.embedder, CORPUS, stop, use_cache=desk.use_cache)


def _passages_of(snapshot: Snapshot, items: Items) -> list[Passage]:
    return [records.passage_of(row) for row in records.rows_of(snapshot, items) if not row[11]]


def _every(snapshot: Snapshot) -> Iterator[list[Passage]]:
    return records.all_passages(snapshot, BATCH)


CORPUS = Corpus(INDEX, _passages_of, _every)

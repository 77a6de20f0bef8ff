"""Everything derived from the tools, made anew: index and vectors."""

from collections.abc import Callable, Iterator

from athand import indexing
from athand.indexing import BATCH, Corpus, Items
from athand.store import Passage, Snapshot
from athand.tools import records
from athand.tools.desk import Desk
from athand.tools.scoring import INDEX


def reindex(desk: Desk, progress: Callable[[int], None]) -> int:
    """Make everything derived anew; how many tools there are."""
    return indexing.reindex(desk.store, desk.embedder, CORPUS, progress, use_cache=desk.use_cache)


def embed_missing(desk: Desk, stop: Callable[[], bool]) -> bool:
    """Give every tool a vector of the current model; until all have one, searches go by keyword."""
    return indexing.embed_missing(desk.store, desk.embedder, CORPUS, stop, use_cache=desk.use_cache)


def _passages_of(snapshot: Snapshot, items: Items) -> list[Passage]:
    return [records.passage_of(row) for row in records.rows_of(snapshot, items) if not row[11]]


def _every(snapshot: Snapshot) -> Iterator[list[Passage]]:
    return records.all_passages(snapshot, BATCH)


CORPUS = Corpus(INDEX, _passages_of, _every)

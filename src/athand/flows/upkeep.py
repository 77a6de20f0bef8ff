"""Everything derived from the steps, made anew: index and vectors."""

from collections.abc import Callable, Iterator

from athand import indexing
from athand.flows import records
from athand.flows.desk import Desk
from athand.flows.scoring import INDEX
from athand.indexing import BATCH, Corpus, Items
from athand.store import Passage, Snapshot


def reindex(desk: Desk, progress: Callable[[int], None]) -> int:
    """Make everything derived anew, in one step that readers see whole; how many steps there are."""
    return indexing.reindex(desk.store, desk.embedder, corpus(), progress, use_cache=desk.use_cache)


def embed_missing(desk: Desk, stop: Callable[[], bool]) -> bool:
    """Give every step a vector of the current model; until all have one, searches go by keyword."""
    return indexing.embed_missing(desk.store, desk.embedder, corpus(), stop, use_cache=desk.use_cache)


def corpus() -> Corpus:
    """How passages come from sessions."""

    def passages_of(snapshot: Snapshot, items: Items) -> list[Passage]:
        return records.passages(snapshot, [id_ for _, id_ in items])

    def every(snapshot: Snapshot) -> Iterator[list[Passage]]:
        return records.all_passages(snapshot, BATCH)

    return Corpus(INDEX, passages_of, every)

"""Reindexing and re-embedding of tools."""

from collections.abc import Callable, Iterator

from athand import indexing
from athand.indexing import BATCH, Corpus, Items
from athand.store import Passage, Snapshot
from athand.tools import rows
from athand.tools.context import ToolContext
from athand.tools.scoring import INDEX


def reindex(context: ToolContext, progress: Callable[[int], None]) -> int:
    """Rebuild the index and all vectors; returns the number of tools."""
    return indexing.reindex(context.store, context.embedder, CORPUS, progress, use_cache=context.use_cache)


def embed_missing(context: ToolContext, stop: Callable[[], bool]) -> bool:
    """Embed all tools without a vector of the current model; until then searches use keywords only."""
    return indexing.embed_missing(context.store, context.embedder, CORPUS, stop, use_cache=context.use_cache)


def _passages_of(snapshot: Snapshot, items: Items) -> list[Passage]:
    return [rows.row_to_passage(row) for row in rows.get_rows(snapshot, items) if not row[11]]


def _iter_passages(snapshot: Snapshot) -> Iterator[list[Passage]]:
    return rows.iter_passages(snapshot, BATCH)


CORPUS = Corpus(INDEX, _passages_of, _iter_passages)

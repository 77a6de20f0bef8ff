"""Everything derived from the memories, made anew: index, vectors, fingerprints."""

import logging
from collections.abc import Callable, Iterator

from athand import indexing
from athand.indexing import BATCH, Corpus, Items
from athand.memories import rows
from athand.memories.context import MemoryContext
from athand.memories.model import COLUMNS, Memory, fingerprint_row, from_row, to_passage
from athand.memories.scoring import INDEX
from athand.memories.write import TRACES
from athand.store import Passage, Snapshot, Transaction

log = logging.getLogger("athand")


def reindex(context: MemoryContext, progress: Callable[[int], None]) -> int:
    """Make everything derived anew, in one step that readers see whole; how many memories there are."""
    embed_missing(context, lambda: False)
    done, after = 0, ("", "")
    with context.store.transaction() as transaction:
        transaction.clear(INDEX)
        while batch := _after(transaction, after, context):
            passages = [to_passage(memory) for memory in batch]
            transaction.put(INDEX, passages, context.embed(passages, transaction))
            _renew_fingerprints(transaction, batch)
            done, after = done + len(batch), (batch[-1].space, batch[-1].id)
            progress(done)
    if not context.store.erase_traces():
        log.warning("The index is new, but %s", TRACES)
    return done


def embed_missing(context: MemoryContext, stop: Callable[[], bool]) -> bool:
    """Give every memory a vector of the current model; until all have one, searches go by keyword."""
    return indexing.embed_missing(context.store, context.embedder, corpus(context), stop, use_cache=context.use_cache)


def corpus(context: MemoryContext) -> Corpus:
    """How passages come from memories."""

    def passages_of(snapshot: Snapshot, items: Items) -> list[Passage]:
        memories = rows.by_id(snapshot, [id_ for _, id_ in items], context.now())
        return [to_passage(memory) for memory in memories.values() if not memory.is_deleted]

    def every(snapshot: Snapshot) -> Iterator[list[Passage]]:
        after = ("", "")
        while batch := _after(snapshot, after, context):
            yield [to_passage(memory) for memory in batch]
            after = (batch[-1].space, batch[-1].id)

    return Corpus(INDEX, passages_of, every)


def _after(snapshot: Snapshot, place: tuple[str, str], context: MemoryContext) -> list[Memory]:
    """The next memories that are not deleted, in the order of space and id."""
    rows = snapshot.rows(
        f"SELECT {COLUMNS} FROM memories WHERE (space > :space OR (space = :space AND id > :id)) "
        "AND is_deleted = 0 ORDER BY space, id LIMIT :limit",
        {"space": place[0], "id": place[1], "limit": BATCH},
    )
    return [from_row(row, context.now()) for row in rows]


def _renew_fingerprints(transaction: Transaction, memories: list[Memory]) -> None:
    """Memories of an older version have none."""
    for memory in memories:
        transaction.execute(
            "UPDATE memories SET fingerprint = :fingerprint, gist = :gist WHERE space = :space AND id = :id "
            "AND (fingerprint <> :fingerprint OR gist <> :gist)",
            {**fingerprint_row(memory), "space": memory.space, "id": memory.id},
        )

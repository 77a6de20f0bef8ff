"""Everything derived from the memories, made anew: index, vectors, fingerprints."""

import logging
from collections.abc import Callable

from recollect.memories import records
from recollect.memories.changing import TRACES
from recollect.memories.desk import Desk
from recollect.memories.model import COLUMNS, Memory, from_row, likeness_row, to_passage
from recollect.memories.scoring import INDEX
from recollect.store import Snapshot, Transaction

BATCH = 512

log = logging.getLogger("recollect")


def reindex(desk: Desk, progress: Callable[[int], None]) -> int:
    """Make everything derived anew, in one step that readers see whole; how many memories there are."""
    embed_missing(desk, lambda: False)
    done, after = 0, ("", "")
    with desk.store.transaction() as transaction:
        transaction.clear(INDEX)
        while batch := _after(transaction, after, desk):
            passages = [to_passage(memory) for memory in batch]
            transaction.put(INDEX, passages, desk.embed(passages, transaction))
            _renew_fingerprints(transaction, batch)
            done, after = done + len(batch), (batch[-1].space, batch[-1].id)
            progress(done)
    if not desk.store.erase_traces():
        log.warning("The index is new, but %s", TRACES)
    return done


def embed_missing(desk: Desk, stop: Callable[[], bool]) -> bool:
    """Give every memory a vector of the current model; until all have one, searches go by keyword."""
    model_id = desk.embedder.attempt(lambda embedder: embedder.model_id)
    after = 0
    while model_id and (missing := desk.store.uncovered(INDEX.corpus, model_id, after, BATCH)):
        with desk.store.snapshot() as snapshot:
            memories = records.by_id(snapshot, [item_id for _, item_id in missing], desk.now())
        passages = [to_passage(memory) for memory in memories.values()]
        vectors = desk.embed(passages)
        if vectors is None or stop():
            return False
        desk.store.add_vectors(INDEX, passages, vectors)
        after = missing[-1][0]
    return model_id is not None and desk.store.finish_cover(INDEX.corpus, model_id)


def _after(snapshot: Snapshot, place: tuple[str, str], desk: Desk) -> list[Memory]:
    """The next memories that are not deleted, in the order of space and id."""
    rows = snapshot.rows(
        f"SELECT {COLUMNS} FROM memories WHERE (space > :space OR (space = :space AND id > :id)) "
        "AND is_deleted = 0 ORDER BY space, id LIMIT :limit",
        {"space": place[0], "id": place[1], "limit": BATCH},
    )
    return [from_row(row, desk.now()) for row in rows]


def _renew_fingerprints(transaction: Transaction, memories: list[Memory]) -> None:
    """Memories of an older version have none."""
    for memory in memories:
        transaction.execute(
            "UPDATE memories SET fingerprint = :fingerprint, gist = :gist WHERE space = :space AND id = :id "
            "AND (fingerprint <> :fingerprint OR gist <> :gist)",
            {**likeness_row(memory), "space": memory.space, "id": memory.id},
        )

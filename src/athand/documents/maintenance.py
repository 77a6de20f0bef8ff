"""Reindexing, embedding of missing vectors, and complete removal of a folder."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from athand import indexing
from athand.documents import folders, index
from athand.documents.context import DocumentContext
from athand.documents.model import Chunk
from athand.documents.parse import to_passage
from athand.documents.rows import CHUNK_COLUMNS, to_chunk
from athand.documents.scoring import INDEX
from athand.indexing import BATCH, Corpus, Items
from athand.store import Passage, Snapshot

log = logging.getLogger("athand")


def reindex(context: DocumentContext, progress: Callable[[int], None]) -> int:
    """Rebuilds index and vectors from the stored chunks; returns the number of documents."""
    indexing.reindex(context.store, context.embedder, CORPUS, progress, use_cache=context.use_cache)
    with context.store.snapshot() as snapshot:
        return int(snapshot.rows("SELECT count(*) FROM documents")[0][0])


def embed_missing(context: DocumentContext, stop: Callable[[], bool]) -> bool:
    """Embeds chunks that have no vector of the current model."""
    return indexing.embed_missing(context.store, context.embedder, CORPUS, stop, use_cache=context.use_cache)


def read_passages(snapshot: Snapshot, items: Items) -> list[Passage]:
    """The passages of some documents."""
    return [
        _chunk_to_passage(to_chunk(row))
        for space, document in items
        for row in snapshot.rows(
            f"SELECT {CHUNK_COLUMNS} FROM document_chunks c "
            "WHERE c.space = :space AND c.document_id = :id ORDER BY c.position",
            {"space": space, "id": document},
        )
    ]


def forget_folder(context: DocumentContext, folder_id: str) -> None:
    """Deletes a folder with all its documents and their traces in the store."""
    while _forget_batch(context, folder_id, index.DELETE_BATCH):
        pass
    context.store.erase_traces()


def _forget_batch(context: DocumentContext, folder_id: str, batch: int) -> bool:
    """Deletes a batch of documents, and with the last batch the folder; returns whether documents are left."""
    with context.store.transaction(spaces=(folder_id,)) as transaction:
        sql = "SELECT id FROM documents WHERE space = :space ORDER BY id LIMIT :limit"
        paths = [row[0] for row in transaction.rows(sql, {"space": folder_id, "limit": batch + 1})]
        removed = paths[:batch]
        if passages := read_passages(transaction, [(folder_id, path) for path in removed]):
            transaction.forget(INDEX, _merge_passages(passages))
        index.delete_documents(transaction, folder_id, removed)
        if len(paths) <= batch:
            folders.unregister(transaction, folder_id)
    return len(paths) > batch


def _merge_passages(passages: Sequence[Passage]) -> Passage:
    """Merges passages so that each term is removed once."""
    fields = zip(*(passage.fields for passage in passages), strict=True)
    return replace(passages[0], fields=tuple(" ".join(each) for each in fields))


def iterate_passages(snapshot: Snapshot) -> Iterator[list[Passage]]:
    """The passages of all documents in batches, ordered by folder, path and position."""
    place: tuple[str, str, int] = ("", "", -1)
    while True:
        rows = snapshot.rows(
            f"SELECT {CHUNK_COLUMNS} FROM document_chunks c WHERE (c.space, c.document_id, c.position) "
            "> (:space, :document, :position) ORDER BY c.space, c.document_id, c.position LIMIT :limit",
            {"space": place[0], "document": place[1], "position": place[2], "limit": BATCH},
        )
        if not rows:
            return
        chunks = [to_chunk(row) for row in rows]
        yield [_chunk_to_passage(chunk) for chunk in chunks]
        place = (chunks[-1].folder_id, chunks[-1].document_id, chunks[-1].chunk_index)


def _chunk_to_passage(chunk: Chunk) -> Passage:
    return to_passage(
        {
            "id": chunk.chunk_id,
            "space": chunk.folder_id,
            "document_id": chunk.document_id,
            "heading": json.dumps(chunk.heading),
            "names": json.dumps(chunk.names),
            "content": chunk.content,
        }
    )


CORPUS = Corpus(INDEX, read_passages, iterate_passages)

"""Everything derived from the documents, made anew: index and vectors."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from athand import indexing as corpus_indexing
from athand.documents import folders, indexing
from athand.documents.desk import Desk
from athand.documents.model import Chunk
from athand.documents.preparing import to_passage
from athand.documents.records import CHUNK, to_chunk
from athand.documents.scoring import INDEX
from athand.indexing import BATCH, Corpus, Items
from athand.store import Passage, Snapshot

log = logging.getLogger("athand")


def reindex(desk: Desk, progress: Callable[[int], None]) -> int:
    """Make everything derived anew from the chunks; how many documents there are."""
    corpus_indexing.reindex(desk.store, desk.embedder, CORPUS, progress, use_cache=desk.use_cache)
    with desk.store.snapshot() as snapshot:
        return int(snapshot.rows("SELECT count(*) FROM documents")[0][0])


def embed_missing(desk: Desk, stop: Callable[[], bool]) -> bool:
    """Give every chunk a vector of the current model; until all have one, searches go by keyword."""
    return corpus_indexing.embed_missing(desk.store, desk.embedder, CORPUS, stop, use_cache=desk.use_cache)


def passages_of(snapshot: Snapshot, items: Items) -> list[Passage]:
    """The passages of these documents."""
    return [
        _passage(to_chunk(row))
        for space, document in items
        for row in snapshot.rows(
            f"SELECT {CHUNK} FROM document_chunks c WHERE c.space = :space AND c.document_id = :id ORDER BY c.position",
            {"space": space, "id": document},
        )
    ]


def forget(desk: Desk, folder_id: str) -> None:
    """Take a folder and all of its documents out; nothing of them is left in the store."""
    while _forget_some(desk, folder_id, indexing.DELETED_TOGETHER):
        pass
    desk.store.erase_traces()


def _forget_some(desk: Desk, folder_id: str, most: int) -> bool:
    """Take some documents out, and with the last of them the folder: others may write in between. Whether to go on."""
    with desk.store.transaction(spaces=(folder_id,)) as transaction:
        sql = "SELECT id FROM documents WHERE space = :space ORDER BY id LIMIT :limit"
        paths = [row[0] for row in transaction.rows(sql, {"space": folder_id, "limit": most + 1})]
        going = paths[:most]
        if passages := passages_of(transaction, [(folder_id, path) for path in going]):
            transaction.forget(INDEX, _as_one(passages))
        indexing.delete(transaction, folder_id, going)
        if len(paths) <= most:
            folders.unregister(transaction, folder_id)
    return len(paths) > most


def _as_one(passages: Sequence[Passage]) -> Passage:
    """A passage with all their words: each word must be forgotten only once."""
    fields = zip(*(passage.fields for passage in passages), strict=True)
    return replace(passages[0], fields=tuple(" ".join(each) for each in fields))


def all_passages(snapshot: Snapshot) -> Iterator[list[Passage]]:
    """The passages of all documents, in the order of folder and path, some at a time."""
    place: tuple[str, str, int] = ("", "", -1)
    while True:
        rows = snapshot.rows(
            f"SELECT {CHUNK} FROM document_chunks c WHERE (c.space, c.document_id, c.position) "
            "> (:space, :document, :position) ORDER BY c.space, c.document_id, c.position LIMIT :limit",
            {"space": place[0], "document": place[1], "position": place[2], "limit": BATCH},
        )
        if not rows:
            return
        chunks = [to_chunk(row) for row in rows]
        yield [_passage(chunk) for chunk in chunks]
        place = (chunks[-1].folder_id, chunks[-1].document_id, chunks[-1].chunk_index)


def _passage(chunk: Chunk) -> Passage:
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


CORPUS = Corpus(INDEX, passages_of, all_passages)

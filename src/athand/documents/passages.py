"""The passages of documents, read from their stored chunks."""

import json
from collections.abc import Iterator

from athand.corpus import BATCH, Items
from athand.documents.model import Chunk
from athand.documents.parse import to_passage
from athand.documents.rows import CHUNK_COLUMNS, to_chunk
from athand.store import Passage, Snapshot


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

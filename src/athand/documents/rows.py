"""SQL rows of documents and chunks, mapped to their types and passages, and the key phrases of documents."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from athand.corpus import BATCH, Items
from athand.documents.keyphrases import candidate_terms, choose_by_frequency
from athand.documents.model import Chunk, Document
from athand.documents.scoring import INDEX
from athand.errors import NotFound
from athand.inputs import is_text
from athand.store import Passage, Row, Snapshot, Transaction, select_in, to_datetime

CHUNK_COLUMNS = (
    "c.id, c.space, c.document_id, c.position, c.heading, c.names, c.place, c.start_line, c.end_line, "
    "c.start_offset, c.end_offset, c.content"
)
DOCUMENT_COLUMNS = "d.space, d.id, d.title, d.kind, d.language, d.size, d.modified_at, d.lines, d.chunks, d.key_phrases"

Key = tuple[str, str]  # folder id, and path of a document or id of a chunk


def chunks_by_id(snapshot: Snapshot, keys: Sequence[Key]) -> dict[Key, Chunk]:
    """The chunks with these keys; missing ones are left out."""
    found = _select_by_key(snapshot, f"SELECT {CHUNK_COLUMNS} FROM document_chunks c", "c.space", "c.id", keys)
    return {(row[1], row[0]): to_chunk(row) for row in found}


def to_chunk(row: Row) -> Chunk:
    """The chunk of a row."""
    id_, space, document, position, heading, names, *rest = row
    return Chunk(id_, space, document, position, tuple(json.loads(heading)), tuple(json.loads(names)), *rest)


def documents_by_id(snapshot: Snapshot, keys: Sequence[Key]) -> dict[Key, Document]:
    """The documents with these keys; missing ones are left out."""
    found = _select_by_key(snapshot, f"SELECT {DOCUMENT_COLUMNS} FROM documents d", "d.space", "d.id", keys)
    return {(row[0], row[1]): to_document(row) for row in found}


def get_document(snapshot: Snapshot, folder_id: str, document_id: object) -> Document:
    """The document at a path of a folder; else NotFound."""
    columns = DOCUMENT_COLUMNS.replace("d.", "")
    return to_document(get_document_columns(snapshot, folder_id, document_id, columns))


def get_document_columns(snapshot: Snapshot, folder_id: str, document_id: object, columns: str) -> Row:
    """Columns of the document at a path of a folder; else NotFound."""
    sql = f"SELECT {columns} FROM documents WHERE space = :space AND id = :id"
    rows = snapshot.rows(sql, {"space": folder_id, "id": document_id}) if is_text(document_id) else []
    if not rows:
        raise NotFound(
            f"No document {document_id!r} in {folder_id}. See what there is with: athand docs explore {folder_id}"
        )
    return rows[0]


def to_document(row: Row) -> Document:
    """The document of a row."""
    folder_id, document_id, title, kind, language, size, modified_at, lines, chunks, key_phrases, *_ = row
    modified, phrases = to_datetime(modified_at), tuple(json.loads(key_phrases))
    return Document(folder_id, document_id, title, kind, language, size, modified, lines, chunks, phrases)


def to_chunk_row(chunk: Chunk) -> dict[str, object]:
    """The stored columns of a chunk."""
    return {
        "space": chunk.folder_id,
        "id": chunk.chunk_id,
        "document_id": chunk.document_id,
        "position": chunk.chunk_index,
        "start_offset": chunk.start_offset,
        "end_offset": chunk.end_offset,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "heading": json.dumps(chunk.heading, ensure_ascii=False),
        "names": json.dumps(chunk.names, ensure_ascii=False),
        "place": chunk.place,
        "content": chunk.content,
    }


def to_passage(chunk: Chunk) -> Passage:
    """The indexed passage of a chunk: content, headings, defined names and the path of its document."""
    where = " > ".join(chunk.heading)
    return Passage(
        chunk.chunk_id,
        chunk.document_id,
        chunk.folder_id,
        (chunk.content, " ".join(chunk.heading), " ".join(chunk.names), chunk.document_id),
        f"{where}\n{chunk.content}" if where else chunk.content,
        0,
        chunk.content,
    )


def read_passages(snapshot: Snapshot, items: Items) -> list[Passage]:
    """The passages of some documents."""
    return [
        to_passage(to_chunk(row))
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
        yield [to_passage(chunk) for chunk in chunks]
        place = (chunks[-1].folder_id, chunks[-1].document_id, chunks[-1].chunk_index)


def choose_key_phrases(snapshot: Snapshot, folder_id: str, candidates: Sequence[str]) -> list[tuple[str, ...]]:
    """The key phrases of each document from its candidates (JSON), by the term frequencies of its folder now."""
    terms = sorted({term for each in candidates for term in candidate_terms(each)})
    counts = snapshot.frequencies(INDEX, (folder_id,), terms)
    return [choose_by_frequency(each, counts) for each in candidates]


def renew_key_phrases(transaction: Transaction, folder_id: str, paths: Sequence[str]) -> None:
    """Chooses the key phrases of these documents again, by the term frequencies that their folder has now."""
    sql = "SELECT id, phrases, key_phrases FROM documents"
    found = select_in(transaction, sql, "id", paths, {"space": folder_id})
    chosen = choose_key_phrases(transaction, folder_id, [candidates for _, candidates, _ in found])
    texts = [json.dumps(phrases, ensure_ascii=False) for phrases in chosen]
    transaction.execute_many(
        "UPDATE documents SET key_phrases = :key_phrases WHERE space = :space AND id = :id",
        [
            {"space": folder_id, "id": path, "key_phrases": text}
            for (path, _, before), text in zip(found, texts, strict=True)
            if text != before
        ],
    )


def list_paths(snapshot: Snapshot, folder_id: str) -> list[str]:
    """The paths of all documents of a folder, in order."""
    sql = "SELECT id FROM documents WHERE space = :space ORDER BY id"
    return [path for (path,) in snapshot.rows(sql, {"space": folder_id})]


def _select_by_key(snapshot: Snapshot, select: str, space: str, id_: str, keys: Sequence[Key]) -> list[Row]:
    ids: dict[str, list[str]] = defaultdict(list)
    for owner, each in keys:
        if is_text(each):
            ids[owner].append(each)
    return [row for owner in sorted(ids) for row in select_in(snapshot, select, id_, ids[owner], {space: owner})]

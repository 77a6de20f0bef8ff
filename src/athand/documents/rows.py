"""SQL rows of documents and chunks, mapped to their types, with the key phrases of documents."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from athand.documents.keyphrases import candidate_terms, choose_by_frequency
from athand.documents.model import Chunk, Document
from athand.documents.scoring import INDEX
from athand.errors import NotFound
from athand.inputs import is_text
from athand.store import Row, Snapshot, select_in, to_datetime

CHUNK_COLUMNS = (
    "c.id, c.space, c.document_id, c.position, c.heading, c.names, c.place, c.start_line, c.end_line, "
    "c.start_offset, c.end_offset, c.content"
)
DOCUMENT_COLUMNS = "d.space, d.id, d.title, d.kind, d.language, d.size, d.modified_at, d.lines, d.chunks, d.phrases"

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
    """The documents with these keys, with their key phrases; missing ones are left out."""
    found = _select_by_key(snapshot, f"SELECT {DOCUMENT_COLUMNS} FROM documents d", "d.space", "d.id", keys)
    return {(each.folder_id, each.document_id): each for each in to_documents(snapshot, found)}


def get_document(snapshot: Snapshot, folder_id: str, document_id: object) -> Document:
    """The document at a path of a folder, with its key phrases; else NotFound."""
    columns = DOCUMENT_COLUMNS.replace("d.", "")
    return to_documents(snapshot, [get_document_columns(snapshot, folder_id, document_id, columns)])[0]


def get_document_columns(snapshot: Snapshot, folder_id: str, document_id: object, columns: str) -> Row:
    """Columns of the document at a path of a folder; else NotFound."""
    sql = f"SELECT {columns} FROM documents WHERE space = :space AND id = :id"
    rows = snapshot.rows(sql, {"space": folder_id, "id": document_id}) if is_text(document_id) else []
    if not rows:
        raise NotFound(
            f"No document {document_id!r} in {folder_id}. See what there is with: athand docs explore {folder_id}"
        )
    return rows[0]


def to_documents(snapshot: Snapshot, rows: Iterable[Row]) -> list[Document]:
    """The documents of rows; term frequencies are read once for all of them."""
    listed = list(rows)
    phrases = choose_key_phrases(snapshot, [(row[0], row[9]) for row in listed])
    return [
        Document(row[0], row[1], row[2], row[3], row[4], row[5], to_datetime(row[6]), row[7], row[8], chosen)
        for row, chosen in zip(listed, phrases, strict=True)
    ]


def choose_key_phrases(snapshot: Snapshot, given: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The key phrases of each pair of folder id and candidates (JSON), chosen by the term frequencies of the folder."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for space, candidates in given:
        wanted[space].update(candidate_terms(candidates))
    counts = {space: snapshot.frequencies(INDEX, (space,), sorted(terms)) for space, terms in wanted.items()}
    return [choose_by_frequency(candidates, counts[space]) for space, candidates in given]


def _select_by_key(snapshot: Snapshot, select: str, space: str, id_: str, keys: Sequence[Key]) -> list[Row]:
    ids: dict[str, list[str]] = defaultdict(list)
    for owner, each in keys:
        if is_text(each):
            ids[owner].append(each)
    return [row for owner in sorted(ids) for row in select_in(snapshot, select, id_, ids[owner], {space: owner})]

"""SQL rows of documents and chunks, mapped to their types, with the key phrases of documents."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from athand.documents.keyphrases import candidate_terms, choose_by_frequency
from athand.documents.model import Chunk, Document
from athand.documents.scoring import INDEX
from athand.errors import NotFound
from athand.inputs import is_text
from athand.store import Row, Snapshot, to_datetime

CHUNK_COLUMNS = (
    "c.id, c.space, c.document_id, c.position, c.heading, c.names, c.place, c.start_line, c.end_line, "
    "c.start_offset, c.end_offset, c.content"
)
DOCUMENT_COLUMNS = "d.space, d.id, d.title, d.kind, d.language, d.size, d.modified_at, d.lines, d.chunks, d.phrases"
_BATCH = 500

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


def space_condition(spaces: Sequence[str], column: str = "d.space") -> tuple[str, dict[str, Any]]:
    """The SQL condition that a row belongs to one of these folders, with its parameters."""
    values = {f"space{at}": space for at, space in enumerate(spaces)}
    return f"{column} IN ({', '.join(f':{name}' for name in values) or 'NULL'})", dict(values)


def _select_by_key(snapshot: Snapshot, select: str, space: str, id_: str, keys: Sequence[Key]) -> list[Row]:
    found: list[Row] = []
    for owner in sorted({folder for folder, _ in keys}):
        ids = [each for folder, each in keys if folder == owner and is_text(each)]
        for start in range(0, len(ids), _BATCH):
            values = {f"id{at}": each for at, each in enumerate(ids[start : start + _BATCH])}
            marks = ", ".join(f":{name}" for name in values)
            sql = f"{select} WHERE {space} = :space AND {id_} IN ({marks})"
            found += snapshot.rows(sql, {**values, "space": owner})
    return found

"""Folders, documents, their chunks and problems: their tables in portable SQL."""

from athand.documents.scoring import INDEX
from athand.store import Schema, holds_json

TABLES = """
-- The space of everything about documents is the folder's id.
CREATE TABLE document_folders (
    space TEXT NOT NULL,
    path TEXT NOT NULL,
    host TEXT NOT NULL, -- whose path this is
    project TEXT,
    state TEXT NOT NULL, -- pending, indexing, ready, error
    reason TEXT,
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    skipped TEXT NOT NULL DEFAULT '{}', -- how many files were passed over, by reason
    generation INTEGER NOT NULL DEFAULT 0, -- grows whenever a document changes
    key_phrases_at INTEGER NOT NULL DEFAULT 0, -- its passages when the key phrases of all documents were chosen
    added_at INTEGER NOT NULL,
    indexed_at INTEGER, -- when all files were last looked at
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (space)
) WITHOUT ROWID;

CREATE TABLE documents (
    space TEXT NOT NULL,
    id TEXT NOT NULL, -- the path inside the folder
    is_deleted INTEGER NOT NULL DEFAULT 0,
    kind TEXT NOT NULL,
    language TEXT NOT NULL,
    title TEXT NOT NULL,
    encoding TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    stamp TEXT NOT NULL, -- size and time of the file that was read; empty while it may still change unnoticed
    hash TEXT NOT NULL,
    characters INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    phrases TEXT NOT NULL, -- candidates for key phrases with their weights
    key_phrases TEXT NOT NULL DEFAULT '[]', -- those that are rare in the folder, see `index`
    outline TEXT NOT NULL,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;

CREATE TABLE document_chunks (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    position INTEGER NOT NULL, -- among the chunks of its document
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    heading TEXT NOT NULL,
    names TEXT NOT NULL,
    place TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (space, id)
);
CREATE UNIQUE INDEX document_chunks_in_order ON document_chunks (space, document_id, position);

CREATE TABLE document_problems (
    space TEXT NOT NULL,
    id TEXT NOT NULL, -- the path, made visible
    reason TEXT NOT NULL,
    is_indexed INTEGER NOT NULL, -- whether the rest of it is found all the same
    stamp TEXT NOT NULL,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
"""

_CHUNKS = "(SELECT count(*) FROM document_chunks c WHERE c.space = documents.space AND c.document_id = documents.id)"
_CONDITIONS = {
    "documents_passages": "EXISTS (SELECT 1 FROM spaces s JOIN document_chunks c ON c.space = s.space "
    "WHERE s.number = documents_passages.space AND c.id = documents_passages.id "
    "AND c.document_id = documents_passages.item_id)",
    "document_folders": holds_json("skipped", "object"),
    "documents": " AND ".join(
        (f"chunks = {_CHUNKS}", *(holds_json(column, "array") for column in ("phrases", "key_phrases", "outline")))
    ),
    "document_chunks": " AND ".join(holds_json(column, "array") for column in ("heading", "names")),
}
SCHEMA = Schema(INDEX, (TABLES,), conditions=_CONDITIONS)

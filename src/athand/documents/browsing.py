"""Looking around in a folder and reading a document: everything comes from the store, nothing from the disk."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from athand.documents import records
from athand.documents.extract import Heading
from athand.documents.globs import check_path, path_filter
from athand.documents.model import (
    Chunk,
    ChunkPreview,
    Continuation,
    Directory,
    DocumentData,
    DocumentList,
    Subfolder,
)
from athand.documents.records import CHUNK, DOCUMENT, key_phrases, to_chunk, to_documents
from athand.documents.tokens import Tokens
from athand.errors import InvalidInput, NotFound
from athand.inputs import check_count, check_limit, is_text
from athand.store import Row, Snapshot

LIST, DATA = "list_documents", "get_document_data"
MOST_LISTED = 500
MOST_CHUNKS = 100
MOST_NEIGHBOURS = 10
_PREVIEW = 120
_PHRASES_OF_EACH, _PHRASES_TOGETHER = 8, 48


def explore(snapshot: Snapshot, folder_id: str, path: object, freshness: Mapping[str, Any]) -> Directory:
    """What is in a directory of a folder: its subfolders with what they are about, and its documents."""
    directory = _directory(path)
    rows = _below(snapshot, folder_id, directory)
    if not rows and directory:
        raise NotFound(f"No directory {path!r} in {folder_id}. Begin with: athand docs explore {folder_id}")
    inside: dict[str, list[Row]] = defaultdict(list)
    here = []
    for row in rows:
        name, slash, _ = row[1][len(directory) :].partition("/")
        if slash:
            inside[name].append(row)
        else:
            here.append(row)
    return Directory(
        folder_id,
        directory.rstrip("/"),
        tuple(_subfolders(snapshot, folder_id, directory, dict(sorted(inside.items())))),
        tuple(to_documents(snapshot, here)),
        freshness,
    )


def list_documents(
    snapshot: Snapshot, folder_id: str, path: object, limit: int, token: str | None, tokens: Tokens
) -> DocumentList:
    """The documents of a folder in the order of their paths, those a path or pattern fits."""
    path = "" if path in (None, ".", "./") else path
    state = {"folder_id": folder_id, "path": path, "after": ""}
    if token is not None:
        state = tokens.open(LIST, token)
        if state["folder_id"] != folder_id or (path and path != state["path"]):
            raise InvalidInput("folder_id or path differs from the list that the continuation_token goes on with.")
    limit = check_limit(limit, MOST_LISTED)
    chosen = path_filter(check_path(state["path"]) if state["path"] else None)
    where = "i.space = :space" + (f" AND {chosen.where}" if chosen.where else "")
    values = {**chosen.parameters, "space": folder_id, "after": state["after"], "limit": limit + 1}
    columns = DOCUMENT.replace("d.", "i.")
    rows = snapshot.rows(
        f"SELECT {columns} FROM documents i WHERE {where} AND i.id > :after ORDER BY i.id LIMIT :limit", values
    )
    total = snapshot.rows(f"SELECT count(*) FROM documents i WHERE {where}", values)[0][0]
    page = to_documents(snapshot, rows[:limit])
    more = len(rows) > limit
    next_token = tokens.make(LIST, {**state, "after": page[-1].document_id}) if more else None
    return DocumentList(tuple(page), int(total), Continuation(more, next_token))


def get_document_data(
    snapshot: Snapshot,
    folder_id: str,
    document_id: str,
    limit: int,
    token: str | None,
    tokens: Tokens,
    freshness: Mapping[str, Any],
) -> DocumentData:
    """What is known of a document: its outline, its chunks, what is wrong with it."""
    document = records.get_document(snapshot, folder_id, document_id)
    place = {"space": folder_id, "id": document_id}
    [(encoding, characters, outline, hash_)] = snapshot.rows(
        "SELECT encoding, characters, outline, hash FROM documents WHERE space = :space AND id = :id", place
    )
    state = {"folder_id": folder_id, "document_id": document_id, "hash": hash_, "after": -1}
    if token is not None:
        state = tokens.open_for(DATA, token, state)
    limit = check_limit(limit, MOST_LISTED)
    rows = snapshot.rows(
        f"SELECT {CHUNK} FROM document_chunks c WHERE c.space = :space AND c.document_id = :id AND c.position > :after "
        "ORDER BY c.position LIMIT :limit",
        {**place, "after": state["after"], "limit": limit + 1},
    )
    chunks = [to_chunk(row) for row in rows[:limit]]
    more = len(rows) > limit
    problem = snapshot.rows("SELECT reason FROM document_problems WHERE space = :space AND id = :id", place)
    return DocumentData(
        document,
        encoding,
        characters,
        tuple(Heading(*each) for each in json.loads(outline)),
        tuple(map(_preview, chunks)),
        Continuation(more, tokens.make(DATA, {**state, "after": chunks[-1].chunk_index}) if more else None),
        problem[0][0] if problem else None,
        freshness,
    )


def get_chunks(snapshot: Snapshot, folder_id: str, chunk_ids: object, neighbours: int) -> list[Chunk]:
    """The chunks of these ids, and so many before and after each."""
    ids = _chunk_ids(chunk_ids)
    around = check_count("neighbours", neighbours, MOST_NEIGHBOURS)
    found = records.chunks_by_id(snapshot, [(folder_id, each) for each in ids])
    missing = [each for each in ids if (folder_id, each) not in found]
    if missing:
        raise NotFound(f"No chunk {missing[0]!r} in {folder_id}: its document may have changed. Search again.")
    chosen = {each.chunk_id: each for each in found.values()}
    if around:
        for each in found.values():
            chosen |= {other.chunk_id: other for other in _around(snapshot, each, around)}
    return sorted(chosen.values(), key=lambda each: (each.document_id, each.chunk_index))


def _chunk_ids(given: object) -> list[str]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(each, str) for each in listed):
        raise InvalidInput("chunk_ids must be a list of ids, as a search gives them.")
    if len(listed) > MOST_CHUNKS:
        raise InvalidInput(f"chunk_ids has {len(listed)} ids; at most {MOST_CHUNKS} at once.")
    return list(dict.fromkeys(listed))


def _around(snapshot: Snapshot, chunk: Chunk, distance: int) -> list[Chunk]:
    rows = snapshot.rows(
        f"SELECT {CHUNK} FROM document_chunks c WHERE c.space = :space AND c.document_id = :document "
        "AND c.position >= :first AND c.position <= :last",
        {
            "space": chunk.folder_id,
            "document": chunk.document_id,
            "first": chunk.chunk_index - distance,
            "last": chunk.chunk_index + distance,
        },
    )
    return [to_chunk(row) for row in rows]


def _directory(path: object) -> str:
    """A directory as the beginning of the paths in it."""
    if not isinstance(path, str) or not is_text(path):
        raise InvalidInput(f"path must be a directory inside of the folder, not {path!r}.")
    inside = path.removeprefix("./").strip("/")
    return f"{inside}/" if inside and inside != "." else ""


def _below(snapshot: Snapshot, folder_id: str, directory: str) -> list[Row]:
    return snapshot.rows(
        f"SELECT {DOCUMENT} FROM documents d WHERE d.space = :space AND d.id >= :first AND d.id < :last ORDER BY d.id",
        {"space": folder_id, "first": directory, "last": directory[:-1] + "0" if directory else chr(0x10FFFF)},
    )


def _subfolders(
    snapshot: Snapshot, folder_id: str, directory: str, inside: Mapping[str, Sequence[Row]]
) -> list[Subfolder]:
    phrases = key_phrases(snapshot, [(folder_id, _together(rows)) for rows in inside.values()])
    return [
        Subfolder(f"{directory}{name}", len(rows), sum(row[5] for row in rows), chosen)
        for (name, rows), chosen in zip(inside.items(), phrases, strict=True)
    ]


def _together(rows: Sequence[Row]) -> str:
    """The candidates of all documents of a directory, as JSON: a phrase that several have counts more."""
    weights: dict[str, float] = defaultdict(float)
    for row in rows:
        for phrase, weight in json.loads(row[9])[:_PHRASES_OF_EACH]:
            weights[phrase] += weight
    return json.dumps(sorted(weights.items(), key=lambda each: (-each[1], each[0]))[:_PHRASES_TOGETHER])


def _preview(chunk: Chunk) -> ChunkPreview:
    begin = " ".join(chunk.content[: 2 * _PREVIEW].split())
    shown = begin if len(begin) <= _PREVIEW else f"{begin[: _PREVIEW - 1]}…"
    return ChunkPreview(
        chunk.chunk_id, chunk.chunk_index, chunk.heading, chunk.place, chunk.start_line, chunk.end_line, shown
    )

"""Listing directories and documents, and reading text and chunks: all from the store, nothing from the disk."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from athand.documents.cursors import Cursors
from athand.documents.extract import Heading
from athand.documents.globs import check_path, path_filter
from athand.documents.model import (
    Chunk,
    ChunkPreview,
    Continuation,
    Directory,
    DocumentData,
    DocumentList,
    DocumentText,
    Subfolder,
)
from athand.documents.rows import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    choose_key_phrases,
    chunks_by_id,
    get_document,
    get_document_columns,
    to_chunk,
    to_document,
)
from athand.errors import InvalidInput, NotFound
from athand.inputs import check_count, check_limit, is_text
from athand.store import Row, Snapshot
from athand.text_length import shorten

_LIST, _DATA, _TEXT = "list_documents", "get_document_data", "get_document_text"  # kinds of cursors
MAX_LISTED = 500  # documents or chunks per page
MAX_CHUNKS = 100
MAX_NEIGHBOURS = 10
MAX_CHARACTERS = 200_000
_MAX_LINES = 1_000_000_000
_CHUNK_BATCH = 32  # chunks read together
_PREVIEW_LENGTH = 120
_PLACE = re.compile(r"([^/]+)/(.+?)(?::(\d+)(?:-\d+)?)?")
_PHRASES_OF_EACH, _PHRASES_TOGETHER = 8, 48


def explore(snapshot: Snapshot, folder_id: str, path: object, freshness: Mapping[str, Any]) -> Directory:
    """A directory of a folder: its subfolders with key phrases, and its documents."""
    directory = _to_prefix(path)
    rows = _read_rows_below(snapshot, folder_id, directory)
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
        tuple(_to_subfolders(snapshot, folder_id, directory, dict(sorted(inside.items())))),
        tuple(map(to_document, here)),
        freshness,
    )


def list_documents(
    snapshot: Snapshot, folder_id: str, path: object, limit: int, token: str | None, cursors: Cursors
) -> DocumentList:
    """A page of the documents that match a path or glob, ordered by path."""
    path = "" if path in (None, ".", "./") else path
    state = {"folder_id": folder_id, "path": path, "after": ""}
    if token is not None:
        state = cursors.decode(_LIST, token)
        if state["folder_id"] != folder_id or (path and path != state["path"]):
            raise InvalidInput("folder_id or path differs from the list that the continuation_token continues.")
    limit = check_limit(limit, MAX_LISTED)
    chosen = path_filter(check_path(state["path"]) if state["path"] else None)
    where = "i.space = :space" + (f" AND {chosen.where}" if chosen.where else "")
    values = {**chosen.parameters, "space": folder_id, "after": state["after"], "limit": limit + 1}
    columns = DOCUMENT_COLUMNS.replace("d.", "i.")
    rows = snapshot.rows(
        f"SELECT {columns} FROM documents i WHERE {where} AND i.id > :after ORDER BY i.id LIMIT :limit", values
    )
    total = snapshot.rows(f"SELECT count(*) FROM documents i WHERE {where}", values)[0][0]
    page = [to_document(row) for row in rows[:limit]]
    more = len(rows) > limit
    next_token = cursors.encode(_LIST, {**state, "after": page[-1].document_id}) if more else None
    return DocumentList(tuple(page), int(total), Continuation(more, next_token))


def get_document_data(
    snapshot: Snapshot,
    folder_id: str,
    document_id: str,
    limit: int,
    token: str | None,
    cursors: Cursors,
    freshness: Mapping[str, Any],
) -> DocumentData:
    """Metadata of a document: outline, a page of its chunks, and its problem if it has one."""
    document = get_document(snapshot, folder_id, document_id)
    encoding, characters, outline, hash_ = get_document_columns(
        snapshot, folder_id, document_id, "encoding, characters, outline, hash"
    )
    state = {"folder_id": folder_id, "document_id": document_id, "hash": hash_, "after": -1}
    if token is not None:
        state = cursors.decode_for_document(_DATA, token, state)
    limit = check_limit(limit, MAX_LISTED)
    chunks = _read_chunks_after(snapshot, folder_id, document_id, state["after"], limit + 1)
    page, more = chunks[:limit], len(chunks) > limit
    return DocumentData(
        document,
        encoding,
        characters,
        tuple(Heading(*each) for each in json.loads(outline)),
        tuple(map(_to_preview, page)),
        Continuation(more, cursors.encode(_DATA, {**state, "after": page[-1].chunk_index}) if more else None),
        _read_problem(snapshot, folder_id, document_id),
        freshness,
    )


def _read_chunks_after(snapshot: Snapshot, folder_id: str, document_id: str, position: int, limit: int) -> list[Chunk]:
    rows = snapshot.rows(
        f"SELECT {CHUNK_COLUMNS} FROM document_chunks c WHERE c.space = :space AND c.document_id = :id "
        "AND c.position > :after ORDER BY c.position LIMIT :limit",
        {"space": folder_id, "id": document_id, "after": position, "limit": limit},
    )
    return [to_chunk(row) for row in rows]


def _read_problem(snapshot: Snapshot, folder_id: str, document_id: str) -> str | None:
    sql = "SELECT reason FROM document_problems WHERE space = :space AND id = :id"
    rows = snapshot.rows(sql, {"space": folder_id, "id": document_id})
    return rows[0][0] if rows else None


def get_chunks(snapshot: Snapshot, folder_id: str, chunk_ids: object, neighbours: int) -> list[Chunk]:
    """Chunks by id, with `neighbours` before and after each."""
    ids = _check_chunk_ids(chunk_ids)
    around = check_count("neighbours", neighbours, MAX_NEIGHBOURS)
    found = chunks_by_id(snapshot, [(folder_id, each) for each in ids])
    missing = [each for each in ids if (folder_id, each) not in found]
    if missing:
        raise NotFound(f"No chunk {missing[0]!r} in {folder_id}: its document may have changed. Search again.")
    chosen = {each.chunk_id: each for each in found.values()}
    if around:
        for each in found.values():
            chosen |= {other.chunk_id: other for other in _read_neighbours(snapshot, each, around)}
    return sorted(chosen.values(), key=lambda each: (each.document_id, each.chunk_index))


def find_folder_of(snapshot: Snapshot, chunk_id: str, folder_ids: Sequence[str]) -> str:
    """The folder that has a chunk with this id."""
    for folder_id, _ in chunks_by_id(snapshot, [(each, chunk_id) for each in folder_ids]):
        return folder_id
    raise NotFound(f"No chunk {chunk_id!r}: its document may have changed. Search again.")


def parse_place(place: str) -> tuple[str, str, int | None]:
    """Folder, document and first line of a place as hits name it: folder/path:10-20."""
    found = _PLACE.fullmatch(place)
    if found is None:
        raise NotFound(f"{place!r} names no document: a place is folder/path or folder/path:line.")
    return found[1], found[2], int(found[3]) if found[3] else None


def _check_chunk_ids(given: object) -> list[str]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(each, str) for each in listed):
        raise InvalidInput("chunk_ids must be a list of ids, as a search gives them.")
    if len(listed) > MAX_CHUNKS:
        raise InvalidInput(f"chunk_ids has {len(listed)} ids; at most {MAX_CHUNKS} at once.")
    return list(dict.fromkeys(listed))


def _read_neighbours(snapshot: Snapshot, chunk: Chunk, distance: int) -> list[Chunk]:
    rows = snapshot.rows(
        f"SELECT {CHUNK_COLUMNS} FROM document_chunks c WHERE c.space = :space AND c.document_id = :document "
        "AND c.position >= :first AND c.position <= :last",
        {
            "space": chunk.folder_id,
            "document": chunk.document_id,
            "first": chunk.chunk_index - distance,
            "last": chunk.chunk_index + distance,
        },
    )
    return [to_chunk(row) for row in rows]


def _to_prefix(path: object) -> str:
    """A directory as the prefix of the paths in it."""
    if not isinstance(path, str) or not is_text(path):
        raise InvalidInput(f"path must be a directory inside of the folder, not {path!r}.")
    inside = path.removeprefix("./").strip("/")
    return f"{inside}/" if inside and inside != "." else ""


def _read_rows_below(snapshot: Snapshot, folder_id: str, directory: str) -> list[Row]:
    return snapshot.rows(
        f"SELECT {DOCUMENT_COLUMNS}, d.phrases FROM documents d "
        "WHERE d.space = :space AND d.id >= :first AND d.id < :last ORDER BY d.id",
        {"space": folder_id, "first": directory, "last": directory[:-1] + "0" if directory else chr(0x10FFFF)},
    )


def _to_subfolders(
    snapshot: Snapshot, folder_id: str, directory: str, inside: Mapping[str, Sequence[Row]]
) -> list[Subfolder]:
    phrases = choose_key_phrases(snapshot, folder_id, [_merge_phrases(rows) for rows in inside.values()])
    return [
        Subfolder(f"{directory}{name}", len(rows), sum(row[5] for row in rows), chosen)
        for (name, rows), chosen in zip(inside.items(), phrases, strict=True)
    ]


def _merge_phrases(rows: Sequence[Row]) -> str:
    """The summed candidates of all documents of a directory, as JSON."""
    weights: dict[str, float] = defaultdict(float)
    for row in rows:
        for phrase, weight in json.loads(row[-1])[:_PHRASES_OF_EACH]:
            weights[phrase] += weight
    return json.dumps(sorted(weights.items(), key=lambda each: (-each[1], each[0]))[:_PHRASES_TOGETHER])


def _to_preview(chunk: Chunk) -> ChunkPreview:
    begin = " ".join(chunk.content[: 2 * _PREVIEW_LENGTH].split())
    return ChunkPreview(
        chunk.chunk_id,
        chunk.chunk_index,
        chunk.heading,
        chunk.place,
        chunk.start_line,
        chunk.end_line,
        shorten(begin, _PREVIEW_LENGTH),
    )


def get_document_text(
    snapshot: Snapshot,
    folder_id: str,
    document_id: str,
    start_line: int | None,
    end_line: int | None,
    max_chars: int,
    token: str | None,
    cursors: Cursors,
) -> DocumentText:
    """A window of a document's text with the cursor of the next one."""
    hash_, characters, line_count = get_document_columns(snapshot, folder_id, document_id, "hash, characters, lines")
    max_length = max(1, check_count("max_chars", max_chars, MAX_CHARACTERS))
    document = {"folder_id": folder_id, "document_id": document_id, "hash": hash_}
    lines = [start_line, end_line]
    if token is not None:
        state = cursors.decode_for_document(_TEXT, token, document)
        start, stop, lines = state["start"], state["stop"], _check_same_lines(state["lines"], lines)
    else:
        start, stop = _line_range_offsets(snapshot, folder_id, document_id, start_line, end_line, line_count)
    end = min(start + max_length, stop)
    text = _read_between(snapshot, folder_id, document_id, start, end)
    first = _line_at(snapshot, folder_id, document_id, start)
    last = first + text.count("\n") - text.endswith("\n") if text else first
    more = end < stop
    next_token = cursors.encode(_TEXT, {**document, "start": end, "stop": stop, "lines": lines}) if more else None
    continuation = Continuation(more, next_token)
    return DocumentText(folder_id, document_id, text, start, end, first, last, characters, line_count, continuation)


def _check_same_lines(known: list[int | None], given: list[int | None]) -> list[int | None]:
    if any(line not in (None, own) for line, own in zip(given, known, strict=True)):
        raise InvalidInput("The lines differ from those that the continuation_token continues. Leave them out.")
    return known


def _line_range_offsets(
    snapshot: Snapshot, folder_id: str, document_id: str, first: int | None, last: int | None, lines: int
) -> tuple[int, int]:
    """Start and end offset of a range of lines, both inclusive."""
    first = 1 if first is None else _check_line("start_line", first)
    last = max(first, lines) if last is None else _check_line("end_line", last)
    if last < first:
        raise InvalidInput(f"end_line {last} comes before start_line {first}.")
    return _line_offset(snapshot, folder_id, document_id, first), _line_offset(
        snapshot, folder_id, document_id, last + 1
    )


def _check_line(what: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_LINES:
        raise InvalidInput(f"{what} must be a whole number from 1 to {_MAX_LINES:,}, not {value!r}.")
    return value


def _line_offset(snapshot: Snapshot, folder_id: str, document_id: str, line: int) -> int:
    """The offset at which a line begins; the end of the text for a line after the last."""
    place = {"space": folder_id, "id": document_id, "line": line}
    inside = "FROM document_chunks WHERE space = :space AND document_id = :id"
    # The first chunk that reaches the line contains its beginning.
    found = snapshot.rows(
        f"SELECT start_offset, start_line, content {inside} AND end_line >= :line ORDER BY position LIMIT 1", place
    )
    if not found:
        return int(snapshot.rows(f"SELECT max(end_offset) {inside}", place)[0][0])
    start, first, content = found[0]
    at = 0
    for _ in range(line - first):
        at = content.index("\n", at) + 1
    return int(start) + at


def _line_at(snapshot: Snapshot, folder_id: str, document_id: str, offset: int) -> int:
    """The line of an offset."""
    found = snapshot.rows(
        "SELECT start_offset, start_line, content FROM document_chunks WHERE space = :space AND document_id = :id "
        "AND start_offset <= :offset ORDER BY position DESC LIMIT 1",
        {"space": folder_id, "id": document_id, "offset": offset},
    )
    start, line, content = found[0] if found else (0, 1, "")
    return int(line) + int(content[: offset - start].count("\n"))


def _read_between(snapshot: Snapshot, folder_id: str, document_id: str, start: int, end: int) -> str:
    """The text between two offsets, joined from chunks without their overlaps."""
    pieces = []
    reached = start
    for at, content in _iterate_chunks(snapshot, folder_id, document_id, start, end):
        if at + len(content) > reached:
            pieces.append(content[reached - at : end - at])
            reached = min(end, at + len(content))
    return "".join(pieces)


def _iterate_chunks(
    snapshot: Snapshot, folder_id: str, document_id: str, start: int, end: int
) -> Iterator[tuple[int, str]]:
    after = -1
    while True:
        rows = snapshot.rows(
            "SELECT position, start_offset, content FROM document_chunks WHERE space = :space AND document_id = :id "
            "AND position > :after AND end_offset > :start AND start_offset < :end ORDER BY position LIMIT :limit",
            {
                "space": folder_id,
                "id": document_id,
                "after": after,
                "start": start,
                "end": end,
                "limit": _CHUNK_BATCH,
            },
        )
        yield from ((offset, content) for _, offset, content in rows)
        if len(rows) < _CHUNK_BATCH:
            return
        after = rows[-1][0]

"""The exact text of a document, rebuilt from its chunks: by lines, or window by window."""

from collections.abc import Iterator

from athand.documents import records
from athand.documents.model import Continuation, DocumentText
from athand.documents.tokens import Tokens
from athand.errors import InvalidInput
from athand.inputs import check_count
from athand.store import Snapshot

KIND = "get_document_text"
MOST_CHARACTERS = 200_000
_AT_ONCE = 32
_MOST_LINES = 1_000_000_000


def get_document_text(
    snapshot: Snapshot,
    folder_id: str,
    document_id: str,
    start_line: int | None,
    end_line: int | None,
    max_chars: int,
    token: str | None,
    tokens: Tokens,
) -> DocumentText:
    """A window of a document's text, and the token of the next one."""
    document = records.get_document(snapshot, folder_id, document_id)
    most = max(1, check_count("max_chars", max_chars, MOST_CHARACTERS))
    [(hash_, characters)] = snapshot.rows(
        "SELECT hash, characters FROM documents WHERE space = :space AND id = :id",
        {"space": folder_id, "id": document_id},
    )
    place = {"folder_id": folder_id, "document_id": document_id, "hash": hash_}
    lines = [start_line, end_line]
    if token is not None:
        state = tokens.open_for(KIND, token, place)
        start, stop, lines = state["start"], state["stop"], _same_lines(state["lines"], lines)
    else:
        start, stop = _lines(snapshot, folder_id, document_id, start_line, end_line, document.lines)
    end = min(start + most, stop)
    text = _between(snapshot, folder_id, document_id, start, end)
    first = _line_at(snapshot, folder_id, document_id, start)
    last = first + text.count("\n") - text.endswith("\n") if text else first
    more = end < stop
    next_token = tokens.make(KIND, {**place, "start": end, "stop": stop, "lines": lines}) if more else None
    continuation = Continuation(more, next_token)
    return DocumentText(folder_id, document_id, text, start, end, first, last, characters, document.lines, continuation)


def _same_lines(known: list[int | None], given: list[int | None]) -> list[int | None]:
    if any(line not in (None, own) for line, own in zip(given, known, strict=True)):
        raise InvalidInput("The lines differ from those that the continuation_token goes on with. Leave them out.")
    return known


def _lines(
    snapshot: Snapshot, folder_id: str, document_id: str, first: int | None, last: int | None, lines: int
) -> tuple[int, int]:
    """The offsets of a range of lines; both ends are part of it."""
    first = 1 if first is None else _line("start_line", first)
    last = max(first, lines) if last is None else _line("end_line", last)
    if last < first:
        raise InvalidInput(f"end_line {last} comes before start_line {first}.")
    return _offset(snapshot, folder_id, document_id, first), _offset(snapshot, folder_id, document_id, last + 1)


def _line(what: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_LINES:
        raise InvalidInput(f"{what} must be a whole number from 1 to {_MOST_LINES:,}, not {value!r}.")
    return value


def _offset(snapshot: Snapshot, folder_id: str, document_id: str, line: int) -> int:
    """Where a line begins; the end of the text for one behind the last."""
    place = {"space": folder_id, "id": document_id, "line": line}
    inside = "FROM document_chunks WHERE space = :space AND document_id = :id"
    # The first chunk that reaches the line holds its beginning.
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
    """The line that a place is in; the one after all others, behind a newline at the end."""
    found = snapshot.rows(
        "SELECT start_offset, start_line, content FROM document_chunks WHERE space = :space AND document_id = :id "
        "AND start_offset <= :offset ORDER BY position DESC LIMIT 1",
        {"space": folder_id, "id": document_id, "offset": offset},
    )
    start, line, content = found[0] if found else (0, 1, "")
    return int(line) + int(content[: offset - start].count("\n"))


def _between(snapshot: Snapshot, folder_id: str, document_id: str, start: int, end: int) -> str:
    """The characters between two offsets; what chunks have in common is taken once."""
    pieces = []
    reached = start
    for at, content in _chunks(snapshot, folder_id, document_id, start, end):
        if at + len(content) > reached:
            pieces.append(content[reached - at : end - at])
            reached = min(end, at + len(content))
    return "".join(pieces)


def _chunks(snapshot: Snapshot, folder_id: str, document_id: str, start: int, end: int) -> Iterator[tuple[int, str]]:
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
                "limit": _AT_ONCE,
            },
        )
        yield from ((offset, content) for _, offset, content in rows)
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1][0]

"""From the bytes of a file to what is kept of it: text, chunks, passages. Nothing is written here."""

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from athand.documents import chunking, keywords
from athand.documents.extract import Extract, Kind, Mark, Piece, Unreadable
from athand.documents.readers import Readers, kind_of
from athand.documents.walking import Stamp
from athand.redaction import redact, redact_in_lines
from athand.store import Passage

_LABEL = re.compile(r"\[redacted: [^\]]+\]")
_LEAST_LEFT = 16  # letters and digits beside the keys, for a file to be more than keys
_LONGEST_TITLE = 200
_LONGEST_OUTLINE = 500
_PHRASES = 16  # to choose a few key phrases from
# A file that was changed just now may be changed again within the same tick of its clock.
_SETTLED_NS = 100_000_000
_FUTURE_NS = 3_600_000_000_000  # no clock that still ticks is as far ahead

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be written; `note` says what is not quite right with it."""

    row: Values
    chunks: Sequence[Values]
    passages: Sequence[Passage]
    note: str


def content_hash(data: bytes) -> str:
    """Equal for equal files."""
    return hashlib.sha256(data).hexdigest()


def settled_stamp(stamp: Stamp, now_ns: int) -> str:
    """What tells a file that did not change; empty while that cannot be told yet."""
    is_recent = now_ns - _SETTLED_NS < stamp.modified_ns < now_ns + _FUTURE_NS
    return "" if is_recent or stamp.is_torn else str(stamp)


def prepare(readers: Readers, space: str, path: str, data: bytes, stamp: Stamp, now_ns: int) -> Prepared:
    """Read, redact and cut a file; Unreadable says why it cannot be."""
    kind = kind_of(path)
    extract = _redacted(readers.read(kind, data))
    kind = kind or Kind("text")
    pieces = chunking.cut(extract, kind)
    outline = [[each.title, each.level, each.line] for each in chunking.outline(extract, kind)[:_LONGEST_OUTLINE]]
    row = {
        "space": space,
        "id": path,
        "kind": kind.name,
        "language": kind.language,
        "title": _title(extract, pieces, outline, path),
        "encoding": extract.encoding,
        "size": stamp.size,
        "modified_at": max(0, stamp.modified_ns) // 1000,
        "stamp": settled_stamp(stamp, now_ns),
        "hash": content_hash(data),
        "characters": len(extract.text),
        "lines": extract.text.count("\n") + (not extract.text.endswith("\n")),
        "chunks": len(pieces),
        "phrases": json.dumps(keywords.candidates(extract.text, pieces, kind, _PHRASES), ensure_ascii=False),
        "outline": json.dumps(outline, ensure_ascii=False),
    }
    chunks = [_chunk(space, path, at, piece, extract.text) for at, piece in enumerate(pieces)]
    return Prepared(row, chunks, [to_passage(chunk) for chunk in chunks], extract.note)


def to_passage(chunk: Values) -> Passage:
    """What of a chunk is matched: its text, where it stands, what it defines, and the path of its document."""
    heading, names = json.loads(chunk["heading"]), json.loads(chunk["names"])
    where = " > ".join(heading)
    return Passage(
        chunk["id"],
        chunk["document_id"],
        chunk["space"],
        (chunk["content"], " ".join(heading), " ".join(names), chunk["document_id"]),
        f"{where}\n{chunk['content']}" if where else chunk["content"],
        0,
        chunk["content"],
    )


def _chunk(space: str, path: str, position: int, piece: Piece, text: str) -> Values:
    content = text[piece.start : piece.end]
    address = "\0".join((space, path, str(position), content))
    return {
        "space": space,
        "id": hashlib.sha256(address.encode()).hexdigest()[:20],
        "document_id": path,
        "position": position,
        "start_offset": piece.start,
        "end_offset": piece.end,
        "start_line": piece.start_line,
        "end_line": piece.end_line,
        "heading": json.dumps(piece.heading, ensure_ascii=False),
        "names": json.dumps(piece.names, ensure_ascii=False),
        "place": piece.place,
        "content": content,
    }


def _title(extract: Extract, pieces: Sequence[Piece], outline: Sequence[Sequence[Any]], path: str) -> str:
    first = pieces[0].heading[0] if pieces and pieces[0].heading else ""
    top = next((title for title, level, _ in outline if level == 1), "")
    name = path.rpartition("/")[2]
    return (extract.title or (first or top if extract.marks or name.endswith((".md", ".rst")) else "") or name)[
        :_LONGEST_TITLE
    ]


def _redacted(extract: Extract) -> Extract:
    """The text without secrets; a file that is nothing but keys is refused."""
    clean = redact_in_lines(extract.text)
    labelled = tuple(replace(mark, label=redact(mark.label)) for mark in extract.marks)
    extract = replace(extract, title=redact(extract.title), marks=labelled)
    if clean == extract.text:
        return extract
    if sum(map(str.isalnum, _LABEL.sub("", clean))) < _LEAST_LEFT:
        raise Unreadable("quarantined: it holds nothing but keys")
    if not extract.marks:
        return replace(extract, text=clean)
    if clean.count("\n") == extract.text.count("\n"):
        return replace(extract, text=clean, marks=_in_their_lines(extract, clean))
    return _redacted_between(extract)


def _in_their_lines(extract: Extract, clean: str) -> tuple[Mark, ...]:
    """The marks in the lines they were in; a key may go on from one page to the next."""
    before, after = _line_starts(extract.text), _line_starts(clean)
    marks = []
    for mark in extract.marks:
        line = bisect_right(before, mark.offset) - 1
        end = after[line + 1] - 1 if line + 1 < len(after) else len(clean)
        marks.append(replace(mark, offset=min(after[line] + mark.offset - before[line], end)))
    return tuple(marks)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _redacted_between(extract: Extract) -> Extract:
    """Redacted from mark to mark, so that every mark stays where it belongs."""
    ends = [*(mark.offset for mark in extract.marks[1:]), len(extract.text)]
    text = redact_in_lines(extract.text[: extract.marks[0].offset])
    marks: list[Mark] = []
    for mark, end in zip(extract.marks, ends, strict=True):
        marks.append(replace(mark, offset=len(text)))
        text += redact_in_lines(extract.text[mark.offset : end])
    return replace(extract, text=text, marks=tuple(marks))


def rows_of(prepared: Iterable[Prepared]) -> list[Values]:
    """The chunks of several documents."""
    return [chunk for each in prepared for chunk in each.chunks]

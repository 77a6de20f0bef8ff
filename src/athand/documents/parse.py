"""From the bytes of a file to what is kept of it: text, chunks, passages. Nothing is written here."""

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from athand.documents import chunking, keyphrases
from athand.documents.extract import ChunkSpan, Extract, FileKind, Marker, UnreadableFile
from athand.documents.readers import Readers
from athand.documents.readers.kinds import detect_kind
from athand.documents.walk import FileStamp
from athand.redaction import redact, redact_in_lines
from athand.store import Passage

_REDACTION_LABEL = re.compile(r"\[redacted: [^\]]+\]")
_MIN_CHARACTERS_LEFT = 16  # letters and digits beside the keys, for a file to be more than keys
_MAX_TITLE = 200
_MAX_OUTLINE = 500
_MAX_PHRASES = 16  # to choose a few key phrases from
# A file that was changed just now may be changed again within the same tick of its clock.
_SETTLED_NS = 100_000_000
_FUTURE_NS = 3_600_000_000_000  # no clock that still ticks is as far ahead

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document ready to be written; `note` says what is not quite right with it."""

    row: Values
    chunks: Sequence[Values]
    passages: Sequence[Passage]
    note: str


def content_hash(data: bytes) -> str:
    """Equal for equal files."""
    return hashlib.sha256(data).hexdigest()


def settled_stamp(stamp: FileStamp, now_ns: int) -> str:
    """What tells a file that did not change; empty while that cannot be told yet."""
    is_recent = now_ns - _SETTLED_NS < stamp.modified_ns < now_ns + _FUTURE_NS
    return "" if is_recent or stamp.is_torn else str(stamp)


def parse_file(readers: Readers, space: str, path: str, data: bytes, stamp: FileStamp, now_ns: int) -> ParsedDocument:
    """Read, redact and cut a file; Unreadable says why it cannot be."""
    kind = detect_kind(path)
    extract = _redact_extract(readers.read(kind, data))
    kind = kind or FileKind("text")
    spans = chunking.chunk_text(extract, kind)
    outline = [[each.title, each.level, each.line] for each in chunking.extract_outline(extract, kind)[:_MAX_OUTLINE]]
    row = {
        "space": space,
        "id": path,
        "kind": kind.name,
        "language": kind.language,
        "title": _choose_title(extract, spans, outline, path),
        "encoding": extract.encoding,
        "size": stamp.size,
        "modified_at": max(0, stamp.modified_ns) // 1000,
        "stamp": settled_stamp(stamp, now_ns),
        "hash": content_hash(data),
        "characters": len(extract.text),
        "lines": extract.text.count("\n") + (not extract.text.endswith("\n")),
        "chunks": len(spans),
        "phrases": json.dumps(
            keyphrases.phrase_candidates(extract.text, spans, kind, _MAX_PHRASES), ensure_ascii=False
        ),
        "outline": json.dumps(outline, ensure_ascii=False),
    }
    chunks = [_to_chunk_row(space, path, at, span, extract.text) for at, span in enumerate(spans)]
    return ParsedDocument(row, chunks, [to_passage(chunk) for chunk in chunks], extract.note)


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


def _to_chunk_row(space: str, path: str, position: int, span: ChunkSpan, text: str) -> Values:
    content = text[span.start : span.end]
    address = "\0".join((space, path, str(position), content))
    return {
        "space": space,
        "id": hashlib.sha256(address.encode()).hexdigest()[:20],
        "document_id": path,
        "position": position,
        "start_offset": span.start,
        "end_offset": span.end,
        "start_line": span.start_line,
        "end_line": span.end_line,
        "heading": json.dumps(span.heading, ensure_ascii=False),
        "names": json.dumps(span.names, ensure_ascii=False),
        "place": span.place,
        "content": content,
    }


def _choose_title(extract: Extract, spans: Sequence[ChunkSpan], outline: Sequence[Sequence[Any]], path: str) -> str:
    first = spans[0].heading[0] if spans and spans[0].heading else ""
    top = next((title for title, level, _ in outline if level == 1), "")
    name = path.rpartition("/")[2]
    return (extract.title or (first or top if extract.markers or name.endswith((".md", ".rst")) else "") or name)[
        :_MAX_TITLE
    ]


def _redact_extract(extract: Extract) -> Extract:
    """The text without secrets; a file that is nothing but keys is refused."""
    clean = redact_in_lines(extract.text)
    labelled = tuple(replace(marker, label=redact(marker.label)) for marker in extract.markers)
    extract = replace(extract, title=redact(extract.title), markers=labelled)
    if clean == extract.text:
        return extract
    if sum(map(str.isalnum, _REDACTION_LABEL.sub("", clean))) < _MIN_CHARACTERS_LEFT:
        raise UnreadableFile("quarantined: it holds nothing but keys")
    if not extract.markers:
        return replace(extract, text=clean)
    if clean.count("\n") == extract.text.count("\n"):
        return replace(extract, text=clean, markers=_move_markers(extract, clean))
    return _redact_between_markers(extract)


def _move_markers(extract: Extract, clean: str) -> tuple[Marker, ...]:
    """The marks in the lines they were in; a key may go on from one page to the next."""
    before, after = _line_starts(extract.text), _line_starts(clean)
    markers = []
    for marker in extract.markers:
        line = bisect_right(before, marker.offset) - 1
        end = after[line + 1] - 1 if line + 1 < len(after) else len(clean)
        markers.append(replace(marker, offset=min(after[line] + marker.offset - before[line], end)))
    return tuple(markers)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _redact_between_markers(extract: Extract) -> Extract:
    """Redacted from mark to mark, so that every mark stays where it belongs."""
    ends = [*(marker.offset for marker in extract.markers[1:]), len(extract.text)]
    text = redact_in_lines(extract.text[: extract.markers[0].offset])
    markers: list[Marker] = []
    for marker, end in zip(extract.markers, ends, strict=True):
        markers.append(replace(marker, offset=len(text)))
        text += redact_in_lines(extract.text[marker.offset : end])
    return replace(extract, text=text, markers=tuple(markers))


def rows_of(prepared: Iterable[ParsedDocument]) -> list[Values]:
    """The chunks of several documents."""
    return [chunk for each in prepared for chunk in each.chunks]

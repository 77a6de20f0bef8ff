"""Parses a file: from its bytes to the rows and passages that are stored of it. Writes nothing."""

import hashlib
import json
import re
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from athand.documents import keyphrases
from athand.documents.context import DocumentContext
from athand.documents.extract import ChunkSpan, Extract, FileKind, Marker, UnreadableFile
from athand.documents.model import Chunk
from athand.documents.readers.kinds import detect_kind
from athand.documents.redaction import Redact
from athand.documents.rows import to_chunk_row, to_passage
from athand.documents.walk import FileStamp
from athand.store import Passage

_REDACTION_LABEL = re.compile(r"\[redacted: [^\]]+\]")
_MIN_CHARACTERS_LEFT = 16  # letters and digits outside of redacted keys, for a file not to be quarantined
_MAX_TITLE = 200
_MAX_OUTLINE = 500
_MAX_PHRASES = 16  # candidates, of which a few are shown
# A file changed this recently may be changed again with an equal modification time.
_SETTLED_NS = 100_000_000
_FUTURE_NS = 3_600_000_000_000  # modification times further ahead are not caused by clock skew

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document ready to be stored; `note` says what was guessed or left out."""

    row: Values
    chunks: Sequence[Values]
    passages: Sequence[Passage]
    note: str


def content_hash(data: bytes, reading: str) -> str:
    """SHA-256 of a file and of how it is read: read in another way, it counts as changed."""
    return hashlib.sha256(reading.encode() + data).hexdigest()


def settled_stamp(stamp: FileStamp, now_ns: int, reading: str) -> str:
    """The stamp that identifies an unchanged file; empty while it may still change within one clock tick."""
    is_recent = now_ns - _SETTLED_NS < stamp.modified_ns < now_ns + _FUTURE_NS
    return "" if is_recent or stamp.is_torn else f"{stamp} {reading}"


def parse_file(context: DocumentContext, space: str, path: str, data: bytes, file: FileStamp) -> ParsedDocument:
    """Reads, redacts and chunks a file; raises UnreadableFile with the reason."""
    kind, now_ns = detect_kind(path), time.time_ns()
    extract = _redact_extract(context.readers.read(kind, data), context.redact)
    kind = kind or FileKind("text")
    from athand.documents import chunking  # its grammars take a while to compile; a search needs none

    spans = chunking.chunk_text(extract, kind)
    outline = [[each.title, each.level, each.line] for each in chunking.extract_outline(extract, kind)[:_MAX_OUTLINE]]
    row = {
        "space": space,
        "id": path,
        "kind": kind.name,
        "language": kind.language,
        "title": _choose_title(extract, spans, outline, path),
        "encoding": extract.encoding,
        "size": file.size,
        "modified_at": max(0, file.modified_ns) // 1000,
        "stamp": settled_stamp(file, now_ns, context.reading),
        "hash": content_hash(data, context.reading),
        "characters": len(extract.text),
        "lines": extract.text.count("\n") + (not extract.text.endswith("\n")),
        "chunks": len(spans),
        "phrases": json.dumps(
            keyphrases.phrase_candidates(extract.text, spans, kind, _MAX_PHRASES), ensure_ascii=False
        ),
        "outline": json.dumps(outline, ensure_ascii=False),
    }
    chunks = [_to_chunk(space, path, at, span, extract.text) for at, span in enumerate(spans)]
    return ParsedDocument(row, list(map(to_chunk_row, chunks)), list(map(to_passage, chunks)), extract.note)


def _to_chunk(space: str, path: str, position: int, span: ChunkSpan, text: str) -> Chunk:
    content = text[span.start : span.end]
    address = "\0".join((space, path, str(position), content))
    id_ = hashlib.sha256(address.encode()).hexdigest()[:20]
    lines, offsets = (span.start_line, span.end_line), (span.start, span.end)
    return Chunk(id_, space, path, position, span.heading, span.names, span.place, *lines, *offsets, content)


def _choose_title(extract: Extract, spans: Sequence[ChunkSpan], outline: Sequence[Sequence[Any]], path: str) -> str:
    first = spans[0].heading[0] if spans and spans[0].heading else ""
    top = next((title for title, level, _ in outline if level == 1), "")
    name = path.rpartition("/")[2]
    return (extract.title or (first or top if extract.markers or name.endswith((".md", ".rst")) else "") or name)[
        :_MAX_TITLE
    ]


def _redact_extract(extract: Extract, redact: Redact) -> Extract:
    """The extract without secrets; refuses a file that holds nothing but keys."""
    clean = redact(extract.text)
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
    return _redact_between_markers(extract, redact)


def _move_markers(extract: Extract, clean: str) -> tuple[Marker, ...]:
    """The markers moved to the same lines of the redacted text."""
    before, after = _line_starts(extract.text), _line_starts(clean)
    markers = []
    for marker in extract.markers:
        line = bisect_right(before, marker.offset) - 1
        end = after[line + 1] - 1 if line + 1 < len(after) else len(clean)
        markers.append(replace(marker, offset=min(after[line] + marker.offset - before[line], end)))
    return tuple(markers)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _redact_between_markers(extract: Extract, redact: Redact) -> Extract:
    """Redacts each stretch between two markers on its own, so that every marker keeps its place."""
    ends = [*(marker.offset for marker in extract.markers[1:]), len(extract.text)]
    text = redact(extract.text[: extract.markers[0].offset])
    markers: list[Marker] = []
    for marker, end in zip(extract.markers, ends, strict=True):
        markers.append(replace(marker, offset=len(text)))
        text += redact(extract.text[marker.offset : end])
    return replace(extract, text=text, markers=tuple(markers))

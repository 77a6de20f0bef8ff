"""Readers: from the bytes of a file to its text, one module per format; rich formats run in a sandbox process."""

from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType

from athand.documents.extract import Extract, FileKind, Marker, UnreadableFile
from athand.documents.readers.kinds import RICH
from athand.documents.readers.plain_text import make_storable, read_text, sniff_text
from athand.documents.readers.sandbox import ReaderSandbox
from athand.documents.readers.text_builder import MAX_CHARACTERS

__all__ = ["MAX_CHARACTERS", "Readers"]


class Readers:
    """Reads files of every kind; formats that may be hostile are read in a child process (`ReaderSandbox`)."""

    def __init__(self) -> None:
        self._sandbox = ReaderSandbox()

    def read(self, kind: FileKind | None, data: bytes) -> Extract:
        """The text of a file with its markers; raises UnreadableFile with the reason."""
        if not data:
            raise UnreadableFile("empty")
        if kind is None:
            return _normalize(sniff_text(data))
        if kind.name in RICH:
            return _normalize(self._sandbox.read(kind, data))
        return _normalize(read_text(data))

    def close(self) -> None:
        """Ends the child process, if one was started."""
        self._sandbox.close()

    def __enter__(self) -> "Readers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _normalize(extract: Extract) -> Extract:
    """The extract with storable text, within the limit, its markers sorted and inside of the text."""
    text, note = extract.text, extract.note
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS]
        note = "; ".join(filter(None, (note, f"only the first {MAX_CHARACTERS:,} characters")))
    markers = tuple(_normalize_markers(extract.markers, len(text)))
    return replace(
        extract, text=make_storable(text), markers=markers, title=make_storable(extract.title), note=make_storable(note)
    )


def _normalize_markers(markers: Iterable[Marker], end: int) -> list[Marker]:
    inside = (marker for marker in markers if 0 <= marker.offset <= end)
    return sorted(
        (replace(marker, label=make_storable(marker.label)) for marker in inside), key=lambda marker: marker.offset
    )

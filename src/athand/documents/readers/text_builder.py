"""The text builder of the rich format readers: paragraphs, rows, headings and markers, up to a limit."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from athand.documents.extract import Extract, Marker, UnreadableFile

MAX_CHARACTERS = 20_000_000
MAX_MARKERS = 100_000
MAX_LABEL_LENGTH = 300
_ADJACENT_SHAPES = ("row", "item", "line")


class TextLimitReached(Exception):
    """The limit is reached; the text so far is kept."""


class TextBuilder:
    """Collects blocks, separated by an empty line; adjacent rows, list items and lines by a line break."""

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self.title = ""
        self.note = ""
        self.length = 0
        self._max_characters = max_characters
        self._parts: list[str] = []
        self._markers: list[Marker] = []
        self._pending_markers: list[tuple[str, str, int]] = []
        self._last_shape = ""

    def add_marker(self, kind: str, label: str, level: int = 0) -> None:
        """Puts a marker at the next block; without a following block it is dropped."""
        if kind != "heading":
            self._pending_markers, self._last_shape = [], ""
        self._pending_markers.append((kind, " ".join(label[:MAX_LABEL_LENGTH].split()), level))

    def add_heading(self, text: str, level: int) -> None:
        """Adds a heading as a block with a marker."""
        if text.strip():
            self.add_marker("heading", text.strip(), level)
            self.add_block(" ".join(text.split()))

    def add_block(self, text: str, shape: str = "paragraph") -> None:
        """Adds a block of text, unless it is blank."""
        text = text.strip("\n").rstrip()
        if not text.strip():
            return
        if self.length:
            self._append("\n" if shape in _ADJACENT_SHAPES and shape == self._last_shape else "\n\n")
        self._place_markers()
        self._last_shape = shape
        self._append(text)

    def add_row(self, cells: list[str]) -> None:
        """Adds a table row on one line."""
        flat = [" ".join(cell.split()) for cell in cells]
        while flat and not flat[-1]:
            flat.pop()
        self.add_block(" | ".join(flat), "row")

    def include(self, other: Extract) -> None:
        """Adds the text and markers of another extract."""
        if self.length:
            self._append("\n\n")
        self._place_markers()
        room, begin = MAX_MARKERS - len(self._markers), self.length
        self._markers += [replace(marker, offset=marker.offset + begin) for marker in other.markers[:room]]
        self._append(other.text)

    def build(self, empty_reason: str) -> Extract:
        """The extract; raises UnreadableFile with `empty_reason` when there is no text."""
        if not self.length:
            raise UnreadableFile(empty_reason)
        title = " ".join(self.title[:MAX_LABEL_LENGTH].split())
        return Extract("".join(self._parts), tuple(self._markers), title, note=self.note)

    def _place_markers(self) -> None:
        if len(self._markers) < MAX_MARKERS:
            self._markers += [Marker(self.length, *each) for each in self._pending_markers]
        self._pending_markers = []

    def _append(self, text: str) -> None:
        room = self._max_characters - self.length
        self._parts.append(text[:room])
        self.length += min(len(text), room)
        if len(text) > room:
            self.note = f"only the first {self._max_characters:,} characters"
            raise TextLimitReached


def build_text(fill: Callable[[TextBuilder], None], empty_reason: str = "no text in it") -> Extract:
    """The extract that `fill` writes into a builder, up to the limit."""
    out = TextBuilder()
    with suppress(TextLimitReached):
        fill(out)
    return out.build(empty_reason)

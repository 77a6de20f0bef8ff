"""Where the readers of rich formats put their text: paragraphs, rows and places, up to a limit."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from athand.documents.extract import Extract, Mark, Unreadable

MOST_CHARACTERS = 20_000_000
MOST_MARKS = 100_000
LONGEST_LABEL = 300
_CLOSE = ("row", "item", "line")


class Full(Exception):
    """The limit is reached; what is written so far stands."""


class Writer:
    """Gathers blocks of text; blocks stand apart by an empty line, rows and list items follow each other directly."""

    def __init__(self, most: int = MOST_CHARACTERS) -> None:
        self.title = ""
        self.note = ""
        self.length = 0
        self._most = most
        self._parts: list[str] = []
        self._marks: list[Mark] = []
        self._waiting: list[tuple[str, str, int]] = []
        self._last = ""

    def mark(self, kind: str, label: str, level: int = 0) -> None:
        """The next block begins a page, sheet or whatever this is; without a block there is no mark."""
        if kind != "heading":
            self._waiting, self._last = [], ""
        self._waiting.append((kind, " ".join(label[:LONGEST_LABEL].split()), level))

    def heading(self, text: str, level: int) -> None:
        """A heading, which is a block of its own and a mark."""
        if text.strip():
            self.mark("heading", text.strip(), level)
            self.block(" ".join(text.split()))

    def block(self, text: str, shape: str = "paragraph") -> None:
        """Text that stands together; nothing when it is empty."""
        text = text.strip("\n").rstrip()
        if not text.strip():
            return
        if self.length:
            self._put("\n" if shape in _CLOSE and shape == self._last else "\n\n")
        self._place_marks()
        self._last = shape
        self._put(text)

    def row(self, cells: list[str]) -> None:
        """A row of a table on one line."""
        flat = [" ".join(cell.split()) for cell in cells]
        while flat and not flat[-1]:
            flat.pop()
        self.block(" | ".join(flat), "row")

    def include(self, other: Extract) -> None:
        """The text of another extract with its places."""
        if self.length:
            self._put("\n\n")
        self._place_marks()
        room, begin = MOST_MARKS - len(self._marks), self.length
        self._marks += [replace(mark, offset=mark.offset + begin) for mark in other.marks[:room]]
        self._put(other.text)

    def extract(self, nothing: str) -> Extract:
        """What was written; Unreadable with this reason when it is nothing."""
        if not self.length:
            raise Unreadable(nothing)
        title = " ".join(self.title[:LONGEST_LABEL].split())
        return Extract("".join(self._parts), tuple(self._marks), title, note=self.note)

    def _place_marks(self) -> None:
        if len(self._marks) < MOST_MARKS:
            self._marks += [Mark(self.length, *each) for each in self._waiting]
        self._waiting = []

    def _put(self, text: str) -> None:
        room = self._most - self.length
        self._parts.append(text[:room])
        self.length += min(len(text), room)
        if len(text) > room:
            self.note = f"only the first {self._most:,} characters"
            raise Full


def written(fill: Callable[[Writer], None], nothing: str = "no text in it") -> Extract:
    """What a reader writes, up to the limit."""
    out = Writer()
    with suppress(Full):
        fill(out)
    return out.extract(nothing)

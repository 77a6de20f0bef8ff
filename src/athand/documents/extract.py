"""Types passed from readers to chunking: extracted text with markers, and spans of it.

The sandbox process imports this module, so it imports nothing but the standard library.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileKind:
    """The kind of a file, which chooses its reader and chunking; `language` is that of source code and data."""

    name: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Marker:
    """The offset at which a page, slide, sheet, cell, chapter or heading begins in an extracted text."""

    offset: int
    kind: str
    label: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of a file with its markers; `note` says what was guessed or left out."""

    text: str
    markers: tuple[Marker, ...] = ()
    title: str = ""
    encoding: str = "utf-8"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """An entry of an outline: a heading or definition and its line."""

    title: str
    level: int
    line: int


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A chunk of a text: offsets, lines (from 1, both inclusive), heading path and the names it defines.

    `heading` is the path of headings or enclosing definitions; `place` is the page, slide, sheet or cell.
    """

    start: int
    end: int
    start_line: int
    end_line: int
    heading: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    place: str = ""


class UnreadableFile(Exception):
    """A file cannot be read; the message is a reason for users."""

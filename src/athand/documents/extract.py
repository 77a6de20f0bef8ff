"""What a reader makes of a file, and what the cutter makes of that: plain text with places in it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileKind:
    """What sort of file this is: how it is read and cut; `language` names that of source code and data."""

    name: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Marker:
    """Where something begins in a text that was not written line by line: a page, slide, sheet, cell or heading."""

    offset: int
    kind: str
    label: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of a file; `note` says what was guessed or left out."""

    text: str
    markers: tuple[Marker, ...] = ()
    title: str = ""
    encoding: str = "utf-8"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """An entry of an outline: a heading or a definition, and the line it stands in."""

    title: str
    level: int
    line: int


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A slice of a text: offsets, lines (from 1, both inclusive), where it stands, and what is defined in it.

    `heading` is the path of headings, or of enclosing definitions; `place` names the page, slide, sheet or cell.
    """

    start: int
    end: int
    start_line: int
    end_line: int
    heading: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    place: str = ""


class UnreadableFile(Exception):
    """A file cannot be read; the reason is a phrase a user understands."""

from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType

from athand.documents.extract import Extract, Kind, Mark, Unreadable
from athand.documents.readers.kinds import RICH, is_binary_name, is_lock_file, is_secret_name, kind_of
from athand.documents.readers.plain import read_text, sniff_text, storable
from athand.documents.readers.workshop import Workshop
from athand.documents.readers.writing import MOST_CHARACTERS

__all__ = ["MOST_CHARACTERS", "Readers", "is_binary_name", "is_lock_file", "is_secret_name", "kind_of"]


class Readers:
    """Reads files of every kind; what can be hostile is read in a child process (`Workshop`)."""

    def __init__(self) -> None:
        self._workshop = Workshop()

    def read(self, kind: Kind | None, data: bytes) -> Extract:
        """The text of a file with its places; Unreadable says why there is none."""
        if not data:
            raise Unreadable("empty")
        if kind is None:
            return _tidy(sniff_text(data))
        if kind.name in RICH:
            return _tidy(self._workshop.read(kind, data))
        return _tidy(read_text(data))

    def close(self) -> None:
        """End the child process, if one was needed."""
        self._workshop.close()

    def __enter__(self) -> "Readers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _tidy(extract: Extract) -> Extract:
    """Every promise about an extract, kept: storable, within the limit, marks in order and inside the text."""
    text, note = extract.text, extract.note
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS]
        note = "; ".join(filter(None, (note, f"only the first {MOST_CHARACTERS:,} characters")))
    marks = tuple(_tidy_marks(extract.marks, len(text)))
    return replace(extract, text=storable(text), marks=marks, title=storable(extract.title), note=storable(note))


def _tidy_marks(marks: Iterable[Mark], end: int) -> list[Mark]:
    inside = (mark for mark in marks if 0 <= mark.offset <= end)
    return sorted((replace(mark, label=storable(mark.label)) for mark in inside), key=lambda mark: mark.offset)

"""Marks of a reader: headings make sections, pages and the like make places."""

from collections.abc import Iterable

from athand.documents.chunking.sections import DEEPEST, Section
from athand.documents.extract import Extract, Mark

_HEADINGS = frozenset({"heading", "chapter"})
_PLACES = frozenset({"page", "slide", "sheet", "cell"})


def places_of(marks: Iterable[Mark]) -> list[tuple[int, str, str]]:
    """Where each page, slide, sheet or cell begins, with its kind and what it is called."""
    found: list[tuple[int, str, str]] = []
    for mark in sorted(marks, key=lambda mark: mark.offset):
        if mark.kind in _PLACES:
            found.append((mark.offset, mark.kind, _label(mark, len(found) + 1)))
    return found


def marked(extract: Extract) -> list[Section]:
    """The sections that marks make: headings by their level, and a nameless one where a new place begins."""
    found: list[Section] = []
    place, below = 0, int(any(mark.kind == "chapter" for mark in extract.marks))
    for mark in sorted(extract.marks, key=lambda mark: (mark.offset, mark.kind in _HEADINGS)):
        offset = min(max(mark.offset, 0), len(extract.text))
        if mark.kind in _PLACES:
            place += 1
            found.append(Section(offset, DEEPEST, place=place))
        elif mark.kind in _HEADINGS and mark.label.strip():
            level = max(mark.level, 1) + (below if mark.kind == "heading" else 0)
            section = Section(offset, level, " ".join(mark.label.split()), offset, place)
            if not (found and (found[-1].start, found[-1].name) == (offset, section.name)):
                found.append(section)
    return found


def _label(mark: Mark, number: int) -> str:
    label = mark.label.strip()
    if label.lower().startswith(mark.kind + " "):
        label = label[len(mark.kind) :].strip()
    return label or str(number)

"""From a plan to pieces: offsets, lines, heading paths, names and places."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from athand.documents.chunking.sections import Section, Splitter, Tree, Unit, units
from athand.documents.extract import Extract, Heading, Piece

_MOST_NAMES = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """How a text is cut: its sections, how long ones are split, and what it is called where no heading says so."""

    sections: Sequence[Section]
    split: Splitter
    title: str = ""
    definitions: bool = False
    places: Sequence[tuple[int, str, str]] = ()


def pieces(extract: Extract, plan: Plan) -> list[Piece]:
    """The pieces of a text: its units, with blank ones joined to what stands before them."""
    text, sections = extract.text, _from_the_start(plan.sections)
    tree = Tree(sections, len(text))
    named = [section for section in sections if section.name]
    found: list[Piece] = []
    line, counted = 1, 0
    for unit in _without_blanks(text, units(tree, plan.split)):
        start = unit.start - unit.overlap
        line += text.count("\n", counted, start)
        counted = start
        last_line = line + text.count("\n", start, unit.end - 1)
        path = tree.paths[unit.owner] if unit.owner >= 0 else ()
        names = _told(_beginning_in(unit, named), () if plan.definitions else path)
        place = _place(plan.places, unit)
        found.append(Piece(start, unit.end, line, last_line, _titled(plan, path), names, place))
    return found


def _beginning_in(unit: Unit, named: Sequence[Section]) -> list[str]:
    """The names of the sections whose own line stands in a unit."""
    first = bisect_left(named, unit.start, key=_head)
    return [section.name for section in named[first : bisect_left(named, unit.end, key=_head)]]


def _head(section: Section) -> int:
    return section.head


def headings(text: str, plan: Plan) -> list[Heading]:
    """The outline of a text: named sections by the line they stand in."""
    found: list[Heading] = []
    line, counted = 1, 0
    for section in plan.sections:
        if section.name:
            line += text.count("\n", counted, section.head)
            counted = section.head
            found.append(Heading(section.name, section.level, line))
    return found


def _from_the_start(sections: Sequence[Section]) -> Sequence[Section]:
    """Sections that begin where the text does: what stands before the first has no name."""
    return sections if sections and sections[0].start == 0 else [Section(0, 0), *sections]


def _without_blanks(text: str, found: Sequence[Unit]) -> list[Unit]:
    """Units that all have something in them, as far as the text has."""
    kept: list[Unit] = []
    for unit in found:
        if kept and (_blank(text, unit) or _blank(text, kept[-1])):
            owner = kept[-1] if _blank(text, unit) else unit
            kept[-1] = Unit(kept[-1].start, unit.end, owner.owner, owner.within, owner.place, kept[-1].overlap)
        else:
            kept.append(unit)
    return kept


def _blank(text: str, unit: Unit) -> bool:
    return text[unit.start].isspace() and text[unit.start : unit.end].isspace()


def _titled(plan: Plan, path: tuple[str, ...]) -> tuple[str, ...]:
    return (plan.title, *path) if plan.title else path


def _told(names: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Names that begin in a piece, once each, without those its heading tells already."""
    return tuple(dict.fromkeys(name for name in names if name not in known))[:_MOST_NAMES]


def _place(places: Sequence[tuple[int, str, str]], unit: Unit) -> str:
    """The page, slide, sheet or cell of a unit; where it spans several, the first and last."""
    first = bisect_right(places, unit.start, key=lambda place: place[0]) - 1
    last = bisect_right(places, unit.end - 1, key=lambda place: place[0]) - 1
    if last < 0:
        return ""
    first = max(first, 0)
    kind, begin, end = places[first][1], places[first][2], places[last][2]
    return f"{kind} {begin}" if first == last else f"{kind}s {begin}\u2013{end}"

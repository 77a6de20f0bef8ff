"""The chunking strategy of each kind of file, and chunks with offsets, lines, heading paths, names and places."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from athand.documents.chunking.definitions import find_definitions
from athand.documents.chunking.headings import (
    find_keys,
    find_titles,
    list_places,
    read_table_header,
    scan_markdown,
    sections_from_markers,
)
from athand.documents.chunking.length import Lengths
from athand.documents.chunking.sections import Section, SectionTree, Splitter, Unit, build_units
from athand.documents.chunking.split import split_code, split_prose, split_rows
from athand.documents.extract import ChunkSpan, Extract, FileKind, Heading

_MAX_NAMES = 100


@dataclass(frozen=True, slots=True)
class ChunkingStrategy:
    """How a text is chunked: its sections, a splitter for long ones, and a title for texts without a top heading."""

    sections: Sequence[Section]
    split: Splitter
    title: str = ""
    definitions: bool = False
    places: Sequence[tuple[int, str, str]] = ()


def chunk_text(extract: Extract, kind: FileKind) -> list[ChunkSpan]:
    """The chunks of a text in order; without their overlaps they add up to the whole text."""
    return _build_chunks(extract, _choose_strategy(extract, kind)) if extract.text else []


def extract_outline(extract: Extract, kind: FileKind) -> list[Heading]:
    """The headings or definitions of a text, with level and line."""
    return _build_outline(extract.text, _choose_strategy(extract, kind)) if extract.text else []


def _choose_strategy(extract: Extract, kind: FileKind) -> ChunkingStrategy:
    """The strategy for a text: by its kind, and for prose by its markers if it has any."""
    text = extract.text
    if kind.name == "code":
        return ChunkingStrategy(find_definitions(text, kind.language), split_code(text), definitions=True)
    if kind.name == "markdown":
        return _markdown_strategy(extract)
    if kind.name == "table":
        return ChunkingStrategy([], split_rows(text), read_table_header(text))
    if kind.name == "data":
        return ChunkingStrategy(find_keys(text, kind.language), split_code(text))
    sections = sections_from_markers(extract) if extract.markers else find_titles(text)
    split = split_rows(text) if kind.name == "xlsx" else split_prose(text)
    return _drop_redundant_title(ChunkingStrategy(sections, split, extract.title, places=list_places(extract.markers)))


def _markdown_strategy(extract: Extract) -> ChunkingStrategy:
    blocks = scan_markdown(extract.text)
    return _drop_redundant_title(
        ChunkingStrategy(blocks.sections, split_prose(extract.text, blocks.kept), blocks.title or extract.title)
    )


def _drop_redundant_title(strategy: ChunkingStrategy) -> ChunkingStrategy:
    """The strategy without its title if the text has a heading of the first level."""
    if any(section.level == 1 and section.name for section in strategy.sections):
        return replace(strategy, title="")
    return strategy


def _build_chunks(extract: Extract, strategy: ChunkingStrategy) -> list[ChunkSpan]:
    """The chunks of a text: its units, blank ones merged with their neighbours."""
    text, sections = extract.text, _cover_start(strategy.sections)
    tree = SectionTree(sections, len(text), Lengths(text))
    named = [section for section in sections if section.name]
    found: list[ChunkSpan] = []
    line, counted = 1, 0
    for unit in _merge_blank_units(text, build_units(tree, strategy.split)):
        start = unit.start - unit.overlap
        line += text.count("\n", counted, start)
        counted = start
        last_line = line + text.count("\n", start, unit.end - 1)
        path = tree.paths[unit.owner] if unit.owner >= 0 else ()
        names = _unique_names(_names_in(unit, named), () if strategy.definitions else path)
        place = _place_label(strategy.places, unit)
        found.append(ChunkSpan(start, unit.end, line, last_line, _prepend_title(strategy, path), names, place))
    return found


def _names_in(unit: Unit, named: Sequence[Section]) -> list[str]:
    """The names of the sections whose head lies in a unit."""
    first = bisect_left(named, unit.start, key=_head)
    return [section.name for section in named[first : bisect_left(named, unit.end, key=_head)]]


def _head(section: Section) -> int:
    return section.head


def _build_outline(text: str, strategy: ChunkingStrategy) -> list[Heading]:
    """The outline of a text: its named sections with their lines."""
    found: list[Heading] = []
    line, counted = 1, 0
    for section in strategy.sections:
        if section.name:
            line += text.count("\n", counted, section.head)
            counted = section.head
            found.append(Heading(section.name, section.level, line))
    return found


def _cover_start(sections: Sequence[Section]) -> Sequence[Section]:
    """The sections, with a nameless one first if the text begins before them."""
    return sections if sections and sections[0].start == 0 else [Section(0, 0), *sections]


def _merge_blank_units(text: str, found: Sequence[Unit]) -> list[Unit]:
    """Units of which none is blank, unless the whole text is."""
    kept: list[Unit] = []
    for unit in found:
        if kept and (_is_blank(text, unit) or _is_blank(text, kept[-1])):
            owner = kept[-1] if _is_blank(text, unit) else unit
            kept[-1] = Unit(kept[-1].start, unit.end, owner.owner, owner.within, owner.place, kept[-1].overlap)
        else:
            kept.append(unit)
    return kept


def _is_blank(text: str, unit: Unit) -> bool:
    return text[unit.start].isspace() and text[unit.start : unit.end].isspace()


def _prepend_title(strategy: ChunkingStrategy, path: tuple[str, ...]) -> tuple[str, ...]:
    return (strategy.title, *path) if strategy.title else path


def _unique_names(names: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Distinct names that are not in the heading path already."""
    return tuple(dict.fromkeys(name for name in names if name not in known))[:_MAX_NAMES]


def _place_label(places: Sequence[tuple[int, str, str]], unit: Unit) -> str:
    """The page, slide, sheet or cell of a unit, or the range of them."""
    first = bisect_right(places, unit.start, key=lambda place: place[0]) - 1
    last = bisect_right(places, unit.end - 1, key=lambda place: place[0]) - 1
    if last < 0:
        return ""
    first = max(first, 0)
    kind, begin, end = places[first][1], places[first][2], places[last][2]
    return f"{kind} {begin}" if first == last else f"{kind}s {begin}\u2013{end}"

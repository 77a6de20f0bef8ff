"""The section tree of a text, and its units: sections merged and split towards a target length."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from athand.documents.chunking.length import Lengths

TARGET_LENGTH = 1400
MAX_WHOLE_LENGTH = 1800
MAX_LENGTH = 2400
TINY_LENGTH = 240
MAX_DEPTH = 12
_MAX_NAME_LENGTH = 160


@dataclass(frozen=True, slots=True)
class Section:
    """The beginning of a heading or definition (with comments above it); without a name it is plain text or code.

    `level` is its depth, `head` the offset of its own line, `place` the number of the page or the like.
    """

    start: int
    level: int
    name: str = ""
    head: int = -1
    place: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """A span that may become a chunk; `owner` is the section that names it, `within` the section that contains it."""

    start: int
    end: int
    owner: int
    within: int
    place: int = 0
    overlap: int = 0


# From the span of a long text to the start of each further part and its overlap with the part before.
Splitter = Callable[[int, int], list[tuple[int, int]]]


@dataclass(slots=True)
class SectionTree:
    """Sections with their parents, the index after their last descendant, and their heading paths."""

    sections: Sequence[Section]
    length: int
    lengths: Lengths
    parents: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    paths: list[tuple[str, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        open_: list[int] = []
        self.after = [len(self.sections)] * len(self.sections)
        for at, section in enumerate(self.sections):
            while open_ and (len(open_) >= MAX_DEPTH or self.sections[open_[-1]].level >= section.level):
                self.after[open_.pop()] = at
            parent = open_[-1] if open_ else -1
            above = self.paths[parent] if open_ else ()
            self.parents.append(parent)
            self.paths.append((*above, section.name[:_MAX_NAME_LENGTH]) if section.name else above)
            open_.append(at)

    def start(self, at: int) -> int:
        """The offset of a section; the end of the text for the index after the last."""
        return self.sections[at].start if at < len(self.sections) else self.length

    def is_within(self, inner: int, outer: int) -> bool:
        """Whether a section is the outer one or a descendant of it."""
        return outer <= inner < self.after[outer] if outer >= 0 else True

    def common_ancestor(self, one: int, other: int) -> int:
        """The innermost section that contains both; -1 without one."""
        while one >= 0 and not self.is_within(other, one):
            one = self.parents[one]
        return one


def build_units(tree: SectionTree, split: Splitter) -> list[Unit]:
    """The units of a text: whole sections where they fit, else own text and subsections; small neighbours merged."""
    merged: list[Unit] = []
    for unit in _split_sections(tree, split):
        if merged and _can_merge(tree, merged[-1], unit):
            merged[-1] = _merge(tree, merged[-1], unit)
        else:
            merged.append(unit)
    return merged


def _split_sections(tree: SectionTree, split: Splitter) -> list[Unit]:
    found: list[Unit] = []
    at = 0
    while at < len(tree.sections):
        section, after = tree.sections[at], tree.after[at]
        end = tree.start(after)
        is_one_place = tree.sections[after - 1].place == section.place
        if is_one_place and tree.lengths.between(section.start, end) <= TARGET_LENGTH:
            found.append(Unit(section.start, end, _owning_section(tree, at), tree.parents[at], section.place))
            at = after
            continue
        found.extend(_own_units(tree, at, split))
        at += 1
    return [unit for unit in found if unit.end > unit.start]


def _owning_section(tree: SectionTree, at: int) -> int:
    """The section that names a whole one: itself, or the only heading inside a nameless one."""
    only = at + 1 < tree.after[at] and tree.after[at + 1] == tree.after[at] and tree.sections[at + 1].level == 1
    return at + 1 if only and not tree.sections[at].name else at


def _own_units(tree: SectionTree, at: int, split: Splitter) -> list[Unit]:
    """The text of a long section before its first subsection, split into units."""
    start, end, place = tree.start(at), tree.start(at + 1), tree.sections[at].place
    if tree.lengths.between(start, end) <= MAX_WHOLE_LENGTH:
        return [Unit(start, end, at, at, place)]
    parts = [(start, 0), *split(start, end)]
    ends = [part[0] for part in parts[1:]] + [end]
    return [Unit(begin, stop, at, at, place, overlap) for (begin, overlap), stop in zip(parts, ends, strict=True)]


def _can_merge(tree: SectionTree, before: Unit, unit: Unit) -> bool:
    """Whether two neighbours are merged: small siblings, and units too small for a chunk of their own."""
    if unit.overlap:
        return False
    size, small = tree.lengths.between(before.start, unit.end), _is_tiny(tree, unit)
    if before.place != unit.place:
        return size <= TARGET_LENGTH and (small or _is_tiny(tree, before))
    if before.within == unit.within and size <= TARGET_LENGTH:
        return True
    if _is_tiny(tree, before):
        return size <= (MAX_LENGTH if tree.is_within(unit.owner, before.owner) else MAX_WHOLE_LENGTH)
    # The introduction of a section is merged with its subsections, not with the section before it.
    return small and size <= MAX_WHOLE_LENGTH and unit.owner != unit.within


def _is_tiny(tree: SectionTree, unit: Unit) -> bool:
    return tree.lengths.between(unit.start, unit.end) <= TINY_LENGTH


def _merge(tree: SectionTree, before: Unit, unit: Unit) -> Unit:
    """Merges two neighbours; a tiny one does not change owner and container of the other."""
    kept = tree.common_ancestor(before.owner, unit.owner), tree.common_ancestor(before.within, unit.within)
    if _is_tiny(tree, before) and tree.is_within(unit.owner, before.owner):
        kept = unit.owner, unit.within
    elif _is_tiny(tree, unit) and before.within != unit.within:
        kept = before.owner, before.within
    return Unit(before.start, unit.end, *kept, before.place, before.overlap)

"""Split points of long sections: the best boundary near an even share, for prose, tables and code."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import ceil

from athand.documents.chunking.length import Lengths
from athand.documents.chunking.sections import MAX_LENGTH, TARGET_LENGTH, Splitter

# (low, goal, high) -> offset to cut at: between low and high, near goal.
Cut = Callable[[int, int, int], int]

_MAX_OVERLAP = 200
_STOP = "[.!?\u3002\uff01\uff1f]"
_CLOSING_QUOTES = "[\"'\u201d\u2019)\\]*_`]{0,4}"
_QUOTED = re.compile(r'"[^"]*+(?:"|\Z)')
_BLANK = re.compile(r"\s*")
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t])")
_SENTENCE = re.compile(rf"{_STOP}{_CLOSING_QUOTES}(?:\s+|(?<=[\u3002\uff01\uff1f]))(?=\S)")
_LINE = re.compile(r"\n(?=[^\n])")
_SPACE = re.compile(r"\s+")
_PROSE = (_PARAGRAPH, _ITEM, _SENTENCE, _LINE, _SPACE)
_LINES = (_PARAGRAPH, _LINE, _SENTENCE, _SPACE)
_SENTENCE_START = re.compile(
    rf"(?:{_STOP}{_CLOSING_QUOTES}(?:\s|(?<=[\u3002\uff01\uff1f]))|\n[ \t]*(?=\n)|"
    r"\n(?=[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]))\s*"
)
_CODE_LINE = re.compile(r"\n([ \t\r\n]*\n)?([ \t]*)(?=([^\s])(\w*))")
_CLOSES = frozenset("}])")
_CONTINUES = frozenset("else elif except finally catch end fi done esac then rescue ensure when".split())


def split_prose(text: str, blocks: Sequence[tuple[int, int]] = ()) -> Splitter:
    """Splits at paragraphs, else list items, sentences, lines or spaces, not inside of blocks; sentences overlap."""
    enclosing_block, starts = _block_lookup(blocks), [start for start, _ in blocks]
    lengths = Lengths(text)

    def cut(low: int, goal: int, high: int) -> int:
        for pattern in _PROSE:
            found = [match.end() for match in pattern.finditer(text, low, high)]
            free = [at for at in found if not enclosing_block(at)]
            if free:
                return _nearest(free, goal)
        return _block_end(enclosing_block(low), low, high) or _cut_at_first_pattern(text, _LINES, low, goal, high)

    def overlap(before: int, at: int) -> int:
        length = _overlap_length(text, lengths, before, at)
        index = bisect_right(starts, at) - 1
        return 0 if index >= 0 and blocks[index][1] > at - length else length

    def split(start: int, end: int) -> list[tuple[int, int]]:
        cuts = _even_cuts(text, lengths, start, end, cut)
        return [(at, overlap(before, at)) for before, at in zip([start, *cuts], cuts, strict=False)]

    return split


def split_rows(text: str) -> Splitter:
    """Splits between rows, which may have line breaks in quotes; inside of a row only if it is too long itself."""
    lengths = Lengths(text)
    blocks = [quoted.span() for quoted in _QUOTED.finditer(text) if "\n" in quoted.group()] if '"' in text else []
    enclosing_block = _block_lookup(blocks)

    def cut(low: int, goal: int, high: int) -> int:
        free = [at for row in _LINE.finditer(text, low, high) if not enclosing_block(at := row.end())]
        return _nearest(free, goal) if free else _cut_at_first_pattern(text, (_LINE, _SPACE), low, goal, high)

    return lambda start, end: [(at, 0) for at in _even_cuts(text, lengths, start, end, cut)]


def split_code(text: str) -> Splitter:
    """Splits before lines of low indentation, preferably after a blank line, not before closing or continuing lines."""
    lengths = Lengths(text)

    def cut(low: int, goal: int, high: int) -> int:
        best = min(_line_costs(text, low, goal, high), default=None)
        return best[1] if best else _cut_at_first_pattern(text, _LINES[1:], low, goal, high)

    return lambda start, end: [(at, 0) for at in _even_cuts(text, lengths, start, end, cut)]


def _block_lookup(blocks: Sequence[tuple[int, int]]) -> Callable[[int], tuple[int, int] | None]:
    """A function from an offset to the block that contains it, or None."""
    starts = [start for start, _ in blocks]

    def enclosing_block(at: int) -> tuple[int, int] | None:
        index = bisect_right(starts, at) - 1
        return blocks[index] if index >= 0 and blocks[index][0] < at < blocks[index][1] else None

    return enclosing_block


def _line_costs(text: str, low: int, goal: int, high: int) -> Iterable[tuple[float, int]]:
    """The cost of a cut before each line: its indentation, no blank line before it, distance from the goal."""
    for line in _CODE_LINE.finditer(text, low, high):
        blank, indent, first, rest = line.groups()
        at = line.start(2)
        cost = len(indent.expandtabs(4)) * 25 + abs(at - goal) / 4 - (150 if blank else 0)
        yield cost + (400 if first in _CLOSES or first + rest in _CONTINUES else 0), at


def _even_cuts(text: str, lengths: Lengths, start: int, end: int, cut: Cut) -> list[int]:
    """Cuts into about equal parts near the target length, none of them blank."""
    cuts = []
    last = len(text[start:end].rstrip()) + start
    while (left := lengths.between(start, last)) > MAX_LENGTH or left > TARGET_LENGTH * 1.3:
        share = left / ceil(left / TARGET_LENGTH)
        low, goal = lengths.after(start, int(share / 2)), lengths.after(start, int(share))
        high = lengths.after(start, min(int(share * 1.5), MAX_LENGTH))
        at = cut(low, goal, min(high, last))
        at = _skip_blanks(text, at)
        if at >= last:
            break
        cuts.append(at)
        start = at
    return cuts


def _skip_blanks(text: str, at: int) -> int:
    """The offset after blanks, which belong to the part before."""
    match = _BLANK.match(text, at)
    word = match.end() if match else at
    line = text.rfind("\n", at, word) + 1
    return line or (word if at and text[at - 1] != "\n" else at)


def _cut_at_first_pattern(text: str, patterns: Sequence[re.Pattern[str]], low: int, goal: int, high: int) -> int:
    for pattern in patterns:
        found = [match.end() for match in pattern.finditer(text, low, high)]
        if found:
            return _nearest(found, goal)
    return goal


def _nearest(found: Sequence[int], goal: int) -> int:
    return min(found, key=lambda at: abs(at - goal))


def _block_end(blocks: tuple[int, int] | None, low: int, high: int) -> int:
    return blocks[1] if blocks and low < blocks[1] < high else 0


def _overlap_length(text: str, lengths: Lengths, before: int, at: int) -> int:
    """The overlap: length of the last whole sentences before a cut, up to the maximum."""
    low = max(before + 1, lengths.before(at, _MAX_OVERLAP))
    for sentence in _SENTENCE_START.finditer(text, low, at):
        if sentence.end() < at:
            return at - sentence.end()
    return 0

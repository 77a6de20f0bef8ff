"""Excerpts: the few lines of a passage that match a question best, with their line numbers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from athand.adapters.cli.words import escape_controls

_ROWS = 3
_TAB = 4
_FULL = 60  # characters: a shorter line was ended on purpose
_BEGINS = re.compile(r"#{1,6}\s|[=~^-]{3,}\s*$|```|~~~|\|")  # headings, fences, rows of tables
_FENCES = ("```", "~~~")
_PROSE = re.compile(r"(?i)\.(md|markdown|mdx|rst|te?xt|adoc|org|tex|x?html?|pdf|do[ct]x|odt|epub|pptx)$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")


@dataclass(frozen=True, slots=True)
class Words:
    """The words that matched, as a pattern: whole words, or words with these beginnings."""

    pattern: re.Pattern[str] | None

    @classmethod
    def of(cls, written: Iterable[str], beginnings: Iterable[str] = ()) -> "Words":
        """A pattern of whole words, or without any of words that begin so; a beginning may stand inside a code name."""
        whole = [rf"(?<!\w){re.escape(each)}(?!\w)" for each in sorted(set(written), key=len, reverse=True) if each]
        begun = [rf"(?<![^\W_]){re.escape(each)}\w*" for each in dict.fromkeys(beginnings) if each]
        return cls(re.compile("|".join(whole or begun), re.IGNORECASE) if whole or begun else None)

    @classmethod
    def literally(cls, texts: Iterable[str]) -> "Words":
        """A pattern of literal texts, anywhere."""
        pieces = [re.escape(each) for each in sorted(set(texts), key=len, reverse=True)]
        return cls(re.compile("|".join(pieces), re.IGNORECASE) if pieces else None)

    def count(self, text: str) -> tuple[int, int]:
        """How many different words match in a text, and how many matches there are."""
        found = [each.casefold() for each in (self.pattern.findall(text) if self.pattern else ())]
        return len(set(found)), len(found)

    def highlight(self, text: str, style: str = "") -> Text:
        """The text with the matches in colour."""
        shown = Text(text, style)
        if self.pattern:
            shown.highlight_regex(self.pattern, "yellow")
        return shown

    def first(self, text: str) -> int:
        """Where the first match begins."""
        match = self.pattern.search(text) if self.pattern else None
        return match.start() if match else 0


def is_prose(path: str) -> bool:
    """Whether a file holds sentences, whose line breaks mean nothing."""
    return bool(_PROSE.search(path))


def make_excerpt(content: str, first_line: int, words: Words, room: int, *, prose: bool = False) -> list[Text]:
    """At most three rows of a passage, from the line (in prose: the paragraph) with the most matches on."""
    units = _split_units(
        [escape_controls(line.rstrip("\r").expandtabs(_TAB)) for line in content.split("\n")], prose=prose
    )
    chosen = units[_find_best(units, words) :][:_ROWS]
    width = len(str(first_line + content.count("\n")))
    indent = _find_common_indent([text for _, text in chosen])
    rows: list[Text] = []
    for at, text in chosen:
        shown = text.removeprefix(indent)
        around = 0 if rows else words.first(shown)
        fitting = _wrap_rows(shown, around, room - width - 2, _ROWS - len(rows))
        labels = [f"{first_line + at:>{width}}  ", *[" " * (width + 2)] * _ROWS]
        rows += [
            Text.assemble((label, "dim"), words.highlight(row)) for label, row in zip(labels, fitting, strict=False)
        ]
    return rows


def _split_units(lines: Sequence[str], *, prose: bool) -> list[tuple[int, str]]:
    """The lines with their indexes, without empty ones; in prose, a paragraph is one line."""
    units: list[tuple[int, str]] = []
    for at, line in enumerate(lines):
        prose ^= line.lstrip().startswith(_FENCES)  # what stands between fences is code
        if prose and units and _continues(units[-1][1], lines[at - 1], line):
            units[-1] = (units[-1][0], f"{units[-1][1]} {line.strip()}")
        elif line.strip():
            units.append((at, line.rstrip()))
    return units


def _continues(unit: str, before: str, line: str) -> bool:
    """Whether a line continues the paragraph: the line before is full, and this one begins no heading or item."""
    if len(before) < _FULL or not line.strip() or _BEGINS.match(unit):
        return False
    in_item = bool(_ITEM.match(unit))
    return not _BEGINS.match(line) and not _ITEM.match(line) and (in_item or not line.startswith(" "))


def _find_best(units: Sequence[tuple[int, str]], words: Words) -> int:
    """The index of the unit with the most matches; if there are none, of the first that is no heading."""
    counts = [words.count(text) for _, text in units]
    if any(total for _, total in counts):
        return max(range(len(units)), key=lambda at: (*counts[at], -at))
    return next((at for at, (_, text) in enumerate(units) if not _BEGINS.match(text)), 0)


def _find_common_indent(texts: Sequence[str]) -> str:
    return min((text[: len(text) - len(text.lstrip())] for text in texts), key=len, default="")


def _wrap_rows(text: str, around: int, room: int, most: int) -> list[str]:
    """A text in rows that fit, at most so many; of a long text, the rows around a position."""
    start = around - room // 3 if cell_len(text) > room * most else 0
    if start > 0:
        text = "…" + text[start:].partition(" ")[2] if " " in text[start : start + room] else "…" + text[start:]
    rows: list[str] = []
    while text and len(rows) < most:
        row, text = _break_row(text, room)
        rows.append(row)
    if text and rows:
        rows[-1] = f"{_break_row(rows[-1], room - 1)[0].rstrip()}…"
    return rows


def _break_row(text: str, room: int) -> tuple[str, str]:
    """The part that fits into a row, broken between words if possible, and the rest."""
    if cell_len(text) <= room:
        return text, ""
    end = len(set_cell_size(text, room).rstrip())
    blank = text.rfind(" ", 0, end + 1)
    if blank > room // 2:
        return text[:blank], text[blank + 1 :]
    return text[:end], text[end:]

"""Sections of texts: Markdown headings, underlined titles (reST, AsciiDoc), keys of data, and markers of readers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from athand.documents.chunking.sections import MAX_DEPTH, Section
from athand.documents.extract import Extract, Marker

_BLOCKS = re.compile(
    r"""
    \n[ \t>]*(?:[-*+][ ]+|\d+[.)][ ]+)?(?P<fence>(?P<tick>`)`{2,}(?=[^`\n]*(?:\n|\Z))|~{3,})
        (?s:.*?)(?:\n[ \t>]*(?P=fence)[`~]*[ \t\r]*(?=\n|\Z)|\Z)
    | \n[ \t]*<!--(?s:.*?)(?:-->|\Z)
    | (?P<table>(?:\n[ \t]*\|[^\n]*){2,})
    | \n[ ]{0,3}(?P<marks>\#{1,6})(?:[ \t]+(?P<title>[^\n]*)|(?=\n|\Z))
    | \n(?P<under>={2,}|-{2,})[ \t\r]*(?=\n|\Z)
    """,
    re.VERBOSE,
)
_FRONT = re.compile(r"---[ \t\r]*\n(?s:.*?)\n(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"""^title:[ \t]*(?P<quote>["']?)(?P<title>[^\n]*?)(?P=quote)[ \t\r]*$""", re.MULTILINE)
_NOT_A_TITLE = re.compile(r"[ \t]*(?:[-*+>|#]|\d+[.)][ \t]|$)|[ \t]{4}|\t")
_SHORTCODE = re.compile(r"\{\{[<%][ \t]*/?[\w-]*[ \t]*(?:[\w-]+=)?\"?([^\"<>%{}]*)\"?[^{}]*?[%>]\}\}")
_ANCHOR = re.compile(r"\{[#.:][^{}]*\}[ \t]*$|[ \t]#+[ \t\r]*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_TAG = re.compile(r"<[/!a-zA-Z][^<>]*>")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_]|[*_](?!\w)")


@dataclass(frozen=True, slots=True)
class MarkdownBlocks:
    """The headings of a Markdown text, blocks not to split (fences, tables, comments), and the front matter's title."""

    sections: list[Section]
    kept: list[tuple[int, int]]
    title: str = ""


def scan_markdown(text: str, start: int = 0, end: int | None = None) -> MarkdownBlocks:
    """The headings and blocks of a text, or of a part of it."""
    end = len(text) if end is None else end
    front = _FRONT.match(text, start, end)
    body = front.end() if front else start
    blocks = MarkdownBlocks([], [(start, body)] if front else [], _front_title(front.group()) if front else "")
    # Patterns begin with a line break, so one is put before the first line.
    shift = 0 if body else 1
    source = text if body else "\n" + text
    for match in _BLOCKS.finditer(source, max(body - 1, 0), end + shift):
        _add_block(blocks, source, match, shift)
    return blocks


def plain_title(title: str) -> str:
    """The plain text of a heading: without links, emphasis, shortcodes, anchors and tags."""
    if title.isalnum():
        return title
    title = _ANCHOR.sub("", _SHORTCODE.sub(r"\1", title))
    return " ".join(_EMPHASIS.sub("", _TAG.sub("", _LINK.sub(r"\1", title))).split())


def _front_title(front: str) -> str:
    found = _FRONT_TITLE.search(front)
    return plain_title(found["title"]) if found else ""


def _add_block(blocks: MarkdownBlocks, source: str, match: re.Match[str], shift: int) -> None:
    at = match.start() + 1 - shift
    if match["marks"]:
        title = plain_title((match["title"] or "")[:300])
        if title:
            blocks.sections.append(Section(at, len(match["marks"]), title, at))
    elif match["under"]:
        _add_underlined_title(blocks, source, match, shift)
    else:
        blocks.kept.append((at, match.end() - shift))


def _add_underlined_title(blocks: MarkdownBlocks, source: str, match: re.Match[str], shift: int) -> None:
    """Adds a Setext heading, if the underlined line is a paragraph of its own."""
    line = source.rfind("\n", 0, match.start()) + 1
    above = source[source.rfind("\n", 0, max(line - 1, 0)) + 1 : max(line - 1, 0)]
    words = source[line : min(match.start(), line + 300)]
    if words.strip() and not above.strip() and not _NOT_A_TITLE.match(words):
        blocks.sections.append(
            Section(line - shift, 1 if match["under"][0] == "=" else 2, plain_title(words), line - shift)
        )


_HEADING = re.compile(
    r"""
    \n(?P<above>(?P<over>[=\-~^"'`\#*+.:_])(?P=over){2,}[ \t\r]*\n)?
      (?P<title>[ \t]?[^\s=][^\n]{0,200})\n(?P<under>(?P<mark>[=\-~^"'`\#*+.:_])(?P=mark){2,})[ \t\r]*(?=\n|\Z)
    | \n(?P<level>={1,6})[ ](?P<name>[^\s=][^\n]{0,200})(?=\n|\Z)
    """,
    re.VERBOSE,
)


def find_titles(text: str) -> list[Section]:
    """Titles of reST (levels by order of underline styles) and of AsciiDoc (levels by number of equals signs)."""
    found: list[Section] = []
    styles: list[tuple[str, bool]] = []
    source = "\n" + text
    for match in _HEADING.finditer(source):
        if match["level"]:
            found.append(Section(match.start(), len(match["level"]), match["name"].strip(), match.start()))
        elif _is_title(source, match):
            style = (match["mark"], bool(match["above"]))
            styles += [] if style in styles else [style]
            head = match.start("title") - 1
            found.append(Section(match.start(), styles.index(style) + 1, match["title"].strip(), head))
    return found


def _is_title(source: str, match: re.Match[str]) -> bool:
    """Whether an underlined line is a title: a paragraph of its own, and its underline long enough."""
    title = match["title"].strip()
    alone = match.start() == 0 or source[match.start() - 1] == "\n" or bool(match["above"])
    return alone and len(match["under"]) >= len(title) - 1 and any(char.isalnum() for char in title)


_KEYS = {
    "yaml": re.compile(r"""\n(?P<name>["']?[^\W\d][^\s:#"']{0,80})["']?:(?=\s|\Z)"""),
    "toml": re.compile(r"\n\[{1,2}(?P<name>[^\[\]\n]{1,120})\]"),
    "json": re.compile(r"""\n(?:[ ]{2}|\t|[ ]{4})"(?P<name>[^"\n]{1,80})"[ ]?:"""),
}
_SAME_SYNTAX = {"ini": "toml", "properties": "toml"}
_DELIMITERS = "\t;,|"
_MAX_HEADER_LENGTH = 120


def find_keys(text: str, language: str) -> list[Section]:
    """The top-level keys or tables of YAML, TOML, INI and JSON."""
    pattern = _KEYS.get(_SAME_SYNTAX.get(language, language))
    if pattern is None:
        return []
    # Patterns begin with a line break, so one is put before the first line; offsets are then those of the lines.
    found = pattern.finditer("\n" + text)
    return [
        Section(key.start(), 1, key["name"].strip("\"' "), key.start()) for key in found if key["name"].strip("\"' ")
    ]


def read_table_header(text: str) -> str:
    """The column names of a table, joined and cut."""
    first = text[: text.find("\n") if "\n" in text else None][:2000].strip("\ufeff\r")
    delimiter = max(_DELIMITERS, key=first.count)
    names = [name.strip().strip("\"'") for name in first.split(delimiter)]
    joined = ", ".join(name for name in names if name)
    return joined if len(joined) <= _MAX_HEADER_LENGTH else joined[:_MAX_HEADER_LENGTH].rpartition(",")[0]


_HEADINGS = frozenset({"heading", "chapter"})
_PLACES = frozenset({"page", "slide", "sheet", "cell"})


def list_places(markers: Iterable[Marker]) -> list[tuple[int, str, str]]:
    """Offset, kind and label of each page, slide, sheet or cell."""
    found: list[tuple[int, str, str]] = []
    for marker in sorted(markers, key=lambda marker: marker.offset):
        if marker.kind in _PLACES:
            found.append((marker.offset, marker.kind, _place_name(marker, len(found) + 1)))
    return found


def sections_from_markers(extract: Extract) -> list[Section]:
    """Sections from markers: headings by level, and a nameless section where a page, slide, sheet or cell begins."""
    found: list[Section] = []
    place, below = 0, int(any(marker.kind == "chapter" for marker in extract.markers))
    for marker in sorted(extract.markers, key=lambda marker: (marker.offset, marker.kind in _HEADINGS)):
        offset = min(max(marker.offset, 0), len(extract.text))
        if marker.kind in _PLACES:
            place += 1
            found.append(Section(offset, MAX_DEPTH, place=place))
        elif marker.kind in _HEADINGS and marker.label.strip():
            level = max(marker.level, 1) + (below if marker.kind == "heading" else 0)
            section = Section(offset, level, " ".join(marker.label.split()), offset, place)
            if not (found and (found[-1].start, found[-1].name) == (offset, section.name)):
                found.append(section)
    return found


def _place_name(marker: Marker, number: int) -> str:
    label = marker.label.strip()
    if label.lower().startswith(marker.kind + " "):
        label = label[len(marker.kind) :].strip()
    return label or str(number)

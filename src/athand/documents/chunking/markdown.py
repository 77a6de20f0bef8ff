"""Markdown: headings, and the blocks that are better not cut (fences, tables, comments)."""

import re
from dataclasses import dataclass

from athand.documents.chunking.sections import Section

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
class Blocks:
    """What the lines of a Markdown text are: its headings, its front matter's title, and blocks to keep whole."""

    sections: list[Section]
    kept: list[tuple[int, int]]
    title: str = ""


def scan(text: str, start: int = 0, end: int | None = None) -> Blocks:
    """The headings and blocks of a text, or of a part of it."""
    end = len(text) if end is None else end
    front = _FRONT.match(text, start, end)
    body = front.end() if front else start
    blocks = Blocks([], [(start, body)] if front else [], _front_title(front.group()) if front else "")
    # Every pattern begins at a line's end, so a first line needs one before it.
    shift = 0 if body else 1
    source = text if body else "\n" + text
    for match in _BLOCKS.finditer(source, max(body - 1, 0), end + shift):
        _note(blocks, source, match, shift)
    return blocks


def plain(title: str) -> str:
    """A heading as it is read: without links, emphasis, shortcodes, anchors and tags."""
    if title.isalnum():
        return title
    title = _ANCHOR.sub("", _SHORTCODE.sub(r"\1", title))
    return " ".join(_EMPHASIS.sub("", _TAG.sub("", _LINK.sub(r"\1", title))).split())


def _front_title(front: str) -> str:
    found = _FRONT_TITLE.search(front)
    return plain(found["title"]) if found else ""


def _note(blocks: Blocks, source: str, match: re.Match[str], shift: int) -> None:
    at = match.start() + 1 - shift
    if match["marks"]:
        title = plain((match["title"] or "")[:300])
        if title:
            blocks.sections.append(Section(at, len(match["marks"]), title, at))
    elif match["under"]:
        _note_underlined(blocks, source, match, shift)
    else:
        blocks.kept.append((at, match.end() - shift))


def _note_underlined(blocks: Blocks, source: str, match: re.Match[str], shift: int) -> None:
    """A line that is underlined is a heading if it is a paragraph of its own."""
    line = source.rfind("\n", 0, match.start()) + 1
    above = source[source.rfind("\n", 0, max(line - 1, 0)) + 1 : max(line - 1, 0)]
    words = source[line : min(match.start(), line + 300)]
    if words.strip() and not above.strip() and not _NOT_A_TITLE.match(words):
        blocks.sections.append(Section(line - shift, 1 if match["under"][0] == "=" else 2, plain(words), line - shift))

"""Plain text: the headings that reStructuredText and AsciiDoc have in it."""

import re

from athand.documents.chunking.sections import Section

_HEADING = re.compile(
    r"""
    \n(?P<above>(?P<over>[=\-~^"'`\#*+.:_])(?P=over){2,}[ \t\r]*\n)?
      (?P<title>[ \t]?[^\s=][^\n]{0,200})\n(?P<under>(?P<mark>[=\-~^"'`\#*+.:_])(?P=mark){2,})[ \t\r]*(?=\n|\Z)
    | \n(?P<level>={1,6})[ ](?P<name>[^\s=][^\n]{0,200})(?=\n|\Z)
    """,
    re.VERBOSE,
)


def underlined(text: str) -> list[Section]:
    """Underlined titles, whose kinds of line are levels in the order they appear, and titles after equals signs."""
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
    """Whether the line is at least nearly as long as its title, which stands alone."""
    title = match["title"].strip()
    alone = match.start() == 0 or source[match.start() - 1] == "\n" or bool(match["above"])
    return alone and len(match["under"]) >= len(title) - 1 and any(char.isalnum() for char in title)

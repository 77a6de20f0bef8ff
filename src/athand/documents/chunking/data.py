"""Data: its keys at the top, and the columns of a table."""

import re

from athand.documents.chunking.sections import Section

_KEYS = {
    "yaml": re.compile(r"""\n(?P<name>["']?[^\W\d][^\s:#"']{0,80})["']?:(?=\s|\Z)"""),
    "toml": re.compile(r"\n\[{1,2}(?P<name>[^\[\]\n]{1,120})\]"),
    "json": re.compile(r"""\n(?:[ ]{2}|\t|[ ]{4})"(?P<name>[^"\n]{1,80})"[ ]?:"""),
}
_LIKE = {"ini": "toml", "properties": "toml"}
_DELIMITERS = "\t;,|"
_LONGEST_HEADER = 120


def keys(text: str, language: str) -> list[Section]:
    """The keys and tables at the top of structured data."""
    pattern = _KEYS.get(_LIKE.get(language, language))
    if pattern is None:
        return []
    # The first line needs a line's end before it, as the others have; it makes the places those of the lines.
    found = pattern.finditer("\n" + text)
    return [
        Section(key.start(), 1, key["name"].strip("\"' "), key.start()) for key in found if key["name"].strip("\"' ")
    ]


def header(text: str) -> str:
    """The names of a table's columns, joined and short."""
    first = text[: text.find("\n") if "\n" in text else None][:2000].strip("\ufeff\r")
    delimiter = max(_DELIMITERS, key=first.count)
    names = [name.strip().strip("\"'") for name in first.split(delimiter)]
    joined = ", ".join(name for name in names if name)
    return joined if len(joined) <= _LONGEST_HEADER else joined[:_LONGEST_HEADER].rpartition(",")[0]

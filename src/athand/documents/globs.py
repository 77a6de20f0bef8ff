"""Globs for paths: `**` crosses directories, `*` and `?` do not.

A pattern without a slash matches at any depth; a pattern that matches a directory matches everything below it.
"""

import re

from athand.errors import InvalidInput
from athand.inputs import check_text
from athand.types import Filter

_MAX_LENGTH = 1_000
_MAX_DOUBLE_STARS = 4


def path_filter(path: object) -> Filter:
    """The SQL filter of a `path` argument; empty for None."""
    if path is None or path == "":
        return Filter()
    glob = check_path(path)
    return Filter("path_matches(i.id, :path_glob, :path_regex)", {"path_glob": glob, "path_regex": to_regex(glob)})


def check_path(path: object) -> str:
    """The normalised glob of a `path` argument; `**` within a name becomes `*`."""
    text = check_text("path", path, longest=_MAX_LENGTH)
    if text.count("**") > _MAX_DOUBLE_STARS:
        raise InvalidInput(f"path has more than {_MAX_DOUBLE_STARS} double stars. Write one `**` for all of them.")
    names = text.removeprefix("./").strip("/").split("/")
    plain = [name if name == "**" else re.sub(r"\*+", "*", name) for name in names]
    return "/".join(plain if len(plain) > 1 else ["**", *plain])


def to_regex(glob: str) -> str:
    """The glob as a regular expression for PostgreSQL."""
    # A `]` right after the opening bracket is a literal, as in Python's fnmatch.
    pieces = re.findall(r"\*\*/|/\*\*$|\*|\?|\[!?+\]?+[^\]/]*\]|.", glob, re.DOTALL)
    return f"^{''.join(map(_piece_to_regex, pieces))}(/.*)?$"


def _piece_to_regex(piece: str) -> str:
    known = {"**/": "(.*/)?", "/**": "(/.*)?", "*": "[^/]*", "?": "[^/]"}
    if piece in known:
        return known[piece]
    return _set_to_regex(piece[1:-1]) if len(piece) > 1 else _escape(piece)


def _set_to_regex(inside: str) -> str:
    """A bracket expression; a reversed range matches nothing."""
    is_other = inside.startswith("!")
    items = re.findall(r"(.)-(.)|(.)", inside[is_other:], re.DOTALL)
    chosen = [
        _escape(single) if single else f"{_escape(first)}-{_escape(last)}"
        for first, last, single in items
        if single or first <= last
    ]
    if is_other:
        return f"[^/{''.join(chosen)}]"
    return f"[{''.join(chosen)}]" if chosen else "(?!)"


def _escape(character: str) -> str:
    """The character as a literal."""
    return f"\\{character}" if character.isascii() and not character.isalnum() else character

"""Path patterns, as people write them for files: `**` crosses directories, `*` and `?` do not.

Without a slash a name fits at any depth; what fits a directory, fits all below it.
"""

import re

from athand.errors import InvalidInput
from athand.inputs import check_text
from athand.types import Filter

_MAX_LENGTH = 1_000
_MAX_DOUBLE_STARS = 4


def path_filter(path: object) -> Filter:
    """The filter of a `path` argument; None is no filter."""
    if path is None or path == "":
        return Filter()
    glob = check_path(path)
    return Filter("path_matches(i.id, :path_glob, :path_regex)", {"path_glob": glob, "path_regex": to_regex(glob)})


def check_path(path: object) -> str:
    """A pattern that can be asked for; two stars are more than one only where they stand for directories."""
    text = check_text("path", path, longest=_MAX_LENGTH)
    if text.count("**") > _MAX_DOUBLE_STARS:
        raise InvalidInput(f"path has more than {_MAX_DOUBLE_STARS} double stars. Write one `**` for all of them.")
    names = text.removeprefix("./").strip("/").split("/")
    plain = [name if name == "**" else re.sub(r"\*+", "*", name) for name in names]
    return "/".join(plain if len(plain) > 1 else ["**", *plain])


def to_regex(glob: str) -> str:
    """The pattern as a regular expression of PostgreSQL."""
    # A bracket may be the first thing in a set, as in Python's fnmatch: it closes none then.
    pieces = re.findall(r"\*\*/|/\*\*$|\*|\?|\[!?+\]?+[^\]/]*\]|.", glob, re.DOTALL)
    return f"^{''.join(map(_piece_to_regex, pieces))}(/.*)?$"


def _piece_to_regex(piece: str) -> str:
    known = {"**/": "(.*/)?", "/**": "(/.*)?", "*": "[^/]*", "?": "[^/]"}
    if piece in known:
        return known[piece]
    return _set_to_regex(piece[1:-1]) if len(piece) > 1 else _escape(piece)


def _set_to_regex(inside: str) -> str:
    """A set of letters and ranges; a range that ends before it begins has nothing in it."""
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
    """Itself, whatever it means elsewhere."""
    return f"\\{character}" if character.isascii() and not character.isalnum() else character

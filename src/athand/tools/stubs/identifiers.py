"""Valid identifiers from arbitrary names, and clean comment lines from arbitrary texts."""

import re
from collections.abc import Iterable

from athand.text_length import shorten
from athand.tools.poisoning.unicode import strip_invisible

_LONGEST = 128
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST_TEXT = 2_000


def to_identifier(text: str) -> str:
    """The text as an ASCII identifier without a leading underscore; unchanged if it is one."""
    if _PLAIN.fullmatch(text) and len(text) <= _LONGEST:
        return text
    spelled = "".join(_spell(char) for char in text[:_LONGEST])[:_LONGEST]
    return spelled if _PLAIN.fullmatch(spelled) else f"x{spelled}"


def to_pascal_case(text: str) -> str:
    """The text as a type name: `create_entities` becomes `CreateEntities`."""
    words = to_identifier(text).split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) or "X"


def _spell(char: str) -> str:
    if char.isascii():
        return char if char.isalnum() else "_"
    return f"u{ord(char):x}"


class Names:
    """The names of one scope, without duplicates and reserved words."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = set(reserved)
        self._taken: set[str] = set()

    def avoid(self, names: Iterable[str]) -> None:
        """Reserve further names, which would be shadowed inside a group."""
        self._reserved |= set(names)

    def claim(self, name: str) -> str:
        """The name, or a free one with a suffix."""
        free = f"{name}_" if name in self._reserved else name
        number = 2
        while free in self._taken or free in self._reserved:
            free = f"{name}_{number}"
            number += 1
        self._taken.add(free)
        return free


def clean_lines(text: str, longest: int = _LONGEST_TEXT) -> list[str]:
    """The lines of a foreign text without invisible characters, up to a length."""
    seen = (strip_invisible(line).replace("\t", " ").strip() for line in shorten(text, longest).splitlines())
    lines = "\n".join(seen).strip().split("\n")
    return lines if lines != [""] else []

"""Names that a programming language takes, made of names that may be anything."""

import re
from collections.abc import Iterable

from athand.tools.poisoning.unicode import strip_invisible

_LONGEST = 128
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST_TEXT = 2_000


def to_identifier(text: str) -> str:
    """The text as an identifier of ASCII letters, which does not begin with an underscore; itself if it is one."""
    if _PLAIN.fullmatch(text) and len(text) <= _LONGEST:
        return text
    spelled = "".join(_spell(char) for char in text[:_LONGEST])[:_LONGEST]
    return spelled if _PLAIN.fullmatch(spelled) else f"x{spelled}"


def to_pascal_case(text: str) -> str:
    """The text as the name of a type: `create_entities` becomes `CreateEntities`."""
    words = to_identifier(text).split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) or "X"


def _spell(char: str) -> str:
    if char.isascii():
        return char if char.isalnum() else "_"
    return f"u{ord(char):x}"


class Names:
    """The names of one scope: each is given once, and never one that the language or the module needs itself."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = set(reserved)
        self._taken: set[str] = set()

    def avoid(self, names: Iterable[str]) -> None:
        """Give none of these from now on: inside of a group they hide what has the same name outside."""
        self._reserved |= set(names)

    def claim(self, name: str) -> str:
        """The name, or one like it that is free."""
        free = f"{name}_" if name in self._reserved else name
        number = 2
        while free in self._taken or free in self._reserved:
            free = f"{name}_{number}"
            number += 1
        self._taken.add(free)
        return free


def clean_lines(text: str, longest: int = _LONGEST_TEXT) -> list[str]:
    """The lines of a text that somebody else wrote, with nothing in them that is not seen."""
    seen = (strip_invisible(line).replace("\t", " ").strip() for line in text[: longest + 1].splitlines())
    lines = "\n".join(seen).strip().split("\n")
    if len(text) > longest:
        lines[-1] = f"{lines[-1][:-1]}…"
    return lines if lines != [""] else []

"""Adds, replaces and removes a member of a JSON text with comments; comments, order and spaces stay. Pure.

The text must be legal: it is parsed elsewhere before.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_STRING = r'"(?:[^"\\]|\\.)*+"'
_COMMENT = r"//[^\n]*+|/\*.*?\*/"
_GAP = re.compile(rf"(?:\s|{_COMMENT})*+", re.DOTALL)
_NAME = re.compile(_STRING, re.DOTALL)
_MARK = re.compile(rf"{_STRING}|{_COMMENT}|[\[\]{{}}]", re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}/]+")


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object: the positions where it starts, where its value starts, and where that ends."""

    name: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """An object: the positions of its braces, its members, and its depth."""

    opens: int
    closes: int
    members: tuple[_Member, ...]
    depth: int


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of names; objects that are missing on the way are created."""
    text = text if text.strip() else "{}\n"
    found, rest = _find_object(text, path)
    for name in reversed(rest[1:]):
        value = {name: value}
    member = _find_member(found, rest[0])
    new = _dump(text, value, found.depth)
    if member is not None:
        return text[: member.value] + new + text[member.end :]
    return _insert(text, found, f"{json.dumps(rest[0])}: {new}")


def remove(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path; as it is, if there is none."""
    found, rest = _find_object(text, path)
    member = _find_member(found, rest[0])
    if member is None or len(rest) > 1:
        return text
    after = _skip(text, member.end)
    if text[after] == ",":
        following = _skip(text, after + 1)
        if text[following] == "}":
            return _join(text[: member.start], text[after + 1 :])
        return text[: member.start] + text[after + 1 :].lstrip()
    place = found.members.index(member)
    if place == 0:
        return _join(text[: member.start], text[member.end :])
    comma = _skip(text, found.members[place - 1].end)
    return text[:comma] + _join(text[comma + 1 : member.start], text[member.end :])


def _join(before: str, after: str) -> str:
    """Both texts without the space at the end of the first; its line end stays, as it may end a comment."""
    kept = before.rstrip()
    is_cut = "\n" in before[len(kept) :] and not after.lstrip(" \t").startswith(("\n", "\r"))
    return f"{kept}{_find_newline(before) if is_cut else ''}{after}"


def _find_object(text: str, path: Sequence[str]) -> tuple[_Object, Sequence[str]]:
    """The innermost object that exists on a path, and the rest of the path."""
    found = _read_object(text, _skip(text, 0), 1)
    for at, name in enumerate(path[:-1]):
        member = _find_member(found, name)
        if member is None or text[member.value] != "{":
            return found, path[at:]
        found = _read_object(text, member.value, found.depth + 1)
    return found, path[-1:]


def _find_member(found: _Object, name: str) -> _Member | None:
    """The member of that name; where there are several, the last counts."""
    return next((each for each in reversed(found.members) if each.name == name), None)


def _read_object(text: str, opens: int, depth: int) -> _Object:
    members = []
    at = _skip(text, opens + 1)
    while text[at] != "}":
        name = _NAME.match(text, at)
        if name is None:
            raise ValueError(f"a name was expected at {at}")
        value = _skip(text, _skip(text, name.end()) + 1)
        end = _find_end(text, value)
        members.append(_Member(json.loads(name[0], strict=False), at, value, end))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return _Object(opens, at, tuple(members), depth)


def _skip(text: str, at: int) -> int:
    """The position after the spaces and comments at a position."""
    found = _GAP.match(text, at)
    return found.end() if found else at


def _find_end(text: str, at: int) -> int:
    """The end of the value that starts at a position."""
    if text[at] not in "[{":
        found = (_NAME if text[at] == '"' else _SCALAR).match(text, at)
        return found.end() if found else at
    depth = 0
    for mark in _MARK.finditer(text, at):
        depth += (mark[0] in "[{") - (mark[0] in "]}")
        if depth == 0:
            return mark.end()
    raise ValueError(f"the value at {at} does not end")


def _insert(text: str, found: _Object, member: str) -> str:
    """The text with one more member at the end of an object; comments there stay with what they follow."""
    line = _find_newline(text)
    pad, outer = _find_indent(text) * found.depth, _find_indent(text) * (found.depth - 1)
    if not found.members:
        return f"{text[: found.closes].rstrip()}{line}{pad}{member}{line}{outer}{text[found.closes :]}"
    end = found.members[-1].end
    has_comma = text[_skip(text, end)] == ","
    between = text[end : found.closes].rstrip()
    return f"{text[:end]}{'' if has_comma else ','}{between}{line}{pad}{member}{line}{outer}{text[found.closes :]}"


def _dump(text: str, value: Any, depth: int) -> str:
    unit = _find_indent(text)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (_find_newline(text) + unit * depth).join(lines)


def _find_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _find_indent(text: str) -> str:
    """The indentation of the text: the space before the first member."""
    found = re.search(r"\{[ \t]*\r?\n([ \t]+)\S", text)
    return found[1] if found else "  "

"""One member of a JSON text put in, replaced or taken out; comments, order and spaces around it stay. Pure.

The text must have been parsed before: what is not JSON is not looked for here.
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
    """Where a member of an object begins, where its value does, and where that ends."""

    name: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """Where an object opens and closes, its members, and how deep it is."""

    opens: int
    closes: int
    members: tuple[_Member, ...]
    depth: int


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of names; the objects on the way are made where they are missing."""
    text = text if text.strip() else "{}\n"
    found, rest = _innermost(text, path)
    for name in reversed(rest[1:]):
        value = {name: value}
    member = _named(found, rest[0])
    new = _dumped(text, value, found.depth)
    if member is not None:
        return text[: member.value] + new + text[member.end :]
    return _inserted(text, found, f"{json.dumps(rest[0])}: {new}")


def remove(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path; as it is, if there is none."""
    found, rest = _innermost(text, path)
    member = _named(found, rest[0])
    if member is None or len(rest) > 1:
        return text
    after = _skip(text, member.end)
    if text[after] == ",":
        following = _skip(text, after + 1)
        if text[following] == "}":
            return _joined(text[: member.start], text[after + 1 :])
        return text[: member.start] + text[after + 1 :].lstrip()
    place = found.members.index(member)
    if place == 0:
        return _joined(text[: member.start], text[member.end :])
    comma = _skip(text, found.members[place - 1].end)
    return text[:comma] + _joined(text[comma + 1 : member.start], text[member.end :])


def _joined(before: str, after: str) -> str:
    """Two texts without the space at the end of the first; a comment to the end of the line keeps that end."""
    kept = before.rstrip()
    is_cut = "\n" in before[len(kept) :] and not after.lstrip(" \t").startswith(("\n", "\r"))
    return f"{kept}{_newline(before) if is_cut else ''}{after}"


def _innermost(text: str, path: Sequence[str]) -> tuple[_Object, Sequence[str]]:
    """The object that a path leads to, as far as there are objects, and the names that are left."""
    found = _object(text, _skip(text, 0), 1)
    for at, name in enumerate(path[:-1]):
        member = _named(found, name)
        if member is None or text[member.value] != "{":
            return found, path[at:]
        found = _object(text, member.value, found.depth + 1)
    return found, path[-1:]


def _named(found: _Object, name: str) -> _Member | None:
    """The member of that name; where there are several, the last counts."""
    return next((each for each in reversed(found.members) if each.name == name), None)


def _object(text: str, opens: int, depth: int) -> _Object:
    members = []
    at = _skip(text, opens + 1)
    while text[at] != "}":
        name = _NAME.match(text, at)
        if name is None:
            raise ValueError(f"a name was expected at {at}")
        value = _skip(text, _skip(text, name.end()) + 1)
        end = _end(text, value)
        members.append(_Member(json.loads(name[0], strict=False), at, value, end))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return _Object(opens, at, tuple(members), depth)


def _skip(text: str, at: int) -> int:
    """Behind the spaces and comments that are at a place."""
    found = _GAP.match(text, at)
    return found.end() if found else at


def _end(text: str, at: int) -> int:
    """Where the value that begins at a place ends."""
    if text[at] not in "[{":
        found = (_NAME if text[at] == '"' else _SCALAR).match(text, at)
        return found.end() if found else at
    depth = 0
    for mark in _MARK.finditer(text, at):
        depth += (mark[0] in "[{") - (mark[0] in "]}")
        if depth == 0:
            return mark.end()
    raise ValueError(f"the value at {at} does not end")


def _inserted(text: str, found: _Object, member: str) -> str:
    """The text with one more member at the end of an object; comments there stay with what they follow."""
    line = _newline(text)
    pad, outer = _unit(text) * found.depth, _unit(text) * (found.depth - 1)
    if not found.members:
        return f"{text[: found.closes].rstrip()}{line}{pad}{member}{line}{outer}{text[found.closes :]}"
    end = found.members[-1].end
    has_comma = text[_skip(text, end)] == ","
    between = text[end : found.closes].rstrip()
    return f"{text[:end]}{'' if has_comma else ','}{between}{line}{pad}{member}{line}{outer}{text[found.closes :]}"


def _dumped(text: str, value: Any, depth: int) -> str:
    unit = _unit(text)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (_newline(text) + unit * depth).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """What the text is indented by."""
    found = re.search(r"\{[ \t]*\r?\n([ \t]+)\S", text)
    return found[1] if found else "  "

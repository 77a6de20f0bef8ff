"""A table or a key of a TOML text put in, replaced or taken out; every other line stays as it is. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

_HEADER = re.compile(r"\s*\[")
_NOTHING = re.compile(r"\s*(#.*)?$")


def put_table(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """The text with a table at the place where it was, else at its end."""
    lines = text.splitlines(keepends=True)
    start, stop = _table(lines, path)
    end = _newline(text)
    table = [f"[{'.'.join(path)}]{end}", *(f"{name} = {literal(value)}{end}" for name, value in values.items())]
    if start == stop and lines:
        return text + ("" if text.endswith("\n") else end) + end + "".join(table)
    return "".join([*lines[:start], *table, *lines[stop:]])


def remove_table(text: str, path: tuple[str, str]) -> str:
    """The text without a table and the tables below it."""
    lines = text.splitlines(keepends=True)
    start, stop = _table(lines, path)
    if start == stop:
        return text
    if start and not lines[start - 1].strip():
        start -= 1
    return "".join([*lines[:start], *lines[stop:]])


def put_key(text: str, name: str, value: Any) -> str:
    """The text with a setting at the place where it was, else behind the last one that is no table."""
    lines = text.splitlines(keepends=True)
    new, end = f"{name} = {literal(value)}", _newline(text)
    at = _key(lines, name)
    if at is not None:
        remark = re.search(r"[ \t]+#[^\"']*$", lines[at].rstrip("\r\n"))
        return "".join([*lines[:at], f"{new}{remark[0] if remark else ''}{end}", *lines[at + 1 :]])
    tables = next((number for number, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    before = "".join(lines[:tables])
    return before + (end if before and not before.endswith("\n") else "") + f"{new}{end}" + "".join(lines[tables:])


def remove_key(text: str, name: str) -> str:
    """The text without a setting."""
    lines = text.splitlines(keepends=True)
    at = _key(lines, name)
    return text if at is None else "".join([*lines[:at], *lines[at + 1 :]])


def literal(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {literal(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _table(lines: list[str], path: tuple[str, str]) -> tuple[int, int]:
    """The lines of a table and those below it; remarks in front of what comes next are not its own."""
    names = r"\s*\.\s*".join(f"[\"']?{re.escape(name)}[\"']?" for name in path)
    own = re.compile(rf"\s*\[\s*{names}\s*(\.[^\]]*)?\]")
    start = next((number for number, line in enumerate(lines) if own.match(line)), len(lines))
    stop = start
    while stop < len(lines) and (own.match(lines[stop]) or (stop > start and not _HEADER.match(lines[stop]))):
        stop += 1
    while stop > start + 1 and _NOTHING.match(lines[stop - 1]):
        stop -= 1
    return start, stop


def _key(lines: list[str], name: str) -> int | None:
    own = re.compile(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=")
    for number, line in enumerate(lines):
        if _HEADER.match(line):
            return None
        if own.match(line):
            return number
    return None

"""Makes any answer smaller without losing a fact: no null, nothing empty, short numbers and times (pure functions)."""

import re
from collections.abc import Mapping
from typing import Any

from athand.adapters.operations.answers import Schema

# What these keys hold belongs to others: there null and an empty list may mean something.
_VERBATIM = frozenset(
    "input_schema output_schema annotations structured content arguments input launch target parts".split()
)
_EXACT = frozenset(("updated_at", "expected_updated_at"))  # a change of a memory may have to name it exactly
_ANSWERS = frozenset(("hits", "documents"))  # what was asked for: that there is none is the answer
_DIGITS = 3
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?\+00:00")


def compact(value: Any) -> Any:
    """The value without null and empty parts, with floats of three digits and times in seconds."""
    if isinstance(value, Mapping):
        return {key: each for key, each in _compact_entries(value) if key in _ANSWERS or not is_empty(each)}
    if isinstance(value, (list, tuple)):
        return [compact(each) for each in value]
    if isinstance(value, float):
        return round(value, _DIGITS)
    return shorten_time(value) if isinstance(value, str) else value


def _compact_entries(entries: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, each if key in _VERBATIM or key in _EXACT else compact(each)) for key, each in entries.items()]


def is_empty(value: Any) -> bool:
    """Whether a value says nothing: null, or an empty text, list or object. False and 0 say something."""
    return value is None or (isinstance(value, (str, list, tuple, Mapping)) and not value)


def shorten_time(text: str) -> str:
    """A time without fractions of seconds, `Z` for UTC; any other text as it is."""
    found = _TIME.fullmatch(text)
    return f"{found[1]}Z" if found else text


def relax(schema: Schema) -> Schema:
    """The schema of what `compact` makes of an answer: nothing is required, and nothing is null."""
    relaxed = {key: _relax_part(key, each) for key, each in schema.items() if key != "required"}
    if isinstance(types := relaxed.get("type"), list):
        relaxed["type"] = next(each for each in types if each != "null")
    return relaxed


def _relax_part(key: str, part: Any) -> Any:
    if key == "properties":
        return {name: relax(each) for name, each in part.items()}
    if key in ("items", "additionalProperties") and isinstance(part, dict):
        return relax(part)
    if key == "anyOf":
        return [relax(each) for each in part if each.get("type") != "null"]
    return part


def also_full(lean: Schema, full: Schema) -> Schema:
    """The lean schema, which also allows the full answer: a key that has another type there may have any."""
    if "properties" in lean and "properties" in full:
        shared = {
            name: also_full(each, full["properties"][name]) if name in full["properties"] else each
            for name, each in lean["properties"].items()
        }
        return {**lean, "properties": shared}
    if lean.get("type") == full.get("type") == "array" and "items" in lean:
        return {**lean, "items": also_full(lean["items"], full.get("items", {}))}
    return lean if lean.get("type") == full.get("type") and lean.get("type") != "object" else {}

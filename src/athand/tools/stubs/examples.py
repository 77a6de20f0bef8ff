"""Values that a form might be called with, for an example."""

import math
from typing import Any

from athand.tools.coercion import types_of
from athand.tools.dialect import Form
from athand.tools.stubs.drawing import merged

_DEEPEST = 4
_LONGEST = 60
_FORMATS = {
    "date-time": "2026-03-31T14:05:00Z",
    "date": "2026-03-31",
    "time": "14:05:00",
    "email": "ada@example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_BY_NAME = {
    "path": "/path/to/it",
    "url": "https://example.com",
    "query": "words to look for",
    "email": "ada@example.com",
}


def arguments(form: Form) -> dict[str, Any]:
    """Arguments of a call: all that are required, or the first if none is."""
    choice = form.get("anyOf") or form.get("oneOf") or [{}]
    whole = form if "properties" in form else merged(choice[0])
    return _object(whole, 0) or {name: _value(name, each, 1) for name, each in list(_properties(whole).items())[:1]}


def _properties(form: Form) -> dict[str, Form]:
    properties: dict[str, Form] = form.get("properties", {})
    return properties


def _object(form: Form, depth: int) -> dict[str, Any]:
    properties = _properties(form)
    return {name: _value(name, properties.get(name, {}), depth + 1) for name in form.get("required", ())[:20]}


def _value(name: str, form: Form, depth: int) -> Any:
    whole = merged(form)
    shown = [whole[key] for key in ("const", "default") if key in whole]
    shown += [*whole.get("enum", []), *whole.get("examples", [])]
    simple = [each for each in shown if _is_short(each)]
    if simple:
        return simple[0]
    choice = whole.get("anyOf") or whole.get("oneOf")
    if choice and depth < _DEEPEST:
        return _value(name, choice[0], depth + 1)
    kind = next(iter(types_of(whole)), "object" if "properties" in whole else "string")
    return _of_type(kind, name, whole, depth)


def _of_type(kind: str, name: str, form: Form, depth: int) -> Any:
    if kind == "string":
        named = (text for part, text in _BY_NAME.items() if part in name.lower())
        return _FORMATS.get(form.get("format", "")) or next(named, "text")
    if kind in ("integer", "number"):
        least = form.get("minimum", 1)
        return least if _is_short(least) else 1
    if depth >= _DEEPEST or kind in ("boolean", "null"):
        return {"boolean": True, "null": None, "array": [], "object": {}}[kind]
    if kind == "object":
        return _object(form, depth)
    items = form.get("prefixItems", [])[:5] or ([form["items"]] if "items" in form else [])
    return [_value(name, each, depth + 1) for each in items]


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST
    return isinstance(value, bool) or (isinstance(value, (int, float)) and abs(value) < 2**53 and math.isfinite(value))

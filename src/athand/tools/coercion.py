"""Values that arrived as text, or as another kind of number, turned into what a form asks for where that is certain."""

import json
import math
from collections.abc import Mapping
from typing import Any, Protocol

from athand.tools.dialect import Form

_WORDS = {"true": True, "false": False, "null": None, "none": None}
_SEVERAL = (",", ";", "\n", "[")  # in a text that may have been meant as a list


class Checker(Protocol):
    """Says whether a value fits, and ends what takes too long."""

    def fits(self, value: Any, form: Form) -> bool: ...

    def spend(self, steps: int) -> None: ...


def coerced(value: Any, form: Form, checker: Checker) -> Any:
    """The value as the form wants it; unchanged where it fits, or where it is not clear what was meant."""
    checker.spend(1)
    value = list(value) if isinstance(value, tuple) else value
    if "$ref" in form:
        value = coerced(value, form["$ref"].target, checker)
    for each in form.get("allOf", ()):
        value = coerced(value, each, checker)
    value = _as_one_of([*form.get("anyOf", ()), *form.get("oneOf", ())], value, checker)
    value = _as_type(value, form, checker)
    if isinstance(value, dict):
        return {key: coerced(each, _property(form, key), checker) for key, each in value.items()}
    if isinstance(value, list):
        return [coerced(each, _item(form, at), checker) for at, each in enumerate(value)]
    return value


def json_type(value: object) -> str:
    """The name that JSON Schema has for a value's type."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "object" if isinstance(value, Mapping) else "array"


def types_of(form: Form) -> list[str]:
    """The types a form names, or those of the values it lists; none where everything may be."""
    if "type" in form:
        return list(form["type"])
    listed = [form["const"]] if "const" in form else form.get("enum", [])
    return list(dict.fromkeys(map(json_type, listed)))


def parsed(text: str) -> Any:
    """What a text is as JSON; the text itself if it is none."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return _WORDS.get(text.strip().lower(), text)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON.")


def _finite(digits: str) -> float:
    """A number too large for us must not become endless."""
    return float(digits) if math.isfinite(float(digits)) else _refuse(digits)


def _as_one_of(forms: list[Form], value: Any, checker: Checker) -> Any:
    """As the first form it can be brought to; a value that fits one already is left alone."""
    if any(checker.fits(value, form) for form in forms):
        return value
    tried = ((coerced(value, form, checker), form) for form in forms)
    return next((each for each, form in tried if checker.fits(each, form)), value)


def _as_type(value: Any, form: Form, checker: Checker) -> Any:
    types = types_of(form)
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        return int(value)
    if not types or _is_one_of(value, types):
        return value
    meant = parsed(value) if isinstance(value, str) else value
    if meant is not value and _is_one_of(meant, types):
        return _as_type(meant, form, checker)
    if types == ["array"]:
        return _as_list(value, form, checker)
    return json.dumps(value) if "string" in types and _is_one_of(value, ["number"]) else value


def _is_one_of(value: Any, types: list[str]) -> bool:
    own = json_type(value)
    is_whole = isinstance(value, float) and value.is_integer()
    return own in types or ("number" in types and own == "integer") or ("integer" in types and is_whole)


def _as_list(value: Any, form: Form, checker: Checker) -> Any:
    """A list of the one value, if it can only have been meant as an item."""
    item = form.get("items")
    if not item or "prefixItems" in form or (isinstance(value, str) and any(mark in value for mark in _SEVERAL)):
        return value
    only = coerced(value, item, checker)
    return [only] if checker.fits(only, item) else value


def _property(form: Form, name: str) -> Form:
    others = form.get("additionalProperties")
    found: Form = form.get("properties", {}).get(name, others if isinstance(others, dict) else {})
    return found


def _item(form: Form, at: int) -> Form:
    first = form.get("prefixItems", ())
    found: Form = first[at] if at < len(first) else form.get("items", {})
    return found

"""Validation and coercion of call arguments against the schema of a tool, before the server gets them.

Schemas are untrusted and may be made to take forever: beyond a budget of steps and time the arguments are passed on
unchecked, since the server checks them, too.
"""

import json
import math
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from athand.errors import InvalidInput
from athand.text_length import shorten
from athand.tools.json_schema import Reference, Schema, json_type, normalize, types_of
from athand.tools.poisoning.unicode import escape_invisible

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_MOST_STEPS, _MOST_SECONDS = 100_000, 2.0  # CPU seconds, so that a busy machine does not leave arguments unchecked
_MOST_PROBLEMS, _MOST_KNOWN = 20, 200
_LONGEST_SCHEMA, _LONGEST_VALUE = 4_000, 80
_TOP = "arguments"
_TYPE_WORDS = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_TYPE_WORDS |= {"array": "a list", "object": "an object", "null": "null"}


class _BudgetExceeded(Exception):
    """The budget of steps or time is used up."""


class _Validator:
    """A jsonschema validator that follows normalised references and stops at a budget."""

    def __init__(self) -> None:
        from jsonschema import Draft202012Validator as Draft
        from jsonschema.validators import extend

        self._steps, self._end = _MOST_STEPS, time.thread_time() + _MOST_SECONDS
        self._kind: Any = extend(Draft, {name: self._with_budget(each) for name, each in Draft.VALIDATORS.items()})

    def errors(self, value: Any, normalized: Schema) -> Iterator["ValidationError"]:
        return iter(self._kind(normalized).iter_errors(value))

    def is_valid(self, value: Any, normalized: Schema) -> bool:
        return next(self.errors(value, normalized), None) is None

    def spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0 or time.thread_time() > self._end:
            raise _BudgetExceeded

    def _with_budget(self, check: Any) -> Any:
        compares_all = check.__name__ == "uniqueItems"

        def check_in_budget(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self.spend(len(instance) ** 2 if compares_all and isinstance(instance, list) else 1)
            if isinstance(value, Reference):
                return validator.descend(instance, value.target)
            return check(validator, value, instance, schema)

        return check_in_budget


def validate_arguments(arguments: object, schema: object) -> dict[str, Any]:
    """The arguments coerced to the schema; InvalidInput with all problems if they do not match."""
    given, normalized, validator = _to_object(arguments, schema), normalize(schema), _Validator()
    try:
        coerced: dict[str, Any] = coerce(given, normalized, validator)
        problems = list(dict.fromkeys(islice(_find_problems(validator, coerced, normalized), 2 * _MOST_PROBLEMS)))
    except (_BudgetExceeded, RecursionError, OverflowError):  # it cannot be checked here; the server will
        return given
    if problems:
        raise _invalid_arguments(problems, schema)
    return coerced


def _to_object(arguments: object, schema: object) -> dict[str, Any]:
    given = parse_json(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
    if not isinstance(given, Mapping):
        raise _invalid_arguments([f"the arguments must be an object, not {_to_text(given)}"], schema)
    return dict(given)


def _find_problems(validator: _Validator, arguments: dict[str, Any], normalized: Schema) -> Iterator[str]:
    """All problems; unknown names are listed only beside other problems, since a server may accept any."""
    errors = list(validator.errors(arguments, normalized))
    for error in errors:
        yield from _describe_error(error)
    properties = normalized.get("properties", {})
    if errors and properties:
        yield from (_describe_unknown(name, properties) for name in arguments if name not in properties)


def _describe_error(error: "ValidationError") -> Iterator[str]:
    from jsonschema.exceptions import best_match

    nearest = best_match(iter([error]))
    inside = "" if not nearest.absolute_path else f"{_error_path(nearest)}: "
    if nearest.validator == "additionalProperties":
        properties = nearest.schema.get("properties", {})
        yield from (inside + _describe_unknown(name, properties) for name in nearest.instance if name not in properties)
    elif nearest.validator == "required":
        yield from (
            f"{inside}{_to_text(name)} is missing" for name in nearest.validator_value if name not in nearest.instance
        )
    else:
        yield f"{_error_path(nearest)}: {_describe_expectation(nearest)}"


def _error_path(error: "ValidationError") -> str:
    return "/".join(map(str, error.absolute_path)) or _TOP


def _describe_expectation(error: "ValidationError") -> str:
    found = _to_text(error.instance)
    if error.validator == "type":
        types = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
        return f"must be {' or '.join(_TYPE_WORDS[each] for each in types)}, not {found}"
    if error.validator in ("enum", "const"):
        listed = error.validator_value if error.validator == "enum" else [error.validator_value]
        return f"must be one of {shorten(', '.join(map(_to_text, listed)), 400)}, not {found}"
    if error.validator in ("anyOf", "oneOf", "not"):
        return f"{found} does not fit the schema here"
    return shorten(error.message.replace(repr(error.instance), found), 200)


def _describe_unknown(name: str, properties: Mapping[str, Any]) -> str:
    from rapidfuzz import process

    nearest = process.extractOne(name[:_LONGEST_VALUE], list(properties)[:_MOST_KNOWN], score_cutoff=60)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known are: {shorten(', '.join(properties) or 'none', 400)}"
    return f"there is no argument {shorten(name, _LONGEST_VALUE)!r}; {hint}"


def _to_text(value: object) -> str:
    try:
        return shorten(json.dumps(value, ensure_ascii=False, default=str), _LONGEST_VALUE)
    except (ValueError, RecursionError):
        return "something that is no JSON"


def _invalid_arguments(problems: list[str], schema: object) -> InvalidInput:
    more = "\n- and more" if len(problems) > _MOST_PROBLEMS else ""
    listed = "".join(f"\n- {each}" for each in problems[:_MOST_PROBLEMS]) + more
    try:
        compact = json.dumps(schema, ensure_ascii=False, separators=(",", ":"), default=str)
    except (ValueError, RecursionError):
        compact = "(too deep to be shown)"
    return InvalidInput(
        escape_invisible(
            f"The arguments do not fit:{listed}\nNothing was called. The schema: {shorten(compact, _LONGEST_SCHEMA)}"
        )
    )


_JSON_WORDS = {"true": True, "false": False, "null": None, "none": None}
_SEVERAL = (",", ";", "\n", "[")  # in a text that may be meant as a list


def coerce(value: Any, schema: Schema, validator: _Validator) -> Any:
    """The value converted to the schema; unchanged if it matches, or if the intention is unclear."""
    validator.spend(1)
    value = list(value) if isinstance(value, tuple) else value
    if "$ref" in schema:
        value = coerce(value, schema["$ref"].target, validator)
    for each in schema.get("allOf", ()):
        value = coerce(value, each, validator)
    value = _coerce_to_any([*schema.get("anyOf", ()), *schema.get("oneOf", ())], value, validator)
    value = _coerce_type(value, schema, validator)
    if isinstance(value, dict):
        return {key: coerce(each, _property_schema(schema, key), validator) for key, each in value.items()}
    if isinstance(value, list):
        return [coerce(each, _item_schema(schema, at), validator) for at, each in enumerate(value)]
    return value


def parse_json(text: str) -> Any:
    """Parse JSON; returns the text itself if it is not JSON."""
    try:
        return json.loads(text, parse_constant=_reject_constant, parse_float=_parse_float)
    except (ValueError, RecursionError):
        return _JSON_WORDS.get(text.strip().lower(), text)


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON.")


def _parse_float(digits: str) -> float:
    """Reject numbers that would overflow to infinity."""
    return float(digits) if math.isfinite(float(digits)) else _reject_constant(digits)


def _coerce_to_any(schemas: list[Schema], value: Any, validator: _Validator) -> Any:
    """Coerce to the first schema that works; a value that matches one is left alone."""
    if any(validator.is_valid(value, schema) for schema in schemas):
        return value
    tried = ((coerce(value, schema, validator), schema) for schema in schemas)
    return next((each for each, schema in tried if validator.is_valid(each, schema)), value)


def _coerce_type(value: Any, schema: Schema, validator: _Validator) -> Any:
    types = types_of(schema)
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        return int(value)
    if not types or _has_type(value, types):
        return value
    parsed = parse_json(value) if isinstance(value, str) else value
    if parsed is not value and _has_type(parsed, types):
        return _coerce_type(parsed, schema, validator)
    if types == ["array"]:
        return _wrap_in_list(value, schema, validator)
    return json.dumps(value) if "string" in types and _has_type(value, ["number"]) else value


def _has_type(value: Any, types: list[str]) -> bool:
    own = json_type(value)
    is_whole = isinstance(value, float) and value.is_integer()
    return own in types or ("number" in types and own == "integer") or ("integer" in types and is_whole)


def _wrap_in_list(value: Any, schema: Schema, validator: _Validator) -> Any:
    """A list with the single value, if it matches the item schema."""
    item = schema.get("items")
    if not item or "prefixItems" in schema or (isinstance(value, str) and any(mark in value for mark in _SEVERAL)):
        return value
    only = coerce(value, item, validator)
    return [only] if validator.is_valid(only, item) else value


def _property_schema(schema: Schema, name: str) -> Schema:
    others = schema.get("additionalProperties")
    found: Schema = schema.get("properties", {}).get(name, others if isinstance(others, dict) else {})
    return found


def _item_schema(schema: Schema, at: int) -> Schema:
    first = schema.get("prefixItems", ())
    found: Schema = first[at] if at < len(first) else schema.get("items", {})
    return found

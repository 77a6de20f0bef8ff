"""Where a schema is no JSON Schema: a quick look at what is often wrong, for thousands of tools at once."""

from collections.abc import Iterator, Mapping
from typing import Any

from athand.tools.characters import visible

_TYPES = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


def flaws_in(schema: Any, field: str) -> Iterator[tuple[str, str]]:
    """Where a schema is no JSON Schema; the keywords that are often wrong."""
    waiting = [(field, schema)]
    while waiting:
        place, here = waiting.pop()
        if isinstance(here, Mapping):
            yield from ((place, flaw) for flaw in _flaws_here(here))
            waiting += [(f"{place}.{visible(key[:40])}", below) for key, below in _schemas_in(here)]
        elif not isinstance(here, bool):
            yield place, "a schema must be an object"


def _schemas_in(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _BY_NAME:
        yield from schema[key].items() if isinstance(schema.get(key), Mapping) else ()
    for key in _LISTS:
        yield from ((key, each) for each in schema[key]) if isinstance(schema.get(key), list) else ()
    yield from ((key, schema[key]) for key in _SINGLE if key in schema and not isinstance(schema[key], list))


def _flaws_here(schema: Mapping[str, Any]) -> Iterator[str]:
    types = schema.get("type", [])
    for each in types if isinstance(types, list) else [types]:
        if not isinstance(each, str) or each not in _TYPES:
            yield f"type {each!r} is no type of JSON Schema"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        yield "required must be a list of names"
    if not isinstance(schema.get("enum", []), list):
        yield "enum must be a list"
    yield from (f"{key} must be an object" for key in _BY_NAME if not isinstance(schema.get(key, {}), Mapping))
    yield from (f"{key} must be a list" for key in _LISTS if not isinstance(schema.get(key, []), list))

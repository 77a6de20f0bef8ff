"""JSON Schema: normalisation to a safe subset of draft 2020-12, linting, and types.

`normalize` accepts anything and returns a dict of valid draft 2020-12 keywords. Keywords of older drafts are
translated, common type names (`str`, `int`, …) are mapped to the standard ones, and invalid keywords are dropped, so
they are not checked. `pattern` is dropped on purpose: a regular expression can take exponential time. References are
resolved within the document only.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from athand.tools.poisoning.unicode import escape_invisible

Schema = dict[str, Any]

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
DEEPEST = 64
MOST_SCHEMAS = 20_000
_TYPE_ALIASES = {
    **{each: each for each in TYPES},
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("list", "tuple"), "array"),
    **dict.fromkeys(("dict", "map", "json"), "object"),
    **dict.fromkeys(("none", "nil"), "null"),
    "bool": "boolean",
}
_OLD_DRAFTS = ("draft-03", "draft-04", "draft-06", "draft-07")  # they ignore everything beside a $ref
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SCHEMA_KEYWORDS = ("items", "not", "if", "then", "else", "contains", "propertyNames")
_LIST_KEYWORDS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ANNOTATIONS = ("title", "description", "default", "deprecated", "examples")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: object) -> bool:
    return isinstance(value, list) and bool(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "maxContains"), _is_count),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("title", "description", "format"), _is_text),
    **dict.fromkeys(("const", "default"), lambda value: True),
    **dict.fromkeys(("uniqueItems", "deprecated"), lambda value: value is True),
}


@dataclass(slots=True, eq=False)
class Reference:
    """The target of a `$ref`, and the last part of its path as a name."""

    name: str
    target: Schema = field(default_factory=dict, repr=False)  # no repr: nested references could fill the memory


def normalize(schema: object) -> Schema:
    """The normalised schema; `{}`, which everything matches, if nothing is valid."""
    normalizer = _Normalizer(schema)
    result = normalizer.normalize(schema, 0)
    while normalizer.pending:
        reference, target = normalizer.pending.pop()
        reference.target = normalizer.normalize(target, 0)
    return result


class _Normalizer:
    """Normalises one document; each subschema has one result, so that results may be recursive."""

    def __init__(self, document: object) -> None:
        self._document = document
        self._normalized: dict[int, Schema] = {}
        self._anchors = dict(_find_anchors(document))
        uri = document.get("$schema") if isinstance(document, Mapping) else None
        self._is_old = isinstance(uri, str) and any(draft in uri for draft in _OLD_DRAFTS)
        self.pending: list[tuple[Reference, object]] = []

    def normalize(self, schema: object, depth: int) -> Schema:
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping) or depth > DEEPEST:
            return {}
        if id(schema) not in self._normalized and len(self._normalized) < MOST_SCHEMAS:
            result = self._normalized[id(schema)] = {}
            result.update(self._normalize_mapping(schema, depth + 1))
        return self._normalized.get(id(schema), {})

    def _normalize_mapping(self, schema: Mapping[str, Any], depth: int) -> Schema:
        reference = self._reference(schema)
        if reference and self._is_old:
            return {key: value for key, value in _plain(schema).items() if key in _ANNOTATIONS} | reference
        result = (
            reference | _types(schema) | _plain(schema) | self._objects(schema, depth) | self._arrays(schema, depth)
        )
        result |= {
            key: self.normalize(schema[key], depth)
            for key in _SCHEMA_KEYWORDS
            if isinstance(schema.get(key), (Mapping, bool))
        }
        for key in _LIST_KEYWORDS:
            if _is_list(schema.get(key)):
                result[key] = [self.normalize(each, depth) for each in schema[key]]
        return result

    def _objects(self, schema: Mapping[str, Any], depth: int) -> Schema:
        result: Schema = {}
        properties = _mapping(schema, "properties")
        if properties:
            result["properties"] = {name: self.normalize(each, depth) for name, each in properties.items()}
        named = schema.get("required")
        required = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        required += [name for name in properties if _mapping(properties, name).get("required") is True]
        if required:
            result["required"] = list(dict.fromkeys(required))
        others = schema.get("additionalProperties")
        if isinstance(others, (Mapping, bool)) and not schema.get("patternProperties"):
            result["additionalProperties"] = others if isinstance(others, bool) else self.normalize(others, depth)
        return result | self._dependencies(schema, depth)

    def _dependencies(self, schema: Mapping[str, Any], depth: int) -> Schema:
        every = {**_mapping(schema, "dependencies"), **_mapping(schema, "dependentSchemas")}
        names = {**every, **_mapping(schema, "dependentRequired")}
        required = {key: [name for name in each if _is_text(name)] for key, each in names.items() if _is_list(each)}
        schemas = {key: self.normalize(each, depth) for key, each in every.items() if isinstance(each, Mapping)}
        return {
            **({"dependentRequired": required} if required else {}),
            **({"dependentSchemas": schemas} if schemas else {}),
        }

    def _arrays(self, schema: Mapping[str, Any], depth: int) -> Schema:
        """Convert the tuple form of `items` of older drafts to `prefixItems`."""
        if not _is_list(schema.get("items")):
            return {}
        rest = schema.get("additionalItems", True)
        result: Schema = {"prefixItems": [self.normalize(each, depth) for each in schema["items"]]}
        return result if rest is True else result | {"items": self.normalize(rest, depth)}

    def _reference(self, schema: Mapping[str, Any]) -> Schema:
        uri = next((schema[key] for key in _REFERENCES if isinstance(schema.get(key), str)), None)
        target = None if uri is None else self._resolve(uri)
        if uri is None or target is None:
            return {}
        reference = Reference(unquote(uri.rstrip("#/").rpartition("/")[2]).lstrip("#"))
        self.pending.append((reference, target))
        return {"$ref": reference}

    def _resolve(self, reference: str) -> object:
        base, _, fragment = reference.partition("#")
        own = self._document.get("$id") if isinstance(self._document, Mapping) else None
        if base and base != own:
            return self._anchors.get(reference)
        if fragment.startswith("/"):
            return _resolve_pointer(self._document, fragment)
        return self._anchors.get(f"#{fragment}") if fragment else self._document


def _types(schema: Mapping[str, Any]) -> Schema:
    """The `type` keyword as a list; left out unless all its names are known."""
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    types = [_TYPE_ALIASES.get(name.strip().lower()) if isinstance(name, str) else None for name in names]
    if not types or None in types:
        return {}
    nullable = ["null"] if schema.get("nullable") is True else []
    return {"type": list(dict.fromkeys([*types, *nullable]))}


def _plain(schema: Mapping[str, Any]) -> Schema:
    result = {key: schema[key] for key, is_valid in _CHECKS.items() if key in schema and is_valid(schema[key])}
    for key, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(key) is True and limit in result:
            result[key] = result.pop(limit)
    return result


def _mapping(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = schema.get(key)
    return {name: each for name, each in value.items() if isinstance(name, str)} if isinstance(value, Mapping) else {}


def _resolve_pointer(document: object, pointer: str) -> object:
    """Resolve a JSON pointer; None if it leads nowhere."""
    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(name)
        elif isinstance(document, list) and name.isdecimal() and name.isascii() and len(name) < 6:
            document = document[int(name)] if int(name) < len(document) else None
        else:
            return None
    return document


def _find_anchors(document: object) -> Iterator[tuple[str, object]]:
    """All subschemas with `$anchor`, `$dynamicAnchor` or `$id`."""
    waiting, seen = [document], set[int]()
    while waiting and len(seen) < MOST_SCHEMAS:
        place = waiting.pop()
        if id(place) in seen:
            continue
        seen.add(id(place))
        if isinstance(place, Mapping):
            yield from ((f"#{place[key]}", place) for key in ("$anchor", "$dynamicAnchor") if _is_text(place.get(key)))
            if isinstance(place.get("$id"), str):
                yield place["$id"], place
            waiting += place.values()
        elif isinstance(place, list):
            waiting += place


_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


def lint_schema(schema: Any, field: str) -> Iterator[tuple[str, str]]:
    """Places where a schema is invalid, for the most common mistakes; fast enough for thousands of tools."""
    waiting = [(field, schema)]
    while waiting:
        place, here = waiting.pop()
        if isinstance(here, Mapping):
            yield from ((place, flaw) for flaw in _lint_keywords(here))
            waiting += [(f"{place}.{escape_invisible(key[:40])}", below) for key, below in _subschemas(here)]
        elif not isinstance(here, bool):
            yield place, "a schema must be an object"


def _subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _BY_NAME:
        yield from schema[key].items() if isinstance(schema.get(key), Mapping) else ()
    for key in _LIST_KEYWORDS:
        yield from ((key, each) for each in schema[key]) if isinstance(schema.get(key), list) else ()
    yield from ((key, schema[key]) for key in _SINGLE if key in schema and not isinstance(schema[key], list))


def _lint_keywords(schema: Mapping[str, Any]) -> Iterator[str]:
    types = schema.get("type", [])
    for each in types if isinstance(types, list) else [types]:
        if not isinstance(each, str) or each not in TYPES:
            yield f"type {each!r} is no type of JSON Schema"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        yield "required must be a list of names"
    if not isinstance(schema.get("enum", []), list):
        yield "enum must be a list"
    yield from (f"{key} must be an object" for key in _BY_NAME if not isinstance(schema.get(key, {}), Mapping))
    yield from (f"{key} must be a list" for key in _LIST_KEYWORDS if not isinstance(schema.get(key, []), list))


def json_type(value: object) -> str:
    """The JSON Schema type of a value."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "object" if isinstance(value, Mapping) else "array"


def types_of(schema: Schema) -> list[str]:
    """The types a schema names, or those of its enum values; empty if everything is allowed."""
    if "type" in schema:
        return list(schema["type"])
    listed = [schema["const"]] if "const" in schema else schema.get("enum", [])
    return list(dict.fromkeys(map(json_type, listed)))

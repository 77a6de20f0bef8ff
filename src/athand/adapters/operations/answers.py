"""Answers as JSON: the same dictionary on every surface, and the schema that describes it."""

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from athand.types import Hit, Hits, Why, plain

Schema = dict[str, Any]
Told = set[type]  # the nouns that were described already
_SIMPLE: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
}


def plain_answer(value: Any) -> Any:
    """What an operation returned, as values that JSON has."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [plain_answer(each) for each in value]
    return plain(value)


def schema_of(annotation: Any, told: Told | None = None) -> Schema:
    """The JSON Schema of what `plain_answer` makes of such a value.

    It is short, since agents pay for every word of it: a noun is described where it first occurs.
    """
    told = set() if told is None else told
    if annotation in _SIMPLE:
        return dict(_SIMPLE[annotation])
    origin, inner = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _one_of([schema_of(each, told) for each in inner])
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if isinstance(origin, type):
        return _schema_of_class(origin, inner, told)
    return {}


def _one_of(schemas: Sequence[Schema]) -> Schema:
    """One of several; where the other is null, both in one."""
    match schemas:
        case [{"type": str(known)}, {"type": "null"}]:
            return {**schemas[0], "type": [known, "null"]}
    return {"anyOf": list(schemas)}


def _schema_of_class(kind: type, inner: tuple[Any, ...], told: Told) -> Schema:
    from athand.documents.model import Chunks

    if issubclass(kind, Hits):
        return _hits(inner[0] if inner else Hit, told)
    if issubclass(kind, Chunks):
        return _chunks(told)
    if dataclasses.is_dataclass(kind):
        return _noun(kind, told)
    if issubclass(kind, Mapping):
        values = schema_of(inner[1], told) if len(inner) == 2 else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if issubclass(kind, Iterable):
        items = schema_of(inner[0], told) if inner else {}
        return {"type": "array", **({"items": items} if items else {})}
    return {}


def _noun(kind: Any, told: Told) -> Schema:
    """Its fields, where `to_dict` shows them under their names."""
    if kind in told or not _shows_its_fields(kind):
        return {"type": "object"}
    told.add(kind)
    hints = typing.get_type_hints(kind)
    properties = {each.name: schema_of(hints[each.name], told) for each in dataclasses.fields(kind)}
    if issubclass(kind, Why):
        properties["total"] = schema_of(float)
    return _object(properties, properties)


def _shows_its_fields(kind: Any) -> bool:
    from athand.flows.browser.model import ScreenDescription
    from athand.flows.model import CamelCaseNoun

    return not issubclass(kind, (ScreenDescription, CamelCaseNoun))


def _hits(kind: Any, told: Told) -> Schema:
    """Hits with all that is said about them; a corpus adds fields to its own hits, and other hits may be among them."""
    properties = _noun(kind, told).get("properties", {})
    texts = schema_of(list[str])
    shown: Schema = {
        "hits": {"type": "array", "items": _object(properties, [each.name for each in dataclasses.fields(Hit)])},
        "notes": texts,
        "did_you_mean": schema_of(dict[str, str]),
        "closest": texts,
        "freshness": {"type": "object"},
        "facets": {"type": "object"},
    }
    return _object(shown, shown)


def _chunks(told: Told) -> Schema:
    from athand.documents.model import Chunk

    shown: Schema = {"chunks": schema_of(list[Chunk], told), "freshness": {"type": "object"}}
    return _object(shown, shown)


def _object(properties: Mapping[str, Any], required: Iterable[str]) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": list(required)}

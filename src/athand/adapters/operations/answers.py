"""Answers as JSON, the same on every surface, and their JSON Schema."""

import dataclasses
import re
import types
import typing
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from athand.types import Hit, Hits, Why, plain

Schema = dict[str, Any]
Described = set[type]  # the dataclasses that have been described already
_SIMPLE: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
}
HIDDEN = "(hidden: reading needs the scope search)"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00")


def plain_answer(value: Any) -> Any:
    """The result of an operation as JSON values."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [plain_answer(each) for each in value]
    return plain(value)


def hide_texts(answer: Any, schema: Schema, given: Any) -> Any:
    """The answer for a caller who may write but not read: ids, numbers, times, and the texts that it gave itself."""
    return _hide(answer, {*_texts_in(schema), *_texts_in(given)})


def _hide(value: Any, known: Container[str]) -> Any:
    if isinstance(value, str):
        return value if value in known or _TIME.fullmatch(value) else HIDDEN
    if isinstance(value, list):
        return [_hide(each, known) for each in value]
    if isinstance(value, dict):
        shown = {key: each for key, each in value.items() if key in known}
        return {key: each if _is_id(key, each) else _hide(each, known) for key, each in shown.items()}
    return value


def _is_id(key: str, value: Any) -> bool:
    return isinstance(value, str) and (key == "id" or key.endswith("_id"))


def _texts_in(value: Any) -> Iterator[str]:
    """Every text in JSON values: also the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from (key, *_texts_in(each))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts_in(each)


def schema_of(annotation: Any, described: Described | None = None) -> Schema:
    """The JSON Schema of what `plain_answer` makes of such a value.

    It is short, since agents pay for every word: a dataclass is described where it first occurs.
    """
    described = set() if described is None else described
    if annotation in _SIMPLE:
        return dict(_SIMPLE[annotation])
    origin, inner = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _one_of([schema_of(each, described) for each in inner])
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if isinstance(origin, type):
        return _schema_of_class(origin, inner, described)
    return {}


def _one_of(schemas: Sequence[Schema]) -> Schema:
    """The schema of a union; a simple type or null become one list of types."""
    match schemas:
        case [{"type": str(known)}, {"type": "null"}]:
            return {**schemas[0], "type": [known, "null"]}
    return {"anyOf": list(schemas)}


def _schema_of_class(kind: type, inner: tuple[Any, ...], described: Described) -> Schema:
    from athand.documents.model import Chunks

    if issubclass(kind, Hits):
        return _schema_of_hits(inner[0] if inner else Hit, described)
    if issubclass(kind, Chunks):
        return _schema_of_chunks(described)
    if dataclasses.is_dataclass(kind):
        return _schema_of_dataclass(kind, described)
    if issubclass(kind, Mapping):
        values = schema_of(inner[1], described) if len(inner) == 2 else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if issubclass(kind, Iterable):
        items = schema_of(inner[0], described) if inner else {}
        return {"type": "array", **({"items": items} if items else {})}
    return {}


def _schema_of_dataclass(kind: Any, described: Described) -> Schema:
    """The schema of a dataclass by its fields, where `to_dict` shows them under their names."""
    if kind in described or not _shows_its_fields(kind):
        return {"type": "object"}
    described.add(kind)
    hints = typing.get_type_hints(kind)
    properties = {each.name: schema_of(hints[each.name], described) for each in dataclasses.fields(kind)}
    if issubclass(kind, Why):
        properties["total"] = schema_of(float)
    return _object(properties, properties)


def _shows_its_fields(kind: Any) -> bool:
    from athand.flows.browser.model import ScreenDescription
    from athand.flows.model import CamelCaseNoun

    return not issubclass(kind, (ScreenDescription, CamelCaseNoun))


def _schema_of_hits(kind: Any, described: Described) -> Schema:
    """The schema of Hits. Only the fields that all corpora share are required: hits of others may be among them."""
    properties = _schema_of_dataclass(kind, described).get("properties", {})
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


def _schema_of_chunks(described: Described) -> Schema:
    from athand.documents.model import Chunk

    shown: Schema = {"chunks": schema_of(list[Chunk], described), "freshness": {"type": "object"}}
    return _object(shown, shown)


def _object(properties: Mapping[str, Any], required: Iterable[str]) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": list(required)}

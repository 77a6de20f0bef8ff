"""The arguments of operations: read as they were meant, refused with all that is wrong, told in a small JSON Schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from athand.errors import InvalidInput

Schema = dict[str, Any]
_MOST_FAULTS = 10
_LONGEST = 80
_IN_JSON = {"tuple_type": "Input should be a list", "dict_type": "Input should be an object"}


def checked(name: str, model: type[BaseModel], arguments: Any) -> BaseModel:
    """The arguments as their model; an error that names all that is wrong, and repeats nothing long."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        faults = error.errors(include_url=False)
    try:
        return model.model_validate(_as_meant(model, arguments, faults))
    except ValidationError as error:
        faults = error.errors(include_url=False)
        wrong = "; ".join(_said(fault, list(model.model_fields)) for fault in faults[:_MOST_FAULTS])
        raise InvalidInput(f"{name} cannot take these arguments: {wrong}.") from error


def _as_meant(model: type[BaseModel], arguments: Any, faults: Sequence[Any]) -> Any:
    """Agents write lists and objects as JSON in a string, and null for what they leave out."""
    if not isinstance(arguments, Mapping):
        return arguments
    meant = dict(arguments)
    for name in {step for fault in faults for step in fault["loc"][:1]} & model.model_fields.keys() & meant.keys():
        if meant[name] is None and not model.model_fields[name].is_required():
            del meant[name]
        else:
            meant[name] = _opened(meant[name])
    return meant


def _opened(value: Any) -> Any:
    """What a text says, if it is JSON of more than one value."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _said(fault: Any, known: Sequence[str]) -> str:
    """Where something is wrong, and what. A place may have been named by the caller: anything may be in it."""
    place = ".".join(str(step) for step in fault["loc"]) or "arguments"
    shown = (place if len(place) <= _LONGEST else f"{place[:_LONGEST]}…").encode("ascii", "backslashreplace").decode()
    if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
        return f"{shown} is not known; known: {', '.join(known) or 'none'}"
    return f"{shown}: {_IN_JSON.get(fault['type'], fault['msg'])}"


def schema_of_arguments(model: type[BaseModel]) -> Schema:
    """The JSON Schema of the arguments in as few words as it can be said; a definition stands where it is used."""
    schema = model.model_json_schema(schema_generator=_Brief)
    definitions = schema.pop("$defs", {})
    inlined: Schema = _inlined(schema, definitions, ())
    return inlined


class _Brief(GenerateJsonSchema):
    """No titles, and no null where it only says that something is left out."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        inner = schema["schema"]
        if schema.get("default") is None and inner["type"] == "nullable":
            return self.generate_inner(inner["schema"])
        return super().default_schema(schema)

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        return _untitled(super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Schema:
        return _untitled(super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> Schema:
        return _untitled(super().typed_dict_schema(schema))


def _untitled(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "title"}


def _inlined(schema: Any, definitions: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    """The schema with each reference replaced by what it refers to; what holds itself is told once."""
    if isinstance(schema, list):
        return [_inlined(each, definitions, within) for each in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if not name:
        return {key: _inlined(each, definitions, within) for key, each in schema.items()}
    beside = {key: each for key, each in schema.items() if key != "$ref"}
    if name in within:
        return {"type": "object", **beside}
    return {**_inlined(definitions[name], definitions, (*within, name)), **beside}

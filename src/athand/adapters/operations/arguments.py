"""The arguments of operations: read as they were meant, refused with all that is wrong, told in a small JSON Schema."""

import json
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from athand.errors import InvalidInput
from athand.parameters import REQUIRED, Choice, Help, Keys, Length, Parameter, PythonOnly, Range, marks_of
from athand.text_length import shorten

Schema = dict[str, Any]
_MOST_FAULTS = 10
_LONGEST = 80
_LONGEST_PART = 255  # of a path, in bytes
_IN_JSON = {"tuple_type": "Input should be a list", "dict_type": "Input should be an object"}
# What was given may be secret: no error repeats it.
STRICT = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


def make_model(name: str, parameters: Iterable[Parameter]) -> type[BaseModel]:
    """The parameters as a pydantic model, which refuses what it does not know."""
    fields: dict[str, Any] = {
        each.name: (_json_type(each.annotation), ... if each.default is REQUIRED else each.default)
        for each in parameters
    }
    return create_model(name, __config__=STRICT, **fields)


def plain_argument(value: Any) -> Any:
    """A nested object as the service takes it: a dictionary of what was given."""
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value


def _json_type(annotation: Any) -> Any:
    """The type of what JSON can hold: no times and path objects, lists as tuples; marks as pydantic has them."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _constrained(inner[0], inner[1:])
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(_json_type(each) for each in inner if not _is_python_only(each))]  # noqa: UP007
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[_json_type(inner[0]), _json_type(inner[1])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Iterable) and (origin is not tuple or ... in inner):
        return tuple[_json_type(inner[0]), ...]  # type: ignore[misc]
    return annotation


def _constrained(kind: Any, marks: Sequence[Any]) -> Any:
    made = next((_SPECIAL[type(each)](each) for each in marks if type(each) in _SPECIAL), None) or _json_type(kind)
    fields = [_FIELDS[type(each)](each) for each in marks if type(each) in _FIELDS]
    if any(get_origin(each) is PathLike for each in get_args(kind)):
        fields.append(AfterValidator(_check_possible))
    return Annotated[(made, *fields)] if fields else made


_SPECIAL: Mapping[type, typing.Callable[[Any], Any]] = {
    Choice: lambda mark: Literal[mark.words],
    Keys: lambda mark: make_model(mark.of.__name__, mark.parameters),
}
_FIELDS: Mapping[type, typing.Callable[[Any], Any]] = {
    Help: lambda mark: Field(description=mark.text),
    Length: lambda mark: Field(min_length=mark.shortest or None, max_length=mark.longest),
    Range: lambda mark: Field(**{"gt" if mark.exclusive else "ge": mark.low}, le=mark.high),
}


def _is_python_only(kind: Any) -> bool:
    return (
        kind is datetime or get_origin(kind) is PathLike or any(isinstance(each, PythonOnly) for each in marks_of(kind))
    )


def _check_possible(path: str) -> str:
    """A path that the system can be asked for."""
    try:
        parts = Path(path).expanduser().parts
    except RuntimeError as error:
        raise ValueError("there is no user of that name") from error
    if "\0" in path or any(len(part.encode()) > _LONGEST_PART for part in parts):
        raise ValueError("no file can have that name")
    return path


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
    shown = shorten(place, _LONGEST).encode("ascii", "backslashreplace").decode()
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

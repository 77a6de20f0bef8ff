"""The arguments of operations: their pydantic model, its JSON Schema, and validation with readable errors."""

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
_MAX_ERRORS = 10
_MAX_PLACE_LENGTH = 80
_MAX_PART_BYTES = 255  # of a path
_IN_JSON = {"tuple_type": "Input should be a list", "dict_type": "Input should be an object"}
# Values may be secret: no error repeats them.
STRICT = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


def make_model(name: str, parameters: Iterable[Parameter]) -> type[BaseModel]:
    """The pydantic model of parameters; it refuses unknown ones."""
    fields: dict[str, Any] = {
        each.name: (_json_type(each.annotation), ... if each.default is REQUIRED else each.default)
        for each in parameters
    }
    return create_model(name, __config__=STRICT, **fields)


def plain_argument(value: Any) -> Any:
    """The argument as the service takes it: a nested object as a dictionary of the given fields."""
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value


def _json_type(annotation: Any) -> Any:
    """The type in JSON: without times and path objects, lists as tuples, our marks as pydantic's."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotate(inner[0], inner[1:])
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(_json_type(each) for each in inner if not _is_python_only(each))]  # noqa: UP007
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[_json_type(inner[0]), _json_type(inner[1])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Iterable) and (origin is not tuple or ... in inner):
        return tuple[_json_type(inner[0]), ...]  # type: ignore[misc]
    return annotation


def _annotate(kind: Any, marks: Sequence[Any]) -> Any:
    """The JSON type with the constraints of our marks."""
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
    """The path, if a file can have it."""
    try:
        parts = Path(path).expanduser().parts
    except RuntimeError as error:
        raise ValueError("there is no user of that name") from error
    if "\0" in path or any(len(part.encode()) > _MAX_PART_BYTES for part in parts):
        raise ValueError("no file can have that name")
    return path


def validate(name: str, model: type[BaseModel], arguments: Any) -> BaseModel:
    """The arguments as their model; raises a short error that names everything that is wrong."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    try:
        return model.model_validate(_repair(model, arguments, errors))
    except ValidationError as error:
        errors = error.errors(include_url=False)
        wrong = "; ".join(_describe_error(each, list(model.model_fields)) for each in errors[:_MAX_ERRORS])
        raise InvalidInput(f"{name} cannot take these arguments: {wrong}.") from error


def _repair(model: type[BaseModel], arguments: Any, errors: Sequence[Any]) -> Any:
    """The arguments with JSON in strings parsed and null left out: agents write both for lists and for defaults."""
    if not isinstance(arguments, Mapping):
        return arguments
    repaired = dict(arguments)
    wrong = {step for error in errors for step in error["loc"][:1]}
    for name in wrong & model.model_fields.keys() & repaired.keys():
        if repaired[name] is None and not model.model_fields[name].is_required():
            del repaired[name]
        else:
            repaired[name] = _parse_json(repaired[name])
    return repaired


def _parse_json(value: Any) -> Any:
    """The list or object that a string holds as JSON; any other value unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _describe_error(error: Any, known: Sequence[str]) -> str:
    """The place of an error and its message. The caller may have named the place, so it is cut and escaped."""
    place = ".".join(str(step) for step in error["loc"]) or "arguments"
    shown = shorten(place, _MAX_PLACE_LENGTH).encode("ascii", "backslashreplace").decode()
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        return f"{shown} is not known; known: {', '.join(known) or 'none'}"
    return f"{shown}: {_IN_JSON.get(error['type'], error['msg'])}"


def schema_of_arguments(model: type[BaseModel]) -> Schema:
    """A short JSON Schema of the arguments, with definitions inlined."""
    schema = model.model_json_schema(schema_generator=_ShortSchema)
    definitions = schema.pop("$defs", {})
    whole: Schema = _inline(schema, definitions, ())
    return whole


class _ShortSchema(GenerateJsonSchema):
    """Omits titles, and null where it only stands for a parameter that is left out."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        inner = schema["schema"]
        if schema.get("default") is None and inner["type"] == "nullable":
            return self.generate_inner(inner["schema"])
        return super().default_schema(schema)

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        return _remove_title(super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Schema:
        return _remove_title(super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> Schema:
        return _remove_title(super().typed_dict_schema(schema))


def _remove_title(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "title"}


def _inline(schema: Any, definitions: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    """The schema with references replaced by their definitions; a recursive one is described once."""
    if isinstance(schema, list):
        return [_inline(each, definitions, within) for each in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if not name:
        return {key: _inline(each, definitions, within) for key, each in schema.items()}
    beside = {key: each for key, each in schema.items() if key != "$ref"}
    if name in within:
        return {"type": "object", **beside}
    return {**_inline(definitions[name], definitions, (*within, name)), **beside}

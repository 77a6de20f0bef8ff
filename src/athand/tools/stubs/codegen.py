"""Generates types from JSON Schemas: objects become named records, everything else a type expression.

Schemas can be recursive or explode in size: each subschema is generated once, and beyond the limits on number and
length the type is `Any` or `unknown`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from athand.tools.json_schema import Schema, normalize, types_of
from athand.tools.model import Tool
from athand.tools.stubs.identifiers import Names, to_identifier, to_pascal_case

_MOST_SHAPES, _MOST_RECORDS = 2_000, 200  # per tool
_MOST_FIELDS, _MOST_PARTS = 500, 200
_LONGEST = 2_000
_DEEPEST = 50
_ANNOTATIONS = frozenset(("title", "description", "default", "deprecated", "examples"))
_LARGEST = 2**53


class Language(Protocol):
    """How a language writes its types."""

    anything: str
    nothing: str

    def scalar(self, name: str) -> str: ...

    def literal(self, value: Any) -> str | None: ...

    def one_of(self, literals: Sequence[str]) -> str: ...

    def list_of(self, item: str) -> str: ...

    def tuple_of(self, items: Sequence[str], rest: str | None) -> str: ...

    def map_of(self, value: str) -> str: ...

    def union(self, members: Sequence[str]) -> str: ...


@dataclass(frozen=True, slots=True)
class Field:
    """A property of an object."""

    name: str
    type: str
    is_required: bool
    schema: Schema


@dataclass(frozen=True, slots=True)
class Record:
    """An object with known properties; an open one allows others."""

    name: str
    description: str
    fields: tuple[Field, ...]
    is_open: bool


class TypeGenerator:
    """The types of one module."""

    def __init__(self, language: Language, names: Names) -> None:
        self.records: dict[str, Record] = {}
        self._language, self._names = language, names
        self._generated: dict[int, tuple[Schema, str]] = {}  # with the schema itself, so that its id is not reused
        self._in_progress: dict[int, str] = {}  # names of records in progress, which may be recursive
        self._depth = 0
        self.begin_tool()

    def begin_tool(self) -> None:
        """Start the limits for the next tool."""
        self._most_shapes, self._most_records = len(self._generated) + _MOST_SHAPES, len(self.records) + _MOST_RECORDS

    def type_of(self, schema: Schema, name: str) -> str:
        """The type of a schema; `name` is used if it becomes a record."""
        if id(schema) in self._generated:
            return self._in_progress.get(id(schema), self._generated[id(schema)][1])
        if len(self._generated) >= self._most_shapes or self._depth >= _DEEPEST:
            return self._language.anything
        self._generated[id(schema)] = schema, self._language.anything
        self._depth += 1
        generated = self._generate(schema, name)
        self._depth -= 1
        generated = generated if len(generated) <= _LONGEST else self._language.anything
        self._generated[id(schema)] = schema, generated
        self._in_progress.pop(id(schema), None)
        return generated

    def return_type(self, schema: Schema, name: str) -> str:
        """The return type of a function; a type without values becomes the type of anything."""
        generated = self.type_of(schema, name)
        return self._language.anything if generated == self._language.nothing else generated

    def fields(self, schema: Schema, name: str) -> Iterator[Field]:
        """The properties of an object, required ones first."""
        properties, required = schema.get("properties", {}), set(schema.get("required", ()))
        order = sorted(list(properties)[:_MOST_FIELDS], key=lambda each: each not in required)
        for each in order:
            generated = self.type_of(properties[each], f"{name}_{each}")
            yield Field(each, generated, each in required, _keep_annotations(properties[each]))

    def _generate(self, schema: Schema, name: str) -> str:
        if "$ref" in schema and schema.keys() <= _ANNOTATIONS | {"$ref"}:
            return self.type_of(schema["$ref"].target, schema["$ref"].name or name)
        whole = merge_all_of(schema)
        listed = [whole["const"]] if "const" in whole else whole.get("enum")
        if listed is not None:
            return self._enum_type(listed)
        variants = _variants(whole)
        if variants:
            generated = [self.type_of(each, name if len(variants) == 1 else f"{name}_{at}") for at, each in variants]
            return self._union_type(generated)
        if whole.get("not") == {}:
            return self._language.nothing
        return self._union_type([self._type_expression(each, whole, name, schema) for each in _type_names(whole)])

    def _type_expression(self, kind: str, schema: Schema, name: str, source: Schema) -> str:
        if kind == "object":
            return self._object_type(schema, name, source)
        return self._array_type(schema, name) if kind == "array" else self._language.scalar(kind)

    def _object_type(self, schema: Schema, name: str, source: Schema) -> str:
        if schema.get("properties"):
            return self._record_type(schema, name, source)
        others = schema.get("additionalProperties")
        value = self.type_of(others, f"{name}_value") if isinstance(others, dict) else self._language.anything
        return self._language.map_of(value)

    def _record_type(self, schema: Schema, name: str, source: Schema) -> str:
        if len(self.records) >= self._most_records:
            return self._language.map_of(self._language.anything)
        claimed = self._names.claim(to_pascal_case(name))
        self._in_progress[id(source)] = claimed
        self.records[claimed] = Record(claimed, "", (), False)  # reserves its position before the records it needs
        others = schema.get("additionalProperties")
        is_open = others is True or isinstance(others, dict)
        self.records[claimed] = Record(
            claimed, schema.get("description", ""), tuple(self.fields(schema, claimed)), is_open
        )
        return claimed

    def _array_type(self, schema: Schema, name: str) -> str:
        rest = self.type_of(schema["items"], f"{name}_item") if "items" in schema else self._language.anything
        first = [self.type_of(each, f"{name}_{at}") for at, each in enumerate(schema.get("prefixItems", ())[:50], 1)]
        if not first:
            return self._language.list_of(rest)
        is_closed = rest == self._language.nothing or schema.get("maxItems") == len(first)
        return self._language.tuple_of(first, None if is_closed else rest)

    def _enum_type(self, values: Sequence[Any]) -> str:
        literals = [self._language.literal(value) if _is_exact(value) else None for value in values]
        exact = self._language.one_of(list(dict.fromkeys(each for each in literals if each is not None)))
        if None not in literals and len(exact) <= _LONGEST:
            return exact
        return self._union_type([self._type_expression(each, {}, "", {}) for each in types_of({"enum": list(values)})])

    def _union_type(self, members: Sequence[str]) -> str:
        if self._language.anything in members or not members:
            return self._language.anything
        return self._language.union(list(dict.fromkeys(members)))


def merge_all_of(schema: Schema) -> Schema:
    """Merge a schema with its `$ref` and `allOf`; the first definition of a keyword wins."""
    parts = _parts(schema)
    if len(parts) == 1:
        return schema
    whole: Schema = {}
    for part in parts:
        properties = {**part.get("properties", {}), **whole.get("properties", {})}
        required = [*whole.get("required", ()), *part.get("required", ())]
        whole = {key: each for key, each in part.items() if key not in ("$ref", "allOf")} | whole
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": required} if required else {}
    return whole


def _parts(schema: Schema) -> list[Schema]:
    parts: list[Schema] = []
    waiting, seen = [schema], set[int]()
    while waiting and len(parts) < _MOST_PARTS:
        part = waiting.pop(0)
        if id(part) not in seen:
            seen.add(id(part))
            parts.append(part)
            waiting += ([part["$ref"].target] if "$ref" in part else []) + part.get("allOf", [])
    return parts


def _variants(schema: Schema) -> list[tuple[int, Schema]]:
    """The branches of `anyOf` or `oneOf`, each merged with the rest; none if they only add conditions."""
    branches = schema.get("anyOf") or schema.get("oneOf") or []
    common = {key: each for key, each in schema.items() if key not in ("anyOf", "oneOf", *_ANNOTATIONS)}
    if common and not any({"properties", "type", "$ref", "allOf", "const", "enum"} & each.keys() for each in branches):
        return []
    whole = [merge_all_of({"allOf": [branch, common]}) if common else branch for branch in branches[:_MOST_FIELDS]]
    return list(enumerate(whole, 1))


def _type_names(schema: Schema) -> list[str]:
    explicit = types_of(schema)
    implied = ["object"] * ("properties" in schema) + ["array"] * ("items" in schema or "prefixItems" in schema)
    types = explicit or implied
    return [each for each in types if not (each == "integer" and "number" in types)]


def _keep_annotations(schema: Schema) -> Schema:
    """The annotations of a property, including those of its reference."""
    return {key: each for key, each in merge_all_of(schema).items() if key in _ANNOTATIONS}


def _is_exact(value: Any) -> bool:
    """Whether a number is exact in all languages."""
    return not isinstance(value, (int, float)) or abs(value) < _LARGEST


@dataclass(frozen=True, slots=True)
class Function:
    """A tool as a function: with fields, or with one input if its arguments are a union of objects."""

    name: str
    tool: Tool
    schema: Schema
    fields: tuple[Field, ...]
    input: str | None
    output: str | None


@dataclass(frozen=True, slots=True)
class Group:
    """The functions of one server."""

    name: str
    server: str
    functions: tuple[Function, ...]


@dataclass(frozen=True, slots=True)
class Module:
    """Everything that is rendered."""

    groups: tuple[Group, ...]
    records: tuple[Record, ...]


def build_module(
    tools: Sequence[Tool], language: Language, reserved: frozenset[str], inside: frozenset[str], *, has_inputs: bool
) -> Module:
    """Plan the module for some tools; with `has_inputs`, a function takes one typed object.

    No name of the module is in `reserved`, and no name of a function is in `inside`.
    """
    names = Names(reserved)
    generator = TypeGenerator(language, names)
    by_server: dict[tuple[str, str], list[Tool]] = {}
    for tool in {(each.catalogue, each.id): each for each in tools}.values():
        by_server.setdefault((tool.catalogue, tool.server), []).append(tool)
    named = {
        key: _name_functions(own, names.claim(to_identifier(key[1])), Names(inside)) for key, own in by_server.items()
    }
    names.avoid(name for _, functions in named.values() for name in functions)
    groups = (
        Group(group, key[1], tuple(_function(tool, name, generator, has_inputs) for name, tool in functions.items()))
        for key, (group, functions) in named.items()
    )
    return Module(tuple(groups), tuple(generator.records.values()))


def _name_functions(tools: Sequence[Tool], group: str, names: Names) -> tuple[str, dict[str, Tool]]:
    return group, {names.claim(to_identifier(tool.name)): tool for tool in tools}


def _function(tool: Tool, name: str, generator: TypeGenerator, has_inputs: bool) -> Function:
    generator.begin_tool()
    schema, shown = normalize(tool.input_schema), to_pascal_case(name)
    whole = merge_all_of(schema)
    is_choice = "properties" not in whole and ("anyOf" in whole or "oneOf" in whole)
    fields = () if is_choice or has_inputs else tuple(generator.fields(whole, f"{shown}_input"))
    wants = is_choice or (has_inputs and "properties" in whole)
    return Function(
        name,
        tool,
        whole,
        fields,
        generator.type_of(schema, f"{shown}_input") if wants else None,
        None if tool.output_schema is None else generator.return_type(normalize(tool.output_schema), f"{shown}_output"),
    )

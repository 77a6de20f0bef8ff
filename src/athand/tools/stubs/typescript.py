"""TypeScript stubs: a standalone module that compiles strictly and calls the tools; its types are erasable by Node."""

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from athand.tools.model import Tool
from athand.tools.stubs.codegen import Field, Function, Group, Module, Record, build_module
from athand.tools.stubs.identifiers import clean_lines, to_identifier

RESERVED = frozenset(
    """
    abstract any arguments as assert async await bigint boolean break case catch class const continue debugger
    declare default delete do else enum eval export extends false finally for from function get if implements import in
    infer instanceof interface is keyof let module namespace never new null number object of package private protected
    public readonly require return set static string super switch symbol this throw true try type typeof undefined
    unique unknown var void while with yield
    Array Error Function JSON Map Object Promise Record Response Set String Number Boolean Symbol URL Infinity NaN
    encodeURIComponent fetch globalThis process environment args
    ToolError ToolResult call result structured given
    """.split()
)
_OF_OBJECTS = frozenset(
    ("constructor", "hasOwnProperty", "then", "toString", "valueOf")
)  # properties that every object has
_SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


class _TypeScript:
    anything, nothing = "unknown", "never"

    def scalar(self, name: str) -> str:
        return _SCALARS[name]

    def literal(self, value: Any) -> str | None:
        if isinstance(value, str):
            return quote(value)
        return json.dumps(value) if value is None or isinstance(value, (int, float)) else None

    def one_of(self, literals: Sequence[str]) -> str:
        return self.union(literals)

    def list_of(self, item: str) -> str:
        return f"Array<{item}>"

    def tuple_of(self, items: Sequence[str], rest: str | None) -> str:
        return f"[{', '.join([*items, f'...Array<{rest}>'] if rest else items)}]"

    def map_of(self, value: str) -> str:
        return f"Record<string, {value}>"

    def union(self, members: Sequence[str]) -> str:
        return " | ".join(members)


def plan(tools: Sequence[Tool]) -> Module:
    """Plan the module with the names that TypeScript allows."""
    return build_module(tools, _TypeScript(), RESERVED, _OF_OBJECTS, has_inputs=True)


def render_module(module: Module, gateway: str | None) -> str:
    """The source of the module."""
    given = "undefined" if gateway is None else quote(gateway)
    runtime = files(__package__).joinpath("runtime.ts.txt").read_text("utf-8").replace("GATEWAY_GIVEN", given)
    parts = [runtime.rstrip(), *map(_record, module.records), *map(_group, module.groups)]
    return "\n\n".join(parts) + "\n"


def render_call(group: Group, function: Function, values: dict[str, Any]) -> str:
    """A call with these values."""
    given = f"{{ {', '.join(f'{_key(name)}: {_value(each)}' for name, each in values.items())} }}" if values else ""
    return f"await {group.name}.{function.name}({given})"


def quote(text: str) -> str:
    """A string literal with everything escaped."""
    return '"' + "".join(_escape(char) for char in text) + '"'


def _escape(char: str) -> str:
    return char if char.isprintable() and char not in '"\\' else json.dumps(char)[1:-1]


def _value(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(name)}: {_value(each)}' for name, each in value.items())} }}" if value else "{}"
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, list) else json.dumps(value)


def _key(name: str) -> str:
    return name if to_identifier(name) == name else quote(name)


def _record(record: Record) -> str:
    lines = [line for field in record.fields for line in _field(field)]
    if record.is_open:
        lines.append("  [key: string]: unknown;")
    return "\n".join([*_comment(clean_lines(record.description), 0), f"export interface {record.name} {{", *lines, "}"])


def _field(field: Field) -> Iterator[str]:
    description = clean_lines(field.schema.get("description", ""))
    if "default" in field.schema:
        description = [*description, " ".join(clean_lines(f"@default {json.dumps(field.schema['default'])}"))]
    yield from _comment(description, 2)
    yield f"  {_key(field.name)}{'' if field.is_required else '?'}: {field.type};"


def _group(group: Group) -> str:
    head = _comment([f"The tools of the server {' '.join(clean_lines(group.server))}."], 0)
    body = [line for function in group.functions for line in _function(function)]
    return "\n".join([*head, f"export const {group.name} = {{", *body, "};"])


def _function(function: Function) -> Iterator[str]:
    takes = function.input or "Record<string, unknown>"
    is_needed = function.input is not None and (function.schema.get("required") or "properties" not in function.schema)
    answer = function.output or "ToolResult"
    caller = "result" if function.output is None else f"structured<{answer}>"
    yield from _comment(clean_lines(function.tool.description) or clean_lines(function.tool.title or ""), 2)
    yield f"  {function.name}: (args: {takes}{'' if is_needed else ' = {}'}): Promise<{answer}> =>"
    yield f"    {caller}({quote(function.tool.id)}, args),"


def _comment(lines: Sequence[str], indent: int) -> list[str]:
    """A comment that foreign text cannot end, and without compiler directives."""
    safe = [line.replace("*/", "*\\/").replace("@ts-", "@ts ").rstrip() for line in lines]
    room = " " * indent
    if len(safe) < 2:
        return [f"{room}/** {line} */" for line in safe]
    return [f"{room}/**", *(f"{room} * {line}".rstrip() for line in safe), f"{room} */"]

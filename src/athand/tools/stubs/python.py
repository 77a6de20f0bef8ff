"""Python stubs: a standalone module that passes `mypy --strict` and calls the tools."""

import builtins
import json
import keyword
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from athand.tools.model import Tool
from athand.tools.stubs.codegen import Field, Function, Group, Module, Record, build_module
from athand.tools.stubs.identifiers import Names, clean_lines, to_identifier

_TYPES = frozenset("str int float bool list dict Any Literal Never NotRequired Unset ToolResult".split())
_USED = frozenset("TypedDict ToolError Final UNSET annotations atexit importlib json os urllib".split())
_KEYWORDS = frozenset(keyword.kwlist)
_OF_MODULE = _KEYWORDS | _TYPES | _USED | frozenset(dir(builtins))
_OF_CLASS = _KEYWORDS | _TYPES | {"staticmethod", "UNSET"}  # inside a class, a name shadows the type of that name
_OF_FUNCTION = _KEYWORDS | {"UNSET", "ToolResult", "answer"}
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_SHORT = 500  # characters of the description of one field


class _Python:
    anything, nothing = "Any", "Never"

    def scalar(self, name: str) -> str:
        return _SCALARS[name]

    def literal(self, value: Any) -> str | None:
        return repr(value) if value is None or isinstance(value, (str, int)) else None

    def one_of(self, literals: Sequence[str]) -> str:
        return f"Literal[{', '.join(literals)}]"

    def list_of(self, item: str) -> str:
        return f"list[{item}]"

    def tuple_of(self, items: Sequence[str], rest: str | None) -> str:
        """A list of the union of all items, since JSON has no tuples."""
        members = list(dict.fromkeys([*items, rest] if rest else items))
        return self.list_of(self.anything if self.anything in members else self.union(members))

    def map_of(self, value: str) -> str:
        return f"dict[str, {value}]"

    def union(self, members: Sequence[str]) -> str:
        return " | ".join(members)


def plan(tools: Sequence[Tool]) -> Module:
    """Plan the module with the names that Python allows."""
    return build_module(tools, _Python(), _OF_MODULE, _OF_CLASS, has_inputs=False)


def render_module(module: Module, gateway: str | None) -> str:
    """The source of the module."""
    runtime = files(__package__).joinpath("runtime.py.txt").read_text("utf-8").replace("GATEWAY_GIVEN", repr(gateway))
    hidden = _OF_CLASS | {record.name for record in module.records}
    records = [_record(record, hidden) for record in module.records]
    parts = [runtime.rstrip(), *records, *map(_group, module.groups)]
    return "\n\n\n".join(parts) + "\n"


def render_call(group: Group, function: Function, values: dict[str, Any]) -> str:
    """A call with these values."""
    if function.input is not None:
        return f"{group.name}.{function.name}({values!r})"
    given = (f"{own}={values[field.name]!r}" for own, field in _parameters(function) if field.name in values)
    return f"{group.name}.{function.name}({', '.join(given)})"


def _record(record: Record, hidden: frozenset[str]) -> str:
    """A TypedDict class, or the functional form if a field name is no identifier."""
    about = [*clean_lines(record.description), *_describe_fields([(field.name, field) for field in record.fields])]
    if all(to_identifier(field.name) == field.name and field.name not in hidden for field in record.fields):
        lines = [f"    {field.name}: {_field_type(field)}" for field in record.fields]
        return "\n".join([f"class {record.name}(TypedDict):", *_docstring(about, 4), *lines])
    lines = [f"        {field.name!r}: {_field_type(field)!r}," for field in record.fields]
    opening = [f"{record.name} = TypedDict(", f"    {record.name!r},", "    {"]
    return "\n".join([*opening, *lines, "    },", ")", *_docstring(about, 0)])


def _field_type(field: Field) -> str:
    return field.type if field.is_required else f"NotRequired[{field.type}]"


def _group(group: Group) -> str:
    head = [f"class {group.name}:", *_docstring([f"The tools of the server {_one_line(group.server)}."], 4)]
    return "\n".join(head + [line for function in group.functions for line in _function(function)])


def _function(function: Function) -> Iterator[str]:
    parameters = _parameters(function)
    yield from ("", "    @staticmethod")
    if function.input is not None:
        yield f"    def {function.name}(arguments: {function.input}) -> {function.output or 'ToolResult'}:"
    elif not parameters:
        yield f"    def {function.name}() -> {function.output or 'ToolResult'}:"
    else:
        yield f"    def {function.name}("
        yield "        *,"
        yield from (f"        {name}: {_parameter_type(field)}," for name, field in parameters)
        yield f"    ) -> {function.output or 'ToolResult'}:"
    yield from _docstring(_describe_function(function, parameters), 8)
    yield from _body(function, parameters)


def _parameter_type(field: Field) -> str:
    return field.type if field.is_required else f"{field.type} | Unset = UNSET"


def _body(function: Function, parameters: Sequence[tuple[str, Field]]) -> Iterator[str]:
    caller = "_result" if function.output is None else "_structured"
    if function.input is not None or not parameters:
        given = "{}" if function.input is None else "arguments"
        yield f"        answer: {function.output or 'ToolResult'} = {caller}({function.tool.id!r}, {given})"
    else:
        yield f"        answer: {function.output or 'ToolResult'} = {caller}("
        yield f"            {function.tool.id!r},"
        yield "            {"
        yield from (f"                {field.name!r}: {name}," for name, field in parameters)
        yield from ("            },", "        )")
    yield "        return answer"


def _parameters(function: Function) -> list[tuple[str, Field]]:
    hidden = re.findall(r"\w+", function.output or "")  # a parameter would shadow the type of that name
    names = Names(_OF_FUNCTION.union(hidden))
    return [(names.claim(to_identifier(field.name)), field) for field in function.fields]


def _describe_function(function: Function, parameters: Sequence[tuple[str, Field]]) -> list[str]:
    about = clean_lines(function.tool.description) or clean_lines(function.tool.title or "") or [function.name]
    fields = list(_describe_fields(parameters))
    return about + (["", "Args:", *(f"    {line}" for line in fields)] if fields else [])


def _describe_fields(fields: Sequence[tuple[str, Field]]) -> Iterator[str]:
    for name, field in fields:
        description = " ".join(clean_lines(field.schema.get("description", ""), _SHORT))
        default = f"default {json.dumps(field.schema['default'])[:_SHORT]}" if "default" in field.schema else ""
        if description or default:
            suffix = f" ({default})" if description and default else default
            yield f"{' '.join(clean_lines(name))}: {description}{suffix}"


def _one_line(text: str) -> str:
    return " ".join(clean_lines(text, _SHORT))


def _docstring(lines: Sequence[str], indent: int) -> list[str]:
    """A docstring with quotes and backslashes escaped; its lines are indented, so none is read as a type comment."""
    if not lines:
        return []
    first, *others = (line.replace("\\", "\\\\").replace('"', '\\"') if _is_risky(line) else line for line in lines)
    room = " " * indent
    if not others:
        return [f'{room}"""{first}"""']
    return [f'{room}"""{first}', *(f"{room or '    '}{line}".rstrip() for line in others), f'{room}"""']


def _is_risky(line: str) -> bool:
    return "\\" in line or '""' in line or line.endswith('"')

"""Typed stubs for tools: a module of TypeScript or Python whose functions call them."""

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from athand.inputs import check_choice
from athand.tools.json_schema import Schema, types_of
from athand.tools.model import Tool
from athand.tools.stubs import python, typescript
from athand.tools.stubs.codegen import Module, merge_all_of
from athand.tools.stubs.identifiers import clean_lines

LANGUAGES = ("typescript", "python")
_FENCE = "```"
_DEEPEST = 4
_LONGEST = 60
_FORMATS = {
    "date-time": "2026-03-31T14:05:00Z",
    "date": "2026-03-31",
    "time": "14:05:00",
    "email": "ada@example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_BY_NAME = {
    "path": "/path/to/it",
    "url": "https://example.com",
    "query": "words to look for",
    "email": "ada@example.com",
}


def render_stubs(tools: Sequence[Tool], language: str, *, gateway: str | None = None) -> str:
    """The source of a module with a typed function for each tool."""
    writer = _writer(language)
    source: str = writer.render_module(writer.plan(tools), gateway)
    return source


def render_example(tool: Tool, language: str) -> str:
    """An example call of the tool with its stubs."""
    writer = _writer(language)
    return _example(writer, writer.plan([tool]))


def render_markdown(rows: Sequence[tuple[Tool, float, str]], language: str, *, gateway: str | None = None) -> str:
    """A table of the tools with score and reason, then their stubs, then an example call of the first."""
    writer = _writer(language)
    plan: Module = writer.plan([tool for tool, _, _ in rows])
    table = ["| Tool | Confidence | Reason |", "|---|---|---|"]
    table += [f"| `{_cell(tool.id)}` | {confidence:.2f} | {_cell(reason)} |" for tool, confidence, reason in rows]
    if not rows:
        return "\n".join(table) + "\n"
    parts = [
        "\n".join(table),
        _block(language, writer.render_module(plan, gateway)),
        _block(language, _example(writer, plan)),
    ]
    return "\n\n".join(parts) + "\n"


def _writer(language: str) -> ModuleType:
    return {"typescript": typescript, "python": python}[check_choice("language", language, LANGUAGES)]


def _example(writer: ModuleType, plan: Module) -> str:
    group = plan.groups[0]
    function = group.functions[0]
    call = writer.render_call(group, function, example_arguments(function.schema))
    if writer is python:
        return f"from tools import {group.name}\n\nanswer = {call}\n"
    return f'import {{ {group.name} }} from "./tools.ts";\n\nconst answer = {call};\n'


def _block(language: str, source: str) -> str:
    fence = _FENCE
    while fence in source:
        fence += "`"
    return f"{fence}{language}\n{source.rstrip()}\n{fence}"


def _cell(text: str) -> str:
    return " ".join(clean_lines(text)).replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")


def example_arguments(schema: Schema) -> dict[str, Any]:
    """Example arguments: all required ones, or the first if none is required."""
    choice = schema.get("anyOf") or schema.get("oneOf") or [{}]
    whole = schema if "properties" in schema else merge_all_of(choice[0])
    return _object(whole, 0) or {name: _value(name, each, 1) for name, each in list(_properties(whole).items())[:1]}


def _properties(schema: Schema) -> dict[str, Schema]:
    properties: dict[str, Schema] = schema.get("properties", {})
    return properties


def _object(schema: Schema, depth: int) -> dict[str, Any]:
    properties = _properties(schema)
    return {name: _value(name, properties.get(name, {}), depth + 1) for name in schema.get("required", ())[:20]}


def _value(name: str, schema: Schema, depth: int) -> Any:
    whole = merge_all_of(schema)
    shown = [whole[key] for key in ("const", "default") if key in whole]
    shown += [*whole.get("enum", []), *whole.get("examples", [])]
    simple = [each for each in shown if _is_short(each)]
    if simple:
        return simple[0]
    choice = whole.get("anyOf") or whole.get("oneOf")
    if choice and depth < _DEEPEST:
        return _value(name, choice[0], depth + 1)
    kind = next(iter(types_of(whole)), "object" if "properties" in whole else "string")
    return _of_type(kind, name, whole, depth)


def _of_type(kind: str, name: str, schema: Schema, depth: int) -> Any:
    if kind == "string":
        named = (text for part, text in _BY_NAME.items() if part in name.lower())
        return _FORMATS.get(schema.get("format", "")) or next(named, "text")
    if kind in ("integer", "number"):
        least = schema.get("minimum", 1)
        return least if _is_short(least) else 1
    if depth >= _DEEPEST or kind in ("boolean", "null"):
        return {"boolean": True, "null": None, "array": [], "object": {}}[kind]
    if kind == "object":
        return _object(schema, depth)
    items = schema.get("prefixItems", [])[:5] or ([schema["items"]] if "items" in schema else [])
    return [_value(name, each, depth + 1) for each in items]


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST
    return isinstance(value, bool) or (isinstance(value, (int, float)) and abs(value) < 2**53 and math.isfinite(value))

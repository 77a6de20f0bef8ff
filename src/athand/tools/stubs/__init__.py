"""Typed functions for tools, as a module of TypeScript or Python that really calls them."""

from collections.abc import Sequence
from types import ModuleType

from athand.inputs import check_choice
from athand.tools.model import Tool
from athand.tools.stubs import python, typescript
from athand.tools.stubs.codegen import Module
from athand.tools.stubs.examples import example_arguments
from athand.tools.stubs.identifiers import clean_lines

LANGUAGES = ("typescript", "python")
_FENCE = "```"


def stubs(tools: Sequence[Tool], language: str, *, gateway: str | None = None) -> str:
    """The source of one module with a typed function for each of the tools."""
    writer = _writer(language)
    source: str = writer.render_module(writer.plan(tools), gateway)
    return source


def usage(tool: Tool, language: str) -> str:
    """One call of the tool, as it could be written with its stubs."""
    writer = _writer(language)
    return _example(writer, writer.plan([tool]))


def markdown(rows: Sequence[tuple[Tool, float, str]], language: str, *, gateway: str | None = None) -> str:
    """A table of the tools with how well they fit and why, then their stubs, then a call of the first."""
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

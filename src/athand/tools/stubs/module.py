"""What a module of stubs is made of, whatever its language: groups of functions by server, and their types."""

from collections.abc import Sequence
from dataclasses import dataclass

from athand.tools.dialect import Form, understood
from athand.tools.model import Tool
from athand.tools.stubs.drawing import Drawing, Field, Language, Record, merged
from athand.tools.stubs.naming import Names, legal, pascal


@dataclass(frozen=True, slots=True)
class Function:
    """One tool as a function: of fields, or of one input where the arguments are a choice between several objects."""

    name: str
    tool: Tool
    form: Form
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
    """All that is to be written."""

    groups: tuple[Group, ...]
    records: tuple[Record, ...]


def planned(
    tools: Sequence[Tool], language: Language, reserved: frozenset[str], inside: frozenset[str], *, has_inputs: bool
) -> Module:
    """The module for some tools; where inputs have types of their own, a function takes one object.

    No name of the module is `reserved`, and no name of a function is among those `inside` of a group.
    """
    names = Names(reserved)
    drawing = Drawing(language, names)
    by_server: dict[tuple[str, str], list[Tool]] = {}
    for tool in {(each.catalogue, each.id): each for each in tools}.values():
        by_server.setdefault((tool.catalogue, tool.server), []).append(tool)
    named = {key: _named(own, names.claim(legal(key[1])), Names(inside)) for key, own in by_server.items()}
    names.avoid(name for _, functions in named.values() for name in functions)
    groups = (
        Group(group, key[1], tuple(_function(tool, name, drawing, has_inputs) for name, tool in functions.items()))
        for key, (group, functions) in named.items()
    )
    return Module(tuple(groups), tuple(drawing.records.values()))


def _named(tools: Sequence[Tool], group: str, names: Names) -> tuple[str, dict[str, Tool]]:
    return group, {names.claim(legal(tool.name)): tool for tool in tools}


def _function(tool: Tool, name: str, drawing: Drawing, has_inputs: bool) -> Function:
    drawing.begin_tool()
    form, shown = understood(tool.input_schema), pascal(name)
    whole = merged(form)
    is_choice = "properties" not in whole and ("anyOf" in whole or "oneOf" in whole)
    fields = () if is_choice or has_inputs else tuple(drawing.fields(whole, f"{shown}_input"))
    wants = is_choice or (has_inputs and "properties" in whole)
    return Function(
        name,
        tool,
        whole,
        fields,
        drawing.type_of(form, f"{shown}_input") if wants else None,
        None if tool.output_schema is None else drawing.answer(understood(tool.output_schema), f"{shown}_output"),
    )

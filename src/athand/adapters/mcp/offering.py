"""Which operations an agent is offered, under which names, and how they are listed."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from mcp import types

from athand.adapters.operations import ALWAYS, TOOLSETS, Operation, operations
from athand.errors import InvalidInput

DEFAULT_TOOLS = frozenset(
    "search memory_search memory_add memory_supersede memory_timeline memory_brief search_content find_documents "
    "get_document_text search_tools describe_tool call_tool".split()
)
ALL = "all"
UI_PREFIX = "ui_"  # of the tools that drive a browser; a profile may have another
WRAPPED = "result"  # the name of an answer that is no object by itself


class Offering:
    """The operations that were chosen at start, by the names of their tools; always in the same order."""

    def __init__(self, toolsets: Sequence[str] | None = None, prefix: str = UI_PREFIX) -> None:
        self.toolsets = _checked(toolsets)
        self._prefix = prefix
        self._listed: dict[frozenset[str], list[types.Tool]] = {}

    @cached_property
    def operations(self) -> Mapping[str, Operation]:
        """All that are offered to a caller with every scope."""
        chosen = [each for each in operations().values() if self._is_chosen(each)]
        return {_renamed(each.name, self._prefix): each for each in chosen}

    def to(self, scopes: Iterable[str]) -> Mapping[str, Operation]:
        """Those that a caller with these scopes may use."""
        held = frozenset(scopes)
        return {name: each for name, each in self.operations.items() if each.scope in held}

    def listed(self, scopes: Iterable[str]) -> list[types.Tool]:
        """The same, as tools/list has them."""
        held = frozenset(scopes)
        if held not in self._listed:
            self._listed[held] = [_tool(name, each) for name, each in self.to(held).items()]
        return self._listed[held]

    def _is_chosen(self, each: Operation) -> bool:
        if self.toolsets is None:
            return each.name in DEFAULT_TOOLS
        return each.toolset == ALWAYS or each.toolset in self.toolsets


def is_wrapped(answer: Mapping[str, Any]) -> bool:
    """Whether answers with this schema are put into an object: MCP's structured answers are objects."""
    return answer.get("type") != "object"


def _checked(toolsets: Sequence[str] | None) -> tuple[str, ...] | None:
    if toolsets is None:
        return None
    unknown = [each for each in toolsets if each not in (*TOOLSETS, ALL)]
    if unknown or not toolsets:
        raise InvalidInput(f"No toolset {', '.join(unknown) or 'named'}. There are: {', '.join((*TOOLSETS, ALL))}.")
    return TOOLSETS if ALL in toolsets else tuple(dict.fromkeys(toolsets))


def _renamed(name: str, prefix: str) -> str:
    return prefix + name.removeprefix(UI_PREFIX) if name.startswith(UI_PREFIX) else name


def _tool(name: str, operation: Operation) -> types.Tool:
    return types.Tool(
        name=name,
        title=operation.title,
        description=operation.description,
        input_schema=operation.parameters,
        output_schema=_object(operation.answer),
        annotations=types.ToolAnnotations(
            read_only_hint=operation.kind == "read",
            destructive_hint=operation.kind == "destructive",
            idempotent_hint=operation.idempotent,
            open_world_hint=operation.open_world,
        ),
    )


def _object(answer: dict[str, Any]) -> dict[str, Any]:
    if not is_wrapped(answer):
        return answer
    return {"type": "object", "properties": {WRAPPED: answer}, "required": [WRAPPED]}

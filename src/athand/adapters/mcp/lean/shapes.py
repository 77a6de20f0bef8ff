"""Which answer gets which lean form, and the JSON Schema of it."""

from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from athand.adapters.mcp.lean.compact import also_full, compact, relax
from athand.adapters.mcp.lean.documents import lean_documents, lean_outline, lean_passages, lean_text, lean_texts
from athand.adapters.mcp.lean.flows import lean_steps
from athand.adapters.mcp.lean.hits import lean_hits
from athand.adapters.mcp.lean.items import lean_item
from athand.adapters.mcp.lean.memories import (
    lean_change,
    lean_change_of,
    lean_changes,
    lean_memories,
    lean_memory,
    lean_relations,
    lean_timeline,
)
from athand.adapters.mcp.lean.tools import lean_call, lean_tool, lean_tool_hits
from athand.adapters.operations import Operation
from athand.adapters.operations.answers import Schema, plain_answer, schema_of
from athand.types import Hits

LEAN, FULL = "lean", "full"
DETAIL: Schema = {"enum": [LEAN, FULL], "default": LEAN}
SHAPES: Mapping[str, Callable[[Any], Any]] = {
    "open": lean_item,
    "memory_get": lean_memory,
    "memory_list": lean_memories,
    "memory_related": lean_relations,
    "memory_timeline": lean_timeline,
    "memory_add": lean_change,
    "memory_add_many": lean_changes,
    "memory_forget": lean_changes,
    **dict.fromkeys(
        "memory_supersede memory_unsupersede memory_update memory_delete memory_restore memory_pin memory_unpin "
        "memory_reinforce memory_deemphasize".split(),
        lean_change_of,
    ),
    "search_content": lean_passages,
    "find_documents": lean_documents,
    "get_document_data": lean_outline,
    "get_document_text": lean_text,
    "get_chunks": lean_texts,
    "search_tools": lean_tool_hits,
    "describe_tool": lean_tool,
    **dict.fromkeys(("call_tool", "call_tool_write", "call_tool_destructive", "read_on"), lean_call),
    "knowledge_last": lean_steps,
    "knowledge_steps": lean_steps,
}


def find_shape(operation: Operation) -> Callable[[Any], Any] | None:
    """The lean form of an operation's answer; None if leaving out what is empty is enough."""
    if operation.name in SHAPES:
        return SHAPES[operation.name]
    hint = get_type_hints(operation.run)["return"]
    origin = getattr(hint, "__origin__", hint)
    return lean_hits if isinstance(origin, type) and issubclass(origin, Hits) else None


def make_lean(operation: Operation, answer: Any) -> Any:
    """The answer as an agent gets it by default."""
    shape = find_shape(operation)
    return compact(plain_answer(shape(answer)) if shape else answer)


def make_lean_schema(operation: Operation) -> Schema:
    """The JSON Schema of lean answers, which full ones fit as well."""
    shape = find_shape(operation)
    if shape is None:
        answer = operation.answer
        return relax(answer) | ({"type": answer["type"]} if isinstance(answer.get("type"), list) else {})
    lean = relax(schema_of(get_type_hints(shape)["return"]))
    return also_full(lean, operation.answer)

"""Lean answers about tools (pure functions of answers as JSON)."""

import json
from collections.abc import Mapping
from typing import Any

from athand.adapters.mcp.lean.hits import call
from athand.adapters.mcp.lean.model import LeanCall, LeanTool, LeanToolHit, LeanToolHits
from athand.adapters.mcp.lean.places import place_of_tool
from athand.adapters.reasons import describe_why
from athand.text_length import shorten

_DESCRIPTION = 200
_SIGNATURE = 240
JsonObject = Mapping[str, Any]


def lean_tool_hits(answer: JsonObject) -> LeanToolHits:
    """The tools that a search has found."""
    hits = [_lean_tool_hit(each) for each in answer["hits"]]
    return LeanToolHits(hits, answer["notes"], answer["did_you_mean"], answer["closest"])


def _lean_tool_hit(hit: JsonObject) -> LeanToolHit:
    tool = hit["item"]
    return LeanToolHit(
        id=tool["id"],
        score=round(hit["score"], 2),
        signature=render_signature(tool["input_schema"]),
        description=shorten(" ".join(tool["description"].split()), _DESCRIPTION),
        place=place_of_tool(tool),
        why=describe_why(hit["why"]),
        next=call("describe_tool", tool["id"])
        if _needs_description(tool["input_schema"])
        else call("call_tool", tool["id"]),
        state=state_of(tool),
        flags=flags_of(tool),
    )


def _needs_description(schema: JsonObject) -> bool:
    """Whether the signature does not say all that a call needs: a parameter has parts of its own."""
    return any(_type_of(each) in ("object", "any") for each in (schema.get("properties") or {}).values())


def lean_tool(tool: JsonObject) -> LeanTool:
    """All that a call of a tool needs."""
    callable_ = tool["state"] == "approved" and tool["enabled"]
    return LeanTool(
        id=tool["id"],
        kind=tool["kind"],
        description=tool["description"],
        input_schema=drop_titles(tool["input_schema"]),
        output_schema=drop_titles(tool["output_schema"]),
        next=call("call_tool", tool["id"], arguments={}).replace("{}", "{…}") if callable_ else None,
        state=state_of(tool),
        flags=flags_of(tool),
    )


def drop_titles(schema: Any) -> Any:
    """The schema without titles, which generators make of the names of parameters."""
    if isinstance(schema, list):
        return [drop_titles(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: {name: drop_titles(each) for name, each in part.items()} if _has_names(key, part) else drop_titles(part)
        for key, part in schema.items()
        if key != "title" or not isinstance(part, str)
    }


def _has_names(key: str, part: Any) -> bool:
    """Whether the keys of a part of a schema are names: there "title" is a parameter."""
    return key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(part, Mapping)


def state_of(tool: JsonObject) -> str | None:
    """Why a tool cannot be called; None if it can."""
    return tool["state"] if tool["state"] != "approved" else None if tool["enabled"] else "disabled"


def flags_of(tool: JsonObject) -> list[str]:
    """The names of the rules that found something odd in the definition of a tool."""
    return sorted({each["rule"] for each in tool["flags"]})


def render_signature(schema: JsonObject) -> str:
    """The parameters of a tool in one line: those that are required, then the others with a question mark."""
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    names = sorted(properties, key=lambda name: name not in required)
    parts = [f"{name}{'' if name in required else '?'}: {_type_of(properties[name])}" for name in names]
    return shorten(f"({', '.join(parts)})", _SIGNATURE)


def _type_of(schema: Any) -> str:
    """The type of a parameter in a word or two."""
    if not isinstance(schema, Mapping):
        return "any"
    if choices := schema.get("enum"):
        return shorten("|".join(json.dumps(each, ensure_ascii=False) for each in choices), 60)
    if parts := schema.get("anyOf") or schema.get("oneOf"):
        types = [_type_of(each) for each in parts if not _is_null(each)]
        return "|".join(dict.fromkeys(types)) or "null"
    kind = schema.get("type")
    if kind == "array":
        return f"{_type_of(schema.get('items'))}[]"
    return "|".join(each for each in kind if each != "null") if isinstance(kind, list) else str(kind or "any")


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def lean_call(result: JsonObject) -> LeanCall:
    """What a tool answered, once: text that repeats the data is left out."""
    parts = result["content"]
    text = "\n".join(str(each.get("text", "")) for each in parts if each.get("type") == "text")
    structured = result["structured"]
    return LeanCall(
        structured=structured,
        text=None if structured is not None and _says_the_same(text, structured) else text,
        parts=[each for each in parts if each.get("type") != "text"],
        next=call("open", result["continuation"]) if result["truncated"] else None,
    )


def _says_the_same(text: str, structured: Any) -> bool:
    """Whether a text is the data as JSON, or a text that the data hold."""
    if isinstance(structured, Mapping) and text in structured.values():
        return True
    try:
        return bool(json.loads(text) == structured)
    except (ValueError, RecursionError):
        return not text

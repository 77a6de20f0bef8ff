"""What `open` shows an agent (pure functions of answers as JSON)."""

from collections.abc import Callable, Mapping
from typing import Any

from athand.adapters.mcp.lean.compact import compact
from athand.adapters.mcp.lean.documents import lean_chunks, lean_text
from athand.adapters.mcp.lean.hits import call
from athand.adapters.mcp.lean.memories import lean_memory, titles
from athand.adapters.mcp.lean.model import LeanOpened
from athand.adapters.mcp.lean.tools import lean_call, lean_tool

JsonObject = Mapping[str, Any]


def lean_item(answer: JsonObject) -> LeanOpened:
    """What was opened, by its corpus; of a corpus of one's own all there is."""
    show = _SHOWN.get(answer["corpus"])
    if show is None:
        return LeanOpened(answer["id"], answer["corpus"], details=answer["found"])
    return show(answer["id"], answer["found"])


def _show_memory(id_: str, found: JsonObject) -> LeanOpened:
    memory = lean_memory(found["memory"]).to_dict()
    details = {name: each for name, each in memory.items() if name not in ("id", "content", "place", "updated_at")}
    return LeanOpened(
        id_,
        "memories",
        place=memory["place"],
        text=memory["content"],
        details=compact(details),
        superseded_by=titles(found["superseded_by"]),
        supersedes=titles(found["supersedes"]),
        before=titles(found["before"]),
        after=titles(found["after"]),
        next=call("open", found["superseded_by"][-1]["id"]) if found["superseded_by"] else None,
    )


def _show_document(id_: str, found: JsonObject) -> LeanOpened:
    parts = lean_chunks(found) if "chunks" in found else [lean_text(found)]
    text = "\n…\n".join(each.text for each in parts)
    return LeanOpened(id_, "documents", place=parts[0].place, text=text, next=_call_for_the_rest(found))


def _call_for_the_rest(found: JsonObject) -> str | None:
    """The call that reads on in a document: from the line after the last one, or on in a line that was cut."""
    last = found["chunks"][-1] if "chunks" in found else found
    if "chunks" not in found and not found["continuation"]["has_more"]:
        return None
    was_cut = "chunks" not in found and not found["text"].endswith("\n")
    line = last["end_line"] + (0 if was_cut else 1)
    return call("get_document_text", folder_id=last["folder_id"], document_id=last["document_id"], start_line=line)


def _show_tool(id_: str, found: JsonObject) -> LeanOpened:
    if "content" in found:
        return _show_rest(id_, found)
    tool = lean_tool(found).to_dict()
    details = compact({name: each for name, each in tool.items() if name not in ("id", "description", "next")})
    return LeanOpened(id_, "tools", text=tool["description"], details=details, next=tool["next"])


def _show_session(id_: str, found: JsonObject) -> LeanOpened:
    session, position = found["session"], found["position"]
    steps = [f"{number}. {step}" for number, step in enumerate(found["steps"], 1)]
    place = f"{session['app']} · session {session['id']}" + (f" · step {position}" if position else "")
    return LeanOpened(id_, "flows", title=session["goal"], place=place, steps=steps)


def _show_rest(id_: str, found: JsonObject) -> LeanOpened:
    """The next part of an answer that was cut."""
    answered = lean_call(found)
    return LeanOpened(id_, "tools", text=answered.text, next=answered.next)


_SHOWN: Mapping[str, Callable[[str, Any], LeanOpened]] = {
    "memories": _show_memory,
    "documents": _show_document,
    "tools": _show_tool,
    "flows": _show_session,
}

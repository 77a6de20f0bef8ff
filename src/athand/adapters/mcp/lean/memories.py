"""Lean answers about memories (pure functions of answers as JSON)."""

from collections.abc import Mapping, Sequence
from typing import Any

from athand.adapters.mcp.lean.model import LeanChange, LeanMemory, LeanTimeline, Titled
from athand.adapters.mcp.lean.places import age, place_of_memory
from athand.text_length import shorten

_TITLE = 80
_SIMILAR_TITLE = 44
_MOST_SIMILAR = 2
_LISTED = 300  # characters of a memory in a list
JsonObject = Mapping[str, Any]


def lean_memory(memory: JsonObject, longest: int | None = None) -> LeanMemory:
    """A memory with its whole text, or as much of it as a list shows."""
    content = memory["content"]
    return LeanMemory(
        id=memory["id"],
        content=content if longest is None else shorten(content, longest),
        place=place_of_memory(memory),
        summary=memory["summary"],
        context=memory["context"],
        kind=memory["memory_type"],
        tags=memory["tags"],
        files=memory["files"],
        pinned=memory["pinned"] or None,
        pinned_by=pinned_by(memory),
        valid_until=memory["valid_until"],
        deleted_at=memory["deleted_at"],
        updated_at=memory["updated_at"],
    )


def pinned_by(memory: JsonObject) -> str | None:
    """Who pinned a memory, unless a person did."""
    by: str | None = memory["pinned_by"]
    return None if by == "user" else by


def lean_memories(memories: Sequence[JsonObject]) -> list[LeanMemory]:
    """Memories in a list."""
    return [lean_memory(each, _LISTED) for each in memories]


def lean_relations(related: Sequence[JsonObject]) -> list[Titled]:
    """The memories at the other end of relations, with the relation as their place."""
    return [
        Titled(each["memory"]["id"], title_of(each["memory"]), _describe_relation(each["relation"], each["memory"]))
        for each in related
    ]


def _describe_relation(relation: JsonObject, other: JsonObject) -> str:
    return f"{relation['type']} this one" if relation["source_id"] == other["id"] else f"this one {relation['type']} it"


def lean_change(memory: JsonObject) -> LeanChange:
    """What a write has made of a memory. Of one that was just added the caller knows the text."""
    similar = [Titled(each["id"], shorten(each["content"], _SIMILAR_TITLE)) for each in memory["similar"]]
    return LeanChange(
        id=memory["id"],
        project=memory["project"],
        deduplicated=memory["deduplicated"] or None,
        pinned=memory["pinned"] or None,
        pinned_by=pinned_by(memory),
        valid_until=memory["valid_until"],
        deleted_at=memory["deleted_at"],
        similar=similar[:_MOST_SIMILAR],
    )


def lean_change_of(memory: JsonObject) -> LeanChange:
    """What a change has made of an older memory, with its title."""
    changed = lean_change(memory)
    return LeanChange(
        changed.id,
        changed.project,
        title_of(memory),
        pinned=changed.pinned,
        pinned_by=changed.pinned_by,
        valid_until=changed.valid_until,
        deleted_at=changed.deleted_at,
    )


def lean_changes(memories: Sequence[JsonObject]) -> list[LeanChange]:
    """What was added."""
    return [lean_change(each) for each in memories]


def lean_timeline(timeline: JsonObject) -> LeanTimeline:
    """The memories around one, as titles."""
    return LeanTimeline(to_title(timeline["anchor"]), titles(timeline["before"]), titles(timeline["after"]))


def titles(memories: Sequence[JsonObject]) -> list[Titled]:
    """Memories by id and title."""
    return [to_title(each) for each in memories]


def to_title(memory: JsonObject) -> Titled:
    """A memory by its id and title, and its age."""
    return Titled(memory["id"], title_of(memory), age(memory["created_at"]))


def title_of(memory: JsonObject) -> str:
    """The summary or the first line of a memory."""
    text = str(memory["summary"] or memory["content"])
    return shorten(text.strip().split("\n", 1)[0], _TITLE)

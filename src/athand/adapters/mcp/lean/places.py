"""Where things come from, in a few words: projects, files, servers, apps (pure functions of answers as JSON)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from athand.adapters.cli.words import format_age

_DOT = " · "
Item = Mapping[str, Any]


def place_of_memory(item: Item) -> str:
    """The project of a memory, its age, who said it, and who wrote it down if that was not a person."""
    project = "every project" if item["tier"] == "global" else item["project"]
    written = None if item["written_by"] == "user" else f"written by {item['written_by']}"
    return _DOT.join(filter(None, (project, age(item["created_at"]), item["author"], written)))


def place_of_chunk(item: Item) -> str:
    """Folder, path and lines of a part of a document, and its page or cell if it has one."""
    lines = f"{item['folder_id']}/{item['document_id']}:{item['start_line']}-{item['end_line']}"
    return _DOT.join(filter(None, (lines, item.get("place"))))


def place_of_tool(item: Item) -> str:
    """The server of a tool, and what it may do: read, write or destroy."""
    return _DOT.join((item["server"], item["kind"]))


def place_of_step(item: Item) -> str:
    """The app of a step, its session, and its age."""
    return _DOT.join((item["app"], f"session {item['session_id']}", age(item["timestamp"])))


def age(time: str) -> str:
    """How long ago."""
    return format_age(datetime.fromisoformat(time))

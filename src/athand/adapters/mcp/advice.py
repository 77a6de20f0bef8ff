"""Advice in the words of MCP: what a message says about the command line becomes a call of a tool that is offered."""

import re
from collections.abc import Mapping

from athand.adapters.operations import Operation, operations

BY_OWNER = "The owner of this store can do that, outside of this client."
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_COMMAND = re.compile(r"\bathand (?:(memory|docs|tools|flows|store) )?([a-z][a-z-]+)")
_SERVICES = {"memory": "memories", "docs": "documents", "tools": "tools", "flows": "flows"}
_SEARCHES = {"memories": "memories/search", "documents": "documents/find_documents", "tools": "tools/search"}
_READS = frozenset(each.path for each in operations().values() if each.kind == "read" and each.scope == "search")
# Commands whose operation has another name.
_OTHERS = {
    "memories/show": "open",
    "documents/read": "documents/get_document_text",
    "documents/show": "open",
    "documents/list": "documents/list_folders",
    "flows/show": "open",
}


def translate_advice(text: str, offered: Mapping[str, Operation]) -> str:
    """The text with calls of offered tools in place of commands; what no tool can do, the owner can."""
    by_path = {each.path: name for name, each in offered.items()}
    pieces = [_translate_sentence(each, by_path) for each in _SENTENCES.split(text)]
    if pieces == _SENTENCES.split(text):
        return text
    return " ".join(dict.fromkeys(filter(None, pieces)))


def _translate_sentence(sentence: str, by_path: Mapping[str, str]) -> str:
    found = _COMMAND.search(sentence)
    if found is None:
        return sentence
    path = _path_of(found[1], found[2])
    tool = by_path.get(path) or (_find_search(path, by_path) if path in _READS else None)
    return f"Call {tool}." if tool else BY_OWNER


def _find_search(path: str, by_path: Mapping[str, str]) -> str | None:
    """What finds the same things, where the tool that lists or shows them is not offered."""
    own = _SEARCHES.get(path.partition("/")[0], "")
    return by_path.get(own) or by_path.get("search")


def _path_of(group: str | None, command: str) -> str:
    """The path of the operation that a command stands for."""
    path = "/".join(filter(None, (_SERVICES.get(group or "", ""), command.replace("-", "_"))))
    return _OTHERS.get(path, path)

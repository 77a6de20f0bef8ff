"""What an agent pays, in characters: Claude Code with Athand and with other servers of memories, its model a script.

`python -m benchmarks.answer_costs [NAME…]` prints the table of docs/mcp.md. Every server gets the same notes by its own
tool; counted is what the model is sent. Other servers are measured where their commands are on the path.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.adapters.claude_code import converse, install
from tests.adapters.model_api import Call, Result, Script
from tests.tools.node import node, server

from benchmarks.tables import table

NOTES = 12
QUESTION = "which build of the harbour service was deployed to staging?"
WORDS = "harbour service"  # for servers that look for the words as they are
MORE = " More was said about it that nobody needs to know, though it stands in the note all the same." * 20
PREFIX = "mcp__memory__"
HEAD = [
    "server",
    "tools",
    "their list",
    "a note added",
    "found: short notes",
    "long notes",
    "5 found",
    "and 1 read whole",
]
Entry = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """A server: its entry on an empty folder, and the calls that add, search (with a limit, or without) and read."""

    entry: Callable[[str], Entry]
    add: Callable[[int, str], Call]
    search: Callable[[dict[str, int]], Call]
    limit: str | None  # the name of its parameter for the number of hits
    read: Callable[[Result], Call] | None  # None: a search answers whole texts
    needs: str | None = None  # a command


@dataclass
class Costs:
    """Characters, and hits where these are counted."""

    added: int = 0
    found: tuple[int, int] = (0, 0)
    five: tuple[int, int] = (0, 0)
    read: int = 0


def _call(tool: str, **arguments: Any) -> Call:
    return Call(PREFIX + tool, arguments)


PEERS = {
    "Athand": Peer(
        entry=lambda folder: {
            "command": sys.executable,
            "args": ["-m", "athand", "mcp"],
            "env": {"ATHAND_HOME": folder},
        },
        add=lambda _, text: _call("memory_add", content=text),
        search=lambda limit: _call("memory_search", query=QUESTION, **limit),
        limit="limit",
        read=lambda found: _call("open", id=found.json["hits"][0]["id"]),
    ),
    "@modelcontextprotocol/server-memory": Peer(
        entry=lambda folder: {
            "command": node(),
            "args": [server("memory")],
            "env": {"MEMORY_FILE_PATH": f"{folder}/memory.jsonl"},
        },
        add=lambda number, text: _call(
            "create_entities", entities=[{"name": f"build {number}", "entityType": "build", "observations": [text]}]
        ),
        search=lambda _: _call("search_nodes", query=WORDS),
        limit=None,
        read=None,
    ),
    "basic-memory": Peer(
        entry=lambda folder: {
            "command": shutil.which("basic-memory"),
            "args": ["mcp"],
            "env": {"HOME": folder, "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"},
        },
        add=lambda number, text: _call("write_note", title=f"Build {number}", content=text, directory="builds"),
        search=lambda limit: _call("search_notes", query=WORDS, **limit),
        limit="page_size",
        read=lambda _: _call("read_note", identifier="Build 1"),
        needs="basic-memory",
    ),
    "mcp-memory-service": Peer(
        entry=lambda folder: {
            "command": shutil.which("memory-server"),
            "env": {"MCP_MEMORY_BASE_DIR": folder, "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec"},
        },
        add=lambda _, text: _call("memory_store", content=text, conversation_id="one"),
        search=lambda limit: _call("memory_search", query=QUESTION, **limit),
        limit="limit",
        read=None,
        needs="memory-server",
    ),
}


def main() -> None:
    names = sys.argv[1:] or [name for name, each in PEERS.items() if not each.needs or shutil.which(each.needs)]
    print(table(HEAD, [_measure(name, PEERS[name]) for name in names]))


def _measure(name: str, peer: Peer) -> list[str]:
    tools = _list_tools(peer)
    short, long = _ask(peer, ""), _ask(peer, MORE)
    whole = f"{long.five[0] + long.read:,}"
    found = [f"{size:,} ({hits} hits)" for size, hits in (short.found, long.found, long.five)]
    return [name, str(len(tools)), f"{sum(map(_size, tools)):,}", f"{long.added:,}", *found, whole]


def _list_tools(peer: Peer) -> list[dict[str, Any]]:
    """The tools as a model sees them all."""
    with TemporaryDirectory() as folder, TemporaryDirectory() as data:
        servers = {"memory": peer.entry(data)}
        return converse(install(), Path(folder), servers, iter(()), ENABLE_TOOL_SEARCH="false").tools(PREFIX)


def _size(tool: dict[str, Any]) -> int:
    schema = json.dumps(tool["input_schema"], ensure_ascii=False, separators=(",", ":"))
    return len(tool["name"]) + len(tool["description"]) + len(schema)


def _ask(peer: Peer, more: str) -> Costs:
    costs = Costs()
    with TemporaryDirectory() as folder, TemporaryDirectory() as data:
        converse(install(), Path(folder), {"memory": peer.entry(data)}, _use(peer, more, costs))
    return costs


def _use(peer: Peer, more: str, costs: Costs) -> Script:
    """Add all notes, search as the server does by default, then for 5 hits, and read one of them."""
    for number in range(NOTES):
        added = yield peer.add(number, f"Build {number} of the harbour service was deployed to staging.{more}")
        assert not added.is_error, added.text
    costs.added = len(added.text)
    found = yield peer.search({})
    costs.found = len(found.text), _count(found)
    five = yield peer.search({peer.limit: 5} if peer.limit else {})
    costs.five = len(five.text), _count(five)
    if peer.read:
        costs.read = len((yield peer.read(five)).text)


def _count(found: Result) -> int:
    """How many of the notes an answer names."""
    assert not found.is_error, found.text
    return len(set(re.findall(r"Build (\d+)(?: of|\\n)", found.text)))


if __name__ == "__main__":
    main()

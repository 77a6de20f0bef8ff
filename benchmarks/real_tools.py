"""Requests in our own words for the tools of five servers that others wrote, and some that none of them serves.

They were seen while the constants were chosen: the figures tell whether a small catalogue works, not how well a new one
will.
"""

import json
import sys
import sysconfig
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.tools.node import node, server

from athand import Athand, Settings
from benchmarks.data import CACHE, ROOT
from benchmarks.tool_sets import Request

QUESTIONS = Path(__file__).parent / "questions" / "tools.jsonl"


def requests() -> list[Request]:
    lines = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    return [Request(line["query"], frozenset(line["relevant"])) for line in lines]


def tools() -> list[dict[str, Any]]:
    """What the servers offer, asked of themselves."""
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as work:
        config = Path(work) / "servers.json"
        config.write_text(json.dumps({"mcpServers": _servers(Path(work))}), "utf-8")
        with closing(Athand(":memory:", settings=Settings())) as athand:
            athand.tools.load(config)
            athand.tools.wait(60)
            if failing := [server for server in athand.tools.servers() if not server.tools]:
                sys.exit(f"{failing[0].name} does not work: {failing[0].reason}. Run `make setup` first.")
            found = athand.tools.list()
    return [
        {"server": each.server, "name": each.name, "description": each.description, "input_schema": each.input_schema}
        for each in found
    ]


def _servers(work: Path) -> dict[str, Any]:
    program, python = node(), Path(sysconfig.get_path("scripts"))
    return {
        "files": {"command": program, "args": [server("filesystem"), str(work)]},
        "memory": {"command": program, "args": [server("memory")], "env": {"MEMORY_FILE_PATH": str(work / "m.jsonl")}},
        "everything": {"command": program, "args": [server("everything")]},
        "git": {"command": str(python / "mcp-server-git"), "args": ["--repository", str(ROOT)]},
        "time": {"command": str(python / "mcp-server-time")},
    }

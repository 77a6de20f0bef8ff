"""The MCP Inspector, and a walk through every tool from an empty store on: what one call makes, the next ones use."""

import json
import os
import re
import subprocess
from pathlib import Path

from tests.adapters.mcp_kit import NOTE
from tests.tools.node import node, package
from tests.tools.servers.kit import FILES, WEATHER, Board, a_tool, write_config
from tests.waiting import PATIENCE

DRIVER = Path(__file__).parents[1] / "node" / "inspect.mjs"
CLIENTS = "@modelcontextprotocol/inspector"
BEFORE = {"url": "https://shop.test/cart", "test_ids": [{"testId": "pay", "tag": "button", "text": "Pay"}]}


class Inspector:
    """The Inspector's command line; each run is one of its commands, with a connection of its own."""

    def __init__(self, home, program="cli/build/index.js", function="runCli"):
        entry = package(CLIENTS) / "clients" / program
        environment = {**os.environ, "HOME": str(home), "MCP_INSPECTOR_SECRET_STORE": "memory"}
        self._process = subprocess.Popen(
            [node(), str(DRIVER), str(entry), function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )

    def run(self, *words):
        """What a command has printed, as JSON."""
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        outcome = json.loads(self._process.stdout.readline())
        assert outcome["error"] is None and outcome["code"] == 0, (words, outcome)
        return outcome["printed"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()


def prepare(folder):
    """What the walk finds on the disk: notes, a server of tools, a project that wants to start something."""
    for name in ("notes", "out", "home"):
        (folder / name).mkdir(mode=0o700)
    (folder / "notes" / "deploying.md").write_text(NOTE)
    long = a_tool("long", "Many numbers.", annotations={"readOnlyHint": True})
    board = Board(folder / "files.json", (*FILES, long))
    write_config(folder / "servers.json", files=board.entry())
    write_config(folder / "project" / ".mcp.json", other=board.entry())


def walk(folder, site):
    """Every tool with arguments, in order; a function gets what its predecessors have answered, by their names."""
    yield from _memories(folder)
    yield from _documents(folder)
    yield from _tools(folder)
    yield from _flows(folder)
    yield from _browser(site)
    yield "search", {"query": "staging VPN"}
    yield "open", {"id": "new"}
    yield "status", {}
    yield "check_store", {}
    yield "reindex", {"corpora": ["memories"]}
    yield "backup_store", {"path": str(folder / "out" / "backup.db")}
    yield "export_store", {"path": str(folder / "out" / "all.zip")}
    yield "import_store", {"path": str(folder / "out" / "all.zip")}
    yield "remove_folder", {"folder_id": "notes"}


def _memories(folder):
    file = str(folder / "out" / "memories.jsonl")
    yield "memory_start_session", {"project": "shop", "id": "audit"}
    for id_, content in (("old", "Tokens rotate every day"), ("new", "Tokens rotate twice a day since the audit")):
        yield "memory_add", {"content": content, "id": id_, "project": "shop", "session": "audit"}
    yield "memory_add_many", {"items": [{"content": "Coffee is upstairs", "id": "coffee"}, {"content": "Tea is not"}]}
    yield "memory_search", {"query": "tokens", "project": "shop"}
    yield "memory_supersede", {"old_id": "old", "new_id": "new"}
    yield "memory_timeline", {"anchor_id": "new"}
    yield "memory_brief", {"project": "shop"}
    yield "memory_list", {"project": "shop", "tags": []}
    yield "memory_update", {"id": "coffee", "tags": ["kitchen"]}
    yield "memory_relate", {"source_id": "new", "target_id": "old", "type": "CONFIRMS"}
    for name in ("memory_get", "memory_related", "memory_pin", "memory_unpin", "memory_reinforce"):
        yield name, {"id": "new"}
    yield "memory_deemphasize", {"id": "coffee"}
    yield "memory_session_context", {"memory_id": "new"}
    yield "memory_delete", {"id": "coffee"}
    yield "memory_restore", {"id": "coffee"}
    yield "memory_forget", {"project": "shop", "dry_run": True}
    yield "memory_unsupersede", {"old_id": "old"}
    yield "memory_end_session", {"id": "audit", "summary": "Followed up"}
    yield "memory_sessions", {}
    yield "memory_stats", {}
    yield "memory_folder", {"command": "create", "path": "/memories/a.md", "file_text": "Staging needs the VPN"}
    yield "memory_export", {"path": file}
    yield "memory_import", {"path": file}


def _documents(folder):
    document = {"folder_id": "notes", "document_id": "deploying.md"}
    yield "add_folder", {"path": str(folder / "notes"), "folder_id": "notes"}
    yield "memory_search_documents", {"query": "staging VPN"}
    yield "search_content", {"folder_id": "notes", "exact_terms": ["VPN"]}
    yield "search_documents", {"query": "staging VPN", "folder_id": "notes"}
    yield "find_documents", {"query": "deploying"}
    yield "explore", {"folder_id": "notes"}
    yield "list_folders", {}
    yield "list_documents", {"folder_id": "notes"}
    yield "get_document_data", document
    yield "get_document_text", document
    chunk = lambda known: [known["search_documents"]["hits"][0]["id"]]  # noqa: E731
    yield "get_chunks", lambda known: {"folder_id": "notes", "chunk_ids": chunk(known)}
    yield "refresh_folder", {"folder_id": "notes"}
    yield "folder_problems", {}


def _tools(folder):
    read, project = {"id": "files__read_file"}, {"path": str(folder / "project" / ".mcp.json")}
    yield "load_servers", {"path": str(folder / "servers.json")}
    yield "refresh_server", {"server": "files"}
    yield "search_tools", {"query": "read the contents of a file"}
    yield "describe_tool", read
    yield "call_tool_write", {"id": "files__write_file", "arguments": {"path": "a", "text": "b"}}
    yield "call_tool_destructive", {"id": "files__remove_file", "arguments": {"path": "a"}}
    yield "call_tool", {"id": "files__long", "max_chars": 96}
    yield "read_on", lambda known: {"continuation": re.fullmatch(r'open\("(.+)"\)', known["call_tool"]["next"])[1]}
    for name in ("list_tools", "list_servers", "tool_stats", "tool_rules", "call_log"):
        yield name, {}
    yield "tool_stubs", {"ids": ["files__read_file"]}
    for name in ("disable_tool", "enable_tool", "reject_tool", "approve_tool"):
        yield name, read
    yield "set_tool_rule", {"pattern": "files__*", "decision": "ask"}
    yield "add_tools", {"server": "weather", "tools": list(WEATHER)}
    yield "remove_server", {"server": "weather"}
    yield "trust_config", project
    yield "distrust_config", project


def _flows(folder):
    one, out = {"session_id": "one"}, str(folder / "out" / "flows")
    yield "knowledge_start_session", {"id": "one", "goal": "Pay the cart", "app": "shop"}
    yield "knowledge_record", {**one, "tool": "click", "target": {"testId": "pay"}, "before": BEFORE}
    yield "knowledge_search", {"query": "pay"}
    for name in ("knowledge_last", "knowledge_sessions", "knowledge_profiles"):
        yield name, {}
    for name in ("knowledge_session", "knowledge_steps", "knowledge_summarize", "knowledge_script"):
        yield name, one
    yield "knowledge_prior", {**one, "observation": BEFORE}
    yield "knowledge_reject_heal", {**one, "position": 1, "element": 'button "Paid"'}
    yield "knowledge_export", {"path": out}
    yield "knowledge_delete", one
    yield "knowledge_import", {"path": out}


def _browser(site):
    yield "ui_launch", {"url": f"{site}/login.html", "session": "ui", "goal": "Log in", "git": {}}
    yield "ui_navigate", {"url": f"{site}/login.html"}
    for name in ("ui_get_state", "ui_list_testids", "ui_accessibility_snapshot", "ui_describe_screen", "ui_screenshot"):
        yield name, {}
    yield "ui_type", {"test_id": "user-name", "text": "anna"}
    yield "ui_select", {"test_id": "language", "label": "German"}
    yield "ui_press", {"key": "Tab"}
    yield "ui_hover", {"test_id": "user-name"}
    yield "ui_back", {}
    yield "ui_forward", {}
    yield "ui_run_steps", {"steps": [{"tool": "type", "test_id": "user-name", "text": "ben"}]}
    yield "knowledge_replay", {"session_id": "ui", "browser": "ui"}
    yield "ui_navigate", {"url": f"{site}/leaving.html"}
    yield "ui_click", {"test_id": "new-tab"}
    yield "ui_switch_tab", {"url": "/login.html"}
    yield "ui_wait_for", {"url": "*/login.html*"}
    yield "ui_close_tab", {}
    yield "ui_cleanup", {}

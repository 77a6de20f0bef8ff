"""What a model is sent when Claude Code uses Athand: the tools it sees, answers it pays for, a whole task."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from scripts.plugin import ROOT
from tests.adapters.claude_code import converse, install, list_servers
from tests.adapters.model_api import Call
from tests.tools.servers.kit import FILES, MAIL, Board, write_config
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.mcp.tool_list import DEFAULT_TOOLS

PREFIX = "mcp__athand__"
RELEASING = "# Releasing\n\nReleases for Tokyo go out before 18:00 there.\n\nThe tag is `tokyo-` and the date.\n"
REMINDER = "Before a release for the Tokyo office look at the time there; the steps are in releasing.md"
PRICES = "Prices are stored in integer cents"
CHATTER = "More was said about it that nobody needs to know, though it stands in the note all the same. " * 20
# What a model looks for, in the words that it would choose, and the tool that is to come first.
WISHES = {
    "remember decision": "memory_add",
    "save note memory": "memory_add",
    "past decisions": "memory_search",
    "conventions preferences": "memory_search",
    "project brief": "memory_brief",
    "replace outdated memory": "memory_supersede",
    "search knowledge base": "search",
    "open search result": "open",
    "find documents": "find_documents",
    "read document text": "get_document_text",
    "discover tools": "search_tools",
    "call tool of another server": "call_tool",
}


@pytest.fixture(scope="module")
def claude():
    return install()


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Athand, as a client starts it: long memories, a document, and two other servers behind it."""
    home = tmp_path_factory.mktemp("athand")
    notes = home / "notes"
    notes.mkdir()
    (notes / "releasing.md").write_text(RELEASING)
    board = Board(home / "board.json", (*FILES, *MAIL))
    clock = Path(sysconfig.get_path("scripts")) / "mcp-server-time"
    time = {"command": str(clock), "args": ["--local-timezone", "UTC"]}
    write_config(home / "mcp.json", time=time, board=board.entry())
    with Athand(home / "athand.db") as athand:
        athand.documents.add(notes, folder_id="notes")
        athand.memories.add(REMINDER)
        for number in range(12):
            athand.memories.add(f"Build {number} of the harbour service was deployed to staging. {CHATTER}")
        athand.tools.load(home / "mcp.json")
        athand.tools.wait()
    entry = {"command": sys.executable, "args": ["-m", "athand", "mcp"], "env": {"ATHAND_HOME": str(home)}}
    return {"athand": entry}


def call(tool, **arguments):
    return Call(PREFIX + tool, arguments)


def test_a_model_that_sees_every_tool_reads_at_most_9000_characters(claude, servers, tmp_path):
    tools = converse(claude, tmp_path, servers, iter(()), ENABLE_TOOL_SEARCH="false").tools(PREFIX)
    assert {each["name"] for each in tools} == {PREFIX + name for name in DEFAULT_TOOLS}
    schemas = [json.dumps(each["input_schema"], ensure_ascii=False, separators=(",", ":")) for each in tools]
    sizes = [len(each["name"]) + len(each["description"]) for each in tools]
    assert sum(sizes) + sum(map(len, schemas)) <= 9_000


def test_answers_cost_a_model_what_they_may(claude, servers, tmp_path):
    costs, hits = {}, {}

    def ask():
        found = yield call("search", query="which build of the harbour service was deployed to staging?")
        costs["search"], hits["search"] = len(found.text), found.json["hits"]
        added = yield call("memory_add", content="Build 13 of the harbour service failed. " + CHATTER)
        costs["memory_add"] = len(added.text)
        tools = yield call("search_tools", query="read or write a file", limit=3)
        costs["search_tools"], hits["search_tools"] = len(tools.text), tools.json["hits"]

    converse(claude, tmp_path, servers, ask())
    assert {name: len(each) for name, each in hits.items()} == {"search": 5, "search_tools": 3}
    assert costs["search"] <= 3_000 and costs["memory_add"] <= 250 and costs["search_tools"] <= 1_500


def follow(hit):
    """The call that a hit names."""
    tool, id_ = re.match(r'(\w+)\("([^"]+)"', hit["next"]).groups()
    return Call(PREFIX + tool, {"id": id_})


def test_a_whole_task_is_done_with_the_tools_of_every_day(claude, servers, tmp_path):
    """Find a memory, find a tool, call it, open a document; the model loads each tool before it calls it."""
    learned = {}

    def release():
        names = [PREFIX + name for name in ("search", "open", "search_tools", "describe_tool", "call_tool")]
        loaded = yield Call("ToolSearch", {"query": f"select:{','.join(names)}", "max_results": 5})
        assert loaded.tools == names
        hits = (yield call("search", query="what to do before a release for the Tokyo office?")).json["hits"]
        learned["memory"] = (yield follow(hits[0])).json["text"]
        tools = (yield call("search_tools", query="what time is it in Tokyo?")).json["hits"]
        tool = next(each for each in tools if each["signature"] == "(timezone: string)")
        learned["tool"] = (yield call("describe_tool", id=tool["id"])).json["input_schema"]
        named = follow(tool)
        time = yield Call(named.tool, {**named.arguments, "arguments": {"timezone": "Asia/Tokyo"}})
        learned["time"] = time.json["structured"]
        document = next(each for each in hits if each["corpus"] == "documents")
        learned["document"] = (yield follow(document)).json["text"]

    api = converse(claude, tmp_path, servers, release())
    assert {each["name"] for each in api.tools(PREFIX)} >= {PREFIX + "call_tool", PREFIX + "open"}
    assert learned["memory"] == REMINDER
    assert learned["tool"]["required"] == ["timezone"]
    assert learned["time"]["timezone"] == "Asia/Tokyo" and "+09:00" in learned["time"]["datetime"]
    assert "before 18:00" in learned["document"] and "`tokyo-` and the date" in learned["document"]


def test_tools_that_are_not_listed_at_first_are_named_and_explained(claude, servers, tmp_path):
    """A client with many tools shows their names alone, and the instructions of each server."""
    api = converse(claude, tmp_path, servers, iter(()))
    assert not api.tools(PREFIX)
    told = json.dumps(api.requests[0]["messages"])
    assert all(PREFIX + name in told for name in DEFAULT_TOOLS)
    assert "Begin with search, which asks everything at once" in told


def test_what_may_destroy_something_is_refused_where_no_person_is(claude, servers, tmp_path):
    """Claude Code takes questions to the person, and cancels them when it runs without one."""
    refusals = []

    def remove():
        refusals.append((yield call("call_tool", id="board__remove_file", arguments={"path": "a"})))

    converse(claude, tmp_path, servers, remove())
    (refused,) = refusals
    assert refused.is_error and "nobody answered" in refused.text and "owner" in refused.text


def test_after_athand_install_it_reports_the_server_connected(claude, run, tmp_path):
    assert run("install", "claude-code", "--data-dir", str(tmp_path / "data")).code == 0
    (line,) = [each for each in list_servers(claude, Path.home()).splitlines() if each.startswith("athand:")]
    assert line.endswith("Connected")


def test_the_client_finds_each_tool_by_what_it_is_for(claude, servers, tmp_path):
    """The client searches names and descriptions, among some twenty tools of its own."""
    first = {}

    def look():
        for wish in WISHES:
            found = yield Call("ToolSearch", {"query": wish, "max_results": 5})
            first[wish] = found.tools[0].removeprefix(PREFIX)

    converse(claude, tmp_path, servers, look())
    assert first == WISHES


@pytest.fixture
def hooked(run, tmp_path, monkeypatch):
    """A client with the hooks of Athand; its store has a memory for the brief, and one that is too long for it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with Athand(tmp_path / "data" / "athand.db") as athand:
        athand.memories.add(PRICES)
        athand.memories.add(f"{REMINDER}. {CHATTER}")
    monkeypatch.delenv("ATHAND_STORE")
    assert run("install", "claude-code", "--data-dir", str(tmp_path / "data")).code == 0
    return {"ATHAND_PROJECT": "default", "ATHAND_HOOK_SECONDS": "60"}


def test_hooks_tell_the_model_the_brief_and_what_fits_its_prompt(claude, hooked, tmp_path):
    prompt = "Prepare the release for the Tokyo office."
    request = converse(claude, tmp_path, {}, iter(()), prompt, **hooked).requests[0]
    told = json.dumps(request["messages"])
    assert PRICES in told.partition("SessionStart hook additional context: ")[2]
    assert REMINDER in told.partition("UserPromptSubmit hook additional context: ")[2]
    with Athand(tmp_path / "data" / "athand.db") as athand:
        (session,) = athand.memories.sessions()
        assert session.ended_at and len(athand.memories.search("release", in_session=session.id)) == 1


@pytest.mark.slow
def test_a_prompt_that_nothing_fits_is_sent_as_it_is(claude, hooked, tmp_path):
    request = converse(claude, tmp_path, {}, iter(()), "Draw a chart of the rainfall in Norway.", **hooked).requests[0]
    told = json.dumps(request["messages"])
    assert "SessionStart hook additional context" in told and "UserPromptSubmit hook" not in told


@pytest.mark.parametrize("folder", [".", "plugin"])
def test_the_plugin_and_its_marketplace_pass_the_validation_of_the_client(claude, folder, tmp_path):
    command = [*claude, "plugin", "validate", "--strict", str(ROOT / folder)]
    home = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(command, env=home, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_with_the_plugin_the_model_is_told_the_brief_and_has_the_tools(claude, hooked, run, tmp_path):
    assert run("uninstall", "claude-code", "--data-dir", str(tmp_path / "data")).code == 0
    data = {"ATHAND_DATA_DIR": str(tmp_path / "data"), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with_plugin = [*claude, "--plugin-dir", str(ROOT / "plugin")]
    told = json.dumps(converse(with_plugin, tmp_path, {}, iter(()), **hooked, **data).requests[0]["messages"])
    assert PRICES in told.partition("SessionStart hook additional context: ")[2]
    assert "athand:athand" in told, "the skill"

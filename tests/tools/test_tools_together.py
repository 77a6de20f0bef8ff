"""Several at once: threads, processes and stores that share the same tools."""

import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.engines import one_engine
from tests.tools.servers.kit import FILES, MAIL, WEATHER, a_tool, ids, many_tools, write_config
from tests.waiting import PATIENCE

from athand import Athand
from athand.app import SCHEMAS
from athand.embed import DEFAULT_MODEL, LazyEmbedder
from athand.errors import Conflict, NotFound, Refused
from athand.store import open_store
from athand.tools import Tools
from athand.tools.scoring import INDEX


def all_at_once(*works):
    """Run all of them at the same time; the first failure is raised."""
    failures, gate = [], threading.Barrier(len(works))

    def run(work):
        gate.wait()
        try:
            work()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def test_threads_add_and_search_at_the_same_time(tools):
    tools.add("files", FILES)

    def add(server):
        for start in range(0, 60, 15):
            tools.add(server, many_tools()[start : start + 15])

    def search():
        for query in ("read_file", "archive an invoice", "nothing at all", "pint recipe") * 5:
            hits = tools.search(query)
            assert query != "read_file" or ids(hits)[0] == "files__read_file"

    all_at_once(*(lambda server=server: add(server) for server in ("one", "two", "three")), search, search)
    assert len(tools.list()) == 3 + 3 * 60
    before = tools.store.fingerprint(INDEX)
    tools.reindex()
    assert tools.store.fingerprint(INDEX) == before


def test_threads_that_add_the_same_server_leave_each_tool_once(tools):
    all_at_once(*[lambda: tools.add("office", many_tools()[:40])] * 4)
    assert len(tools.list()) == 40
    assert sum(tools.store.counts("tools").values()) == 40


def test_a_decision_about_what_has_just_changed_is_not_taken(stocked):
    """Two people decide about one tool; whoever is later looks again, and nothing is lost."""
    outcomes = []

    def decide(decision):
        for _ in range(10):
            try:
                decision("files__read_file")
            except Conflict as error:
                outcomes.append(str(error))

    all_at_once(*(lambda each=each: decide(each) for each in (stocked.reject, stocked.approve, stocked.disable)))
    assert all("Look at it again" in each for each in outcomes)
    tool = stocked.describe("files__read_file")
    assert tool.state in ("approved", "rejected")
    assert not tool.enabled


PROCESS = """
import json, sys
from athand import Athand
with Athand(sys.argv[1]) as opened:
    tools = json.loads(sys.argv[3])
    print("begun", flush=True)
    for start in range(0, len(tools), 5):
        opened.tools.add(sys.argv[2], tools[start:start + 5])
        opened.tools.search("read_file")
    print(len(opened.tools.list(sys.argv[2])), opened.tools.search("read_file")[0].id)
"""


def test_processes_share_one_store(location, tmp_path):
    shared = str(tmp_path / "store.db") if location == ":memory:" else location
    listed = many_tools()[:40]
    with Athand(shared) as opened:
        opened.tools.add("files", FILES)
        command = [sys.executable, "-c", PROCESS, shared, "one", json.dumps(listed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "begun\n"
            for start in range(0, len(listed), 5):
                opened.tools.add("two", listed[start : start + 5])
                assert ids(opened.tools.search("read_file"))[0] == "files__read_file"
            out, err = process.communicate(timeout=PATIENCE)
            assert (process.returncode, out.split()) == (0, ["40", "files__read_file"]), err
        assert len(opened.tools.list()) == 83
        assert opened.tools.search("one__create_invoice")[0].score >= 0.9
        assert opened.check() == []


def test_what_another_process_adds_is_found_by_name_at_once(tmp_path):
    with Athand(tmp_path / "store.db") as one, Athand(tmp_path / "store.db") as other:
        one.tools.add("files", FILES)
        assert ids(other.tools.search("read_file"))[0] == "files__read_file"
        one.tools.add("mail", MAIL)
        assert ids(other.tools.search("sned_email"))[0] == "mail__send_email"
        one.tools.reject("mail__send_email")
        assert "mail__send_email" not in ids(other.tools.search("send_email", limit=100, threshold=0.0))
        one.tools.remove("files")
        assert "files__read_file" not in ids(other.tools.search("read_file", limit=100, threshold=0.0))
        with pytest.raises(NotFound):
            other.tools.describe("files__read_file")


def test_two_gateways_take_in_one_server(board, tmp_path):
    made = board()
    config = write_config(tmp_path / "mcp.json", files=made.entry("tell"))
    with Athand(tmp_path / "store.db") as one, Athand(tmp_path / "store.db") as other:
        for each in (one, other):
            each.tools.load(config)
        assert one.tools.wait(PATIENCE)
        assert other.tools.wait(PATIENCE)
        made.change(description="Another.")
        all_at_once(lambda: one.tools.refresh("files"), lambda: other.tools.refresh("files"))
        assert one.tools.describe("files__read_file").state == "changed"
        one.tools.approve("files__read_file")
        assert other.tools.call("files__read_file", {"path": "a"})


@one_engine
def test_calls_at_the_same_time_get_their_own_answers(tools, live):
    made = live()
    answers = {}

    def call(number):
        answers[number] = tools.call("files__read_file", {"path": str(number)}).value["arguments"]["path"]

    all_at_once(*(lambda number=number: call(number) for number in range(12)))
    assert answers == {number: str(number) for number in range(12)}
    assert len(made.calls) == 12
    assert tools.stats().calls == 12


def test_everything_moves_to_another_store(location, board, tmp_path):
    made, target = board(), str(tmp_path / "copy.db")
    config = write_config(tmp_path / "project" / ".mcp.json", live=made.entry())
    with Athand(location) as opened:
        tools = opened.tools
        tools.add("files", FILES, description="Files.")
        tools.add("weather", WEATHER, catalogue="elsewhere")
        tools.trust(config)
        tools.load(config, origin="project")
        assert tools.wait(PATIENCE)
        made.change(description="Another.")
        tools.refresh("live")
        tools.reject("files__remove_file")
        tools.disable("files__write_file")
        tools.rule("files__*", "ask")
        tools.rule("weather__*", "deny", catalogue="elsewhere")
        before = [tool.to_dict() for tool in tools.list()]
        rules, print_ = tools.rules(), tools.store.fingerprint(INDEX)
        assert {tool["state"] for tool in before} == {"approved", "changed", "rejected"}
        opened.copy_to(target)
    with Athand(target) as copied:
        tools = copied.tools
        assert [tool.to_dict() for tool in tools.list()] == before
        assert tools.rules() == rules
        assert [rule.decision for rule in tools.rules(catalogue="elsewhere")] == ["ask", "deny"]
        assert tools.is_trusted(config)
        assert tools.store.fingerprint(INDEX) == print_
        assert ids(tools.search("forecast", catalogue="elsewhere"))[0] == "weather__get_forecast"
        assert copied.check() == []
        with pytest.raises(Refused) as refused:
            tools.call("live__read_file", {"path": "a"})
        assert "Another" in refused.value.quote


def test_closing_leaves_no_process(board, tmp_path):
    made = board()
    with Athand(":memory:") as opened:
        opened.tools.load(write_config(tmp_path / "mcp.json", files=made.entry()))
        assert opened.tools.wait(PATIENCE)
        assert opened.tools.call("files__read_file", {"path": "a"})
    left = [each for each in Path("/proc").glob("[0-9]*/cmdline") if str(made.path).encode() in _read(each)]
    assert left == []


def _read(file):
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_importing_it_loads_nothing_heavy():
    code = "import athand.tools, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"mcp", "jsonschema", "httpx2", "pydantic", "onnxruntime", "psycopg"} & set(done.stdout.split())


def test_a_catalogue_that_changes_is_read_again(open_tools):
    tools = open_tools()
    tools.add("files", FILES)
    tools.search("read_file")
    for number in range(5):
        tools.add("more", [a_tool(f"task_{number}", f"Task number {number}.")])
        assert ids(tools.search(f"task_{number}"))[0] == f"more__task_{number}"


def test_a_server_that_failed_is_left_alone_for_minutes_each_time_it_fails(tmp_path):
    config = write_config(tmp_path / "mcp.json", dead={"command": "no-such-command"})
    hour = datetime(2026, 11, 1, 12, tzinfo=UTC)

    def new_servers(minutes):
        """How many servers somebody tries who comes so much later, as a process of its own."""
        store = open_store(str(tmp_path / "r.db"), SCHEMAS)
        now = hour + timedelta(minutes=minutes)
        tools = Tools(store, LazyEmbedder(DEFAULT_MODEL), environment=dict(os.environ), clock=lambda: now)
        tools.load(config, connect=False)
        tried = tools.connect_new()
        tools.wait(PATIENCE)
        assert "command not found" in tools.servers()[0].reason
        tools.close()
        store.close()
        return tried

    assert [new_servers(minutes) for minutes in (0, 1, 4, 6, 8, 10, 12)] == [1, 0, 0, 1, 0, 0, 1]

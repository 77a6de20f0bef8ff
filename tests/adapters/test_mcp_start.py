"""The first answers of `athand mcp`: given before the SDK is imported, and the same that the SDK gives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.test_start import ENGINE, FOR_OTHER_WORK, SDK
from tests.waiting import PATIENCE, until

from athand import Athand
from athand.adapters.mcp import startup_answers
from athand.config import DATABASE

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
# Says on standard error which modules were imported before the first answer.
TELLING = """
import json, sys
from athand.adapters.mcp import stdio_fds
real = stdio_fds.StdioFds.write

def tell_and_write(self, data):
    stdio_fds.StdioFds.write = real
    print(json.dumps(["imported", *sys.modules]), file=sys.stderr)
    real(self, data)

stdio_fds.StdioFds.write = tell_and_write
from athand.adapters.cli import main
sys.argv = ["athand", "mcp", *sys.argv[1:]]
main()
"""


@pytest.fixture
def home(tmp_path):
    return {**os.environ, "ATHAND_HOME": str(tmp_path / "home"), "ATHAND_PROJECT": "shop"}


class Start:
    """One start of a server, up to the end of its input."""

    def __init__(self, home, *options):
        command = [sys.executable, "-c", TELLING, *options]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen(command, env=home, cwd=home["ATHAND_HOME"].removesuffix("home"), **pipes)

    def send(self, method, **message):
        line = json.dumps({"jsonrpc": "2.0", "method": method, **message})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, id_, method, params=None):
        self.send(method, id=id_, **({} if params is None else {"params": params}))
        return json.loads(self.process.stdout.readline())

    def greet(self, **hello):
        answer = self.ask(0, "initialize", {**HELLO, **hello})
        self.send("notifications/initialized")
        return answer

    def end(self):
        """What was still answered, and the modules that were imported before the first answer."""
        rest, said = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        lines = [line for line in said.decode().splitlines() if line.startswith('["imported"')]
        return rest, set(json.loads(lines[0])) if lines else set()


@pytest.fixture
def start(home):
    """Starts servers, and is sure that they end."""
    started = []

    def begin(*options):
        started.append(Start(home, *options))
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.communicate()


def first_start(start, *options, **hello):
    """The answers of the SDK, at the first start."""
    server = start(*options)
    answers = server.greet(**hello), server.ask(1, "tools/list")
    rest, modules = server.end()
    assert rest == b"" and "mcp" in modules
    return answers


def test_the_second_start_answers_the_same_before_the_sdk_is_imported(start):
    greeting, listed = first_start(start)
    server = start()
    assert server.greet() == greeting and "shop" in greeting["result"]["instructions"]
    assert server.ask(1, "tools/list") == listed
    assert server.ask(2, "tools/list", {}) == {**listed, "id": 2}
    added = server.ask(
        3, "tools/call", {"name": "memory_add", "arguments": {"content": "Staging deploys need the VPN"}}
    )
    assert added["id"] == 3 and not added["result"].get("isError")
    assert server.ask("four", "tools/list")["result"] == listed["result"]  # from the SDK, which knows the client
    rest, modules = server.end()
    assert rest == b"" and "click" in modules
    assert modules.isdisjoint({*SDK, *ENGINE, *FOR_OTHER_WORK, "rich"})


@pytest.mark.parametrize(
    "hello",
    [
        {"protocolVersion": "2024-11-05"},
        pytest.param({"capabilities": {"roots": {}}}, marks=pytest.mark.slow),
        pytest.param({"clientInfo": {"name": "another", "version": "1"}}, marks=pytest.mark.slow),
    ],
)
def test_a_client_that_says_something_else_of_itself_is_answered_by_the_sdk(start, hello):
    first_start(start)
    server = start()
    answer = server.greet(**hello)
    assert answer["result"]["protocolVersion"] == {**HELLO, **hello}["protocolVersion"]
    assert "mcp" in server.end()[1]


def test_other_options_have_other_answers(start):
    _, listed = first_start(start)
    server = start("--scope", "search")
    server.greet()
    fewer = server.ask(1, "tools/list")
    assert len(fewer["result"]["tools"]) < len(listed["result"]["tools"])
    assert "mcp" in server.end()[1]


def test_recorded_flows_bring_a_tool_for_them_from_the_next_start_on(start, home):
    def names():
        server = start()
        server.greet()
        return server, {each["name"] for each in server.ask(1, "tools/list")["result"]["tools"]}

    data_folder = Path(home["ATHAND_HOME"])
    with Athand(data_folder / DATABASE) as athand:
        athand.flows.start_session(goal="Order tea", app="shop")
    server, listed = names()
    assert "knowledge_search" not in listed
    until((data_folder / "cache" / "has-flows").is_file)
    server.end()
    assert "knowledge_search" in names()[1]


def test_what_is_no_right_beginning_is_left_to_the_sdk(start):
    def begin_wrongly():
        server = start()
        answers = [server.ask(1, "tools/list"), server.ask(None, "initialize", HELLO), server.ask(2, "initialize", {})]
        server.end()
        return answers

    before = begin_wrongly()
    first_start(start)
    assert begin_wrongly() == before
    assert "text or a whole number" in before[1]["error"]["message"] and "error" in before[2]


@pytest.mark.parametrize(
    "broken", [b"\xff no JSON", *(pytest.param(each, marks=pytest.mark.slow) for each in (b"[]", b'{"a": 1}'))]
)
def test_a_file_that_nobody_can_read_is_written_anew(broken, start, tmp_path):
    first_start(start)
    (file,) = (tmp_path / "home" / "cache" / "mcp").iterdir()
    file.write_bytes(broken)
    first_start(start)
    assert json.loads(file.read_bytes()).keys() != {"a"}


def test_an_answer_that_is_no_longer_right_is_right_at_the_next_start(start, tmp_path):
    greeting, _ = first_start(start)
    (file,) = (tmp_path / "home" / "cache" / "mcp").iterdir()
    file.write_text(file.read_text().replace("Athand finds what you can use", "Athand found"))
    server = start()
    assert "Athand found" in server.greet()["result"]["instructions"]
    assert server.ask(1, "ping")["result"] == {}
    server.end()
    assert start().greet() == greeting


def test_a_new_version_asks_the_sdk_anew(tmp_path, monkeypatch):
    options = {"toolsets": None}
    before = startup_answers.find_file(tmp_path, options)
    assert startup_answers.find_file(tmp_path, dict(options)) == before
    assert startup_answers.find_file(tmp_path, {"toolsets": "all"}) != before
    monkeypatch.setattr(startup_answers, "__version__", "0.0.0")
    assert startup_answers.find_file(tmp_path, options) != before


def test_a_client_that_leaves_ends_the_server_and_so_does_sigterm(start):
    first_start(start)
    assert start().end()[0] == b""
    server = start()
    server.ask(0, "initialize", HELLO)
    server.process.terminate()
    assert server.process.wait(PATIENCE) == 0

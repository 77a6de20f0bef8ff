"""`athand mcp`: a process of its own, whose standard output carries nothing but the protocol."""

import json
import os
import signal
import subprocess
import sys
import time

import anyio
import psutil
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.adapters.mcp_kit import ERAS, wire
from tests.adapters.mcp_kit import talk as converse_with
from tests.tools.servers.kit import FILES, Board, write_config
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.cli import token
from athand.adapters.mcp import stdio
from athand.adapters.mcp.server import create_mcp_server
from athand.adapters.mcp.startup_answers import StartupAnswers
from athand.adapters.operations import DEFAULT_SCOPES, SCOPES, AppContext

COMMAND = [sys.executable, "-m", "athand", "mcp"]
# Everything that writes to standard output or reads from standard input, in the middle of a call.
NOISY = """
import ctypes, functools, logging, os, subprocess, sys, threading, time, warnings
from athand import app
real = app.Athand.search

@functools.wraps(real)  # the parameters of the tool are read off it
def noisy(self, query, **more):
    if query == "slow": time.sleep(3600)
    print("printed")
    sys.__stdout__.write("written\\n"); sys.__stdout__.flush()
    os.write(1, b"raw\\n"); os.system("echo child"); subprocess.run(["echo", "another"], check=True)
    libc = ctypes.CDLL(None); libc.puts(b"from C"); libc.fflush(None)
    logging.getLogger("athand").error("an error in the log"); logging.getLogger().critical("from the root")
    warnings.warn("be careful")
    thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()
    assert os.system("read line") != 0 and sys.stdin.read() == ""
    if query == "broken": raise ZeroDivisionError("broken")
    return real(self, query, **more)

app.Athand.search = noisy
from athand.adapters.cli import main
sys.argv = ["athand", "mcp"]
main()
"""
PATIENT = f"""
import sys
from athand.adapters.mcp import stdio
stdio._GRACE_SECONDS = {PATIENCE}
from athand.adapters.cli import main
sys.argv = ["athand", "mcp"]
main()
"""


@pytest.fixture
def home(tmp_path):
    """The environment of somebody who has one MCP server."""
    board = Board(tmp_path / "files.json", FILES)
    write_config(tmp_path / "home" / "mcp.json", files=board.entry())
    return {**os.environ, "ATHAND_HOME": str(tmp_path / "home"), "PYTHONWARNINGS": "always"}


class Talk:
    """A client that sends lines and reads lines, and believes nothing."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.lines = []

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, id_, **params):
        self.send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}))
        return self.read()

    def read(self):
        line = self.process.stdout.readline()
        self.lines.append(line)
        return json.loads(line)

    def greet(self):
        client = {"name": "test", "version": "1"}
        self.ask("initialize", 0, protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def call(self, id_, name, **arguments):
        return self.ask("tools/call", id_, name=name, arguments=arguments)


@pytest.fixture
def talk(home):
    """Starts a server and is sure to end it."""
    started = []

    def start(command=COMMAND):
        started.append(Talk(command, home))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()
        for pipe in (each.process.stdin, each.process.stdout, each.process.stderr):
            pipe.close()


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_lists_and_calls_in_both_eras(home, mode):
    parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=home)

    async def converse():
        async with Client(stdio_client(parameters), mode=mode) as client:
            listed = (await client.list_tools()).tools
            added = await client.call_tool("memory_add", {"content": "Staging deploys need the VPN", "id": "vpn"})
            found = await client.call_tool("search", {"query": "staging"})
            read = await client.read_resource("athand://memory/vpn")
        return listed, added, found, read

    listed, added, found, read = anyio.run(converse)
    assert not added.is_error and found.structured_content["hits"][0]["id"] == "vpn"
    assert read.contents[0].text.startswith("Staging deploys need the VPN")
    assert wire(listed) == wire(list_here(mode))  # another process lists the same, to the byte


def list_here(mode):
    async def listed(client):
        return (await client.list_tools()).tools

    return converse_with(create_mcp_server(AppContext(lambda: None)), listed, mode=mode)


def test_standard_output_carries_nothing_but_the_protocol(talk):
    noisy = talk([sys.executable, "-c", NOISY])
    noisy.greet()
    assert noisy.call(1, "search", query="staging")["result"]["structuredContent"]["hits"] == []
    assert noisy.call(2, "search", query="broken")["error"]["code"] == -32603
    noisy.send("this is no message")
    assert noisy.read() == {"jsonrpc": "2.0", "id": None, "error": noisy_error(noisy)}
    noisy.send("")
    noisy.send('{"jsonrpc": "2.0", "id": 3, "method": "no/such"}')
    assert noisy.read()["error"]["code"] == -32601
    assert noisy.call(4, "memory_search", query="\x00 ' OR 1=1 -- \U0001f9ff")["id"] == 4
    half = {"name": "memory_search", "arguments": {"query": "cut in the middle of \ud83d"}}
    assert "result" in noisy.ask("tools/call", 5, **half)
    rest, said = noisy.process.communicate(timeout=PATIENCE)
    for line in (*noisy.lines, *rest.splitlines()):
        assert json.loads(line)["jsonrpc"] == "2.0"
    for noise in ("printed", "written", "raw", "child", "another", "from C", "an error in the log", "be careful"):
        assert noise in said.decode()
    assert "ZeroDivisionError" in said.decode() and noisy.process.returncode == 0


def noisy_error(noisy):
    error = json.loads(noisy.lines[-1])["error"]
    assert error["code"] == -32700 and "one message in one line" in error["message"]
    return error


def gone(processes):
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    return not alive


@pytest.mark.parametrize(("ending", "code"), [("SIGTERM", 0), ("SIGINT", 130), ("client", 0)])
def test_however_it_ends_nothing_is_left(talk, ending, code):
    server = talk([sys.executable, "-c", NOISY])
    server.greet()
    while not server.call(1, "search_tools", query="read a file")["result"]["structuredContent"]["hits"]:
        time.sleep(0.1)  # until the server of the user has told its tools
    called = server.call(2, "call_tool", id="files__read_file", arguments={"path": "a"})
    assert not called["result"].get("isError"), called
    children = psutil.Process(server.process.pid).children(recursive=True)
    assert children
    server.send(
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search","arguments":{"query":"slow"}}}'
    )
    if ending == "client":  # it dies: both ends are closed at once
        server.process.stdout.close()
        server.process.stdin.close()
    else:
        server.process.send_signal(getattr(signal, ending))
    assert server.process.wait(PATIENCE) == code
    assert gone(children)


def test_a_request_is_answered_with_its_own_id_and_refused_where_that_is_none(talk):
    client = talk()
    client.greet()
    for id_ in (0, -1, 10**30, "", "7", "x" * 5_000):
        assert client.ask("ping", id_) == {"jsonrpc": "2.0", "id": id_, "result": {}}
    for id_ in (None, True, 1.5, [1], {}):
        refused = client.ask("ping", id_)
        assert refused["id"] is None and "text or a whole number" in refused["error"]["message"]


def test_what_was_asked_before_the_end_of_the_input_is_answered(talk):
    server = talk([sys.executable, "-c", PATIENT])
    server.greet()
    asked = {"name": "memory_add", "arguments": {"content": "Staging deploys need the VPN", "id": "vpn"}}
    server.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}))
    server.process.stdin.close()
    assert server.read()["result"]["structuredContent"]["id"] == "vpn"
    assert server.process.stdout.read() == b"" and server.process.wait(PATIENCE) == 0


def test_a_choice_that_does_not_exist_is_an_error_and_no_protocol(run, monkeypatch):
    monkeypatch.setattr(
        "athand.adapters.mcp.stdio_fds.StdioFds", lambda: None
    )  # the standard output of this process stays
    wrong = run("mcp", "--toolsets", "memory")
    assert (wrong.code, wrong.out) == (2, "")
    assert "There are: memories, documents, tools, flows, store, all" in wrong.err


def test_a_store_that_cannot_be_opened_is_told_to_whoever_asks(tmp_path, caplog):
    place = tmp_path / "athand.db"
    place.write_bytes(b"this is no database " * 100)
    workspace = AppContext(lambda: Athand(place))
    stdio._open_store(workspace, StartupAnswers(None, None))  # as every server begins: it goes on
    assert "athand.db" in caplog.text
    answer = converse_with(
        create_mcp_server(workspace), lambda client: client.call_tool("search", {"query": "staging"})
    )
    assert answer.is_error and "athand.db" in answer.content[0].text


def test_the_words_of_the_command_are_those_of_the_engine():
    assert token.SCOPES == SCOPES and token.AGENT_SCOPES == DEFAULT_SCOPES

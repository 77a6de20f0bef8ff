"""Servers that others wrote, driven all at once as a user would."""

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.tools.node import compile_strictly, node, server
from tests.tools.patience import LIMIT
from tests.waiting import PATIENCE

from athand import Athand
from athand.errors import InvalidInput

SCRIPTS = Path(sysconfig.get_path("scripts"))
OLD, NEW = "2025-11-25", "2026-07-28"
PROTOCOLS = {"everything": OLD, "files": OLD, "memory": OLD, "over-http": OLD, "over-sse": OLD, "git": NEW, "time": NEW}


def in_python(name):
    assert (SCRIPTS / name).exists(), f"{name} is not installed. Run `make setup`."
    return str(SCRIPTS / name)


@contextmanager
def served(transport):
    """The address of a server that listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [node(), server("everything"), transport]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={"PORT": str(port)}, **quiet) as process:
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def wait_for(port, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError(f"Nobody listens on port {port} after {seconds} s.")


class Scene:
    """A folder with files, a repository, and a store that knows all servers."""

    def __init__(self, folder):
        self.files, self.repository, self.store = folder / "files", folder / "repository", folder / "r.db"
        self.config = folder / "servers.json"
        for each in (self.files, self.repository):
            each.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.com")

    def git(self, *arguments):
        done = subprocess.run(["git", *arguments], cwd=self.repository, capture_output=True, text=True, check=True)
        return done.stdout

    def write_config(self, http, sse):
        in_node = {"command": node()}
        servers = {
            "files": in_node | {"args": [server("filesystem"), str(self.files)]},
            "memory": in_node | {"args": [server("memory")], "env": {"MEMORY_FILE_PATH": str(self.files / "m.jsonl")}},
            "everything": in_node | {"args": [server("everything")]},
            "over-http": {"type": "http", "url": f"{http}/mcp"},
            "over-sse": {"type": "sse", "url": f"{sse}/sse"},
            "git": {"command": in_python("mcp-server-git"), "args": ["--repository", str(self.repository)]},
            "time": {"command": in_python("mcp-server-time"), "args": ["--local-timezone", "UTC"]},
        }
        limits = {"connectSeconds": LIMIT, "callSeconds": LIMIT}
        named = {name: entry | limits for name, entry in servers.items()}
        self.config.write_text(json.dumps({"mcpServers": named}))

    def call(self, id_, **arguments):
        return self.athand.tools.call(id_, arguments)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    with pytest.MonkeyPatch.context() as patch, served("streamableHttp") as http, served("sse") as sse:
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, str(folder / name.lower()))
        made = Scene(folder)
        made.write_config(http, sse)
        with Athand(made.store) as made.athand:
            made.athand.tools.load(made.config)
            assert made.athand.tools.wait(PATIENCE)
            yield made


def test_all_are_connected_at_once_in_both_eras_of_the_protocol(scene):
    servers = scene.athand.tools.servers()
    assert {each.name: (each.state, each.reason) for each in servers} == dict.fromkeys(PROTOCOLS, ("connected", None))
    assert {each.name: each.protocol for each in servers} == PROTOCOLS
    assert all(each.tools > 1 and each.waiting == 0 for each in servers)


@pytest.mark.parametrize(
    ("wish", "tool"),
    [
        ("write text into a file", "files__write_file"),
        ("what time is it in Tokyo", "time__get_current_time"),
        ("convert a time between time zones", "time__convert_time"),
        ("record changes to the repository", "git__git_commit"),
        ("show the commit history", "git__git_log"),
        ("add several new entities to the knowledge graph", "memory__create_entities"),
        ("list the contents of a folder", "files__list_directory"),
    ],
)
def test_a_sentence_finds_the_tool(scene, wish, tool):
    assert tool in [hit.id for hit in scene.athand.tools.search(wish, limit=5)]


def test_what_time_it_is_somewhere_is_asked_of_the_clock(scene):
    assert scene.athand.tools.search("what time is it in Tokyo?")[0].id == "time__get_current_time"


def test_a_file_is_written_and_read(scene):
    path = scene.files / "note.txt"
    scene.call("files__write_file", path=str(path), content="Grüße\n")
    assert path.read_text("utf-8") == "Grüße\n"
    answer = scene.call("files__read_text_file", path=str(path), head="1")
    assert "Grüße" in answer.text
    assert "Grüße" in answer.structured["content"]


def test_a_commit_is_made_and_seen(scene):
    (scene.repository / "a.txt").write_text("one")
    where = {"repo_path": str(scene.repository)}
    assert "a.txt" in scene.call("git__git_status", **where).text
    scene.call("git__git_add", files='["a.txt"]', **where)
    scene.call("git__git_commit", message="Begin", **where)
    assert scene.git("log", "--format=%s").strip() == "Begin"
    assert "Begin" in scene.call("git__git_log", max_count="1", **where).text


@pytest.mark.parametrize("name", ["everything", "over-http", "over-sse"])
def test_every_way_of_transport_carries_a_call(scene, name):
    assert "hello there" in scene.call(f"{name}__echo", message="hello there").text
    assert "5" in scene.call(f"{name}__get-sum", a="2", b=3).text


def test_a_time_is_converted(scene):
    zones = {"source_timezone": "Europe/Berlin", "target_timezone": "Asia/Tokyo"}
    answer = scene.call("time__convert_time", time="12:00", **zones)
    assert answer.value["target"]["timezone"] == "Asia/Tokyo"


def test_entities_are_remembered(scene):
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    scene.call("memory__create_entities", entities=json.dumps([ada]))
    assert scene.call("memory__read_graph").structured["entities"][0]["name"] == "Ada"


def test_wrong_arguments_never_reach_a_server(scene):
    with pytest.raises(InvalidInput, match="did you mean 'path'"):
        scene.call("files__read_text_file", paht="x")


def all_ids(scene):
    return [tool.id for tool in scene.athand.tools.list()]


def test_the_stubs_of_all_tools_pass_the_strictest_checks(scene, tmp_path):
    ids = all_ids(scene)
    assert len(ids) > 70
    (tmp_path / "tools.ts").write_text(scene.athand.tools.stubs(ids, language="typescript"), "utf-8")
    assert compile_strictly(tmp_path / "tools.ts") == ""
    (tmp_path / "tools.py").write_text(scene.athand.tools.stubs(ids, language="python"), "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir", os.devnull, "tools.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert "Success" in done.stdout, done.stdout


PROGRAM = """
from tools import ToolError, files, everything, memory, time
path, = __import__("sys").argv[1:]
files.write_file(path=path, content="written by a stub")
print(files.read_text_file(path=path, head=1)["content"])
print(everything.echo(message="hello")["text"])
print(time.convert_time(source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")["target"]["timezone"])
made = memory.create_entities(entities=[{"name": "Bob", "entityType": "person", "observations": []}])
print(made["entities"][0]["name"])
try:
    files.read_text_file(path="/etc/passwd")
except ToolError as error:
    print("refused:", error)
"""


def test_the_functions_of_python_call_the_tools_in_a_process_of_their_own(scene, tmp_path):
    (tmp_path / "tools.py").write_text(scene.athand.tools.stubs(all_ids(scene), language="python"), "utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    path = scene.files / "stub.txt"
    environment = os.environ | {"ATHAND_STORE": str(scene.store)}
    command = [sys.executable, "program.py", str(path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    lines = done.stdout.splitlines()
    assert lines[:4] == ["written by a stub", "Echo: hello", "Asia/Tokyo", "Bob"], done.stderr
    assert lines[4].startswith("refused:")
    assert path.read_text() == "written by a stub"

"""Configuration files of servers: what is read, what is refused, and what a server is started with."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.errors import AthandError, BadData, InvalidInput, NotFound
from athand.tools.config import (
    ServerConfig,
    build_launch,
    hash_file,
    is_tool_allowed,
    read_config,
    read_config_and_hash,
)
from athand.tools.model import CALL_SECONDS, CONNECT_SECONDS, Launch

HOME = {"HOME": "/home/ada", "PATH": "/usr/bin"}


@pytest.fixture(scope="module", autouse=True)
def patience_with_this_machine() -> None:
    """Here nothing is waited for, and the limits are as they are."""


def _write(folder: Path, servers: Any, name: str = "servers.json") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def _entry(folder: Path, given: Any, name: str = "servers.json") -> ServerConfig:
    return read_config(_write(folder, {"one": given}, name))["one"]


def _launch(folder: Path, given: Any, environment: dict[str, str] = HOME) -> Launch:
    return build_launch(_entry(folder, given), environment)


def test_a_server_that_is_a_process(tmp_path: Path) -> None:
    started = _launch(tmp_path, {"command": "npx", "args": ["-y", "a b; rm", 3], "env": {"KEY": "k", "PORT": 80}})
    assert (started.transport, started.command, started.args) == ("stdio", "npx", ("-y", "a b; rm", "3"))
    assert started.env == {**HOME, "KEY": "k", "PORT": "80"}
    assert (started.connect_seconds, started.call_seconds) == (CONNECT_SECONDS, CALL_SECONDS)


@pytest.mark.parametrize(
    ("said", "transport"),
    [
        ({}, "http"),
        ({"type": "http"}, "http"),
        ({"type": "streamable-http"}, "http"),
        ({"transport": "sse"}, "sse"),
        ({"type": "sse"}, "sse"),
    ],
)
def test_a_server_that_is_remote(tmp_path: Path, said: dict[str, str], transport: str) -> None:
    started = _launch(tmp_path, {"url": "https://tools.example/mcp", "headers": {"X-Key": "1"}, **said})
    assert (started.transport, started.url, started.headers) == (transport, "https://tools.example/mcp", {"X-Key": "1"})


def test_files_as_people_write_them_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    text = '\ufeff{ // mine\n "servers": {"a": {"url": "http://x//y", /* two */ "args": ["/*", "//",],},\n},}'
    path.write_text(text, "utf-8")
    entry = read_config(path)["a"]
    assert entry.raw["url"] == "http://x//y" and entry.raw["args"] == ["/*", "//"]


def test_an_empty_configuration_has_no_servers(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"inputs": []}')
    assert read_config(path) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1"),
        ('{\n "mcpServers": {\n  "a" {}}}', "line 3, column 7"),
        ("[]", "JSON object"),
        ('{"mcpServers": []}', "mcpServers"),
        ('{"mcpserver": {"a": {"command": "x"}}}', '"mcpServers"'),
        ("[" * 200_000, "cannot be read as JSON"),
        ('{"a": ' + "9" * 5000 + "}", "cannot be read as JSON"),
        ('{"mcpServers": /* never closed', "line 1"),
    ],
)
def test_a_broken_file_is_named_with_the_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(BadData, match=r"broken\.json") as caught:
        read_config(path)
    assert says in str(caught.value)


def test_files_that_are_none_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * 4_000_001)
    (tmp_path / "latin").write_bytes(b'{"mcpServers": {"caf\xe9": {}}}')
    for name, says in (
        ("pipe", "regular"),
        ("large", "4 MB"),
        ("latin", "UTF-8"),
        (".", "directory"),
        ("a\0b", "null"),
    ):
        with pytest.raises(BadData, match=says):
            read_config(tmp_path / name)
    for missing in ("missing.json", "latin/missing.json"):
        with pytest.raises(NotFound, match=r"missing\.json"):
            read_config(tmp_path / missing)


@pytest.mark.parametrize("text", ['"' + '\\"' * 500_000, "/*" * 1_000_000, ", " * 1_000_000, "//" * 1_000_000])
def test_hostile_files_do_not_take_long(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(text)
    with pytest.raises(BadData):
        read_config(path)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("npx", "object"),
        ({}, "a command or a url"),
        ({"command": ["npx"]}, "command must be text"),
        ({"command": "a", "args": "b"}, "args must be a list"),
        ({"command": "a", "args": [{}]}, "args must be text"),
        ({"command": "a", "env": ["b"]}, "env must be an object"),
        ({"command": "a", "env": {"B": []}}, "env.B must be text"),
        ({"command": "a", "url": "http://b"}, "both"),
        ({"url": "http://b", "type": "ws"}, "'ws' is unknown"),
        ({"type": "stdio", "url": "http://b"}, "command is missing"),
        ({"command": "a", "timeout": -1}, "timeout"),
        ({"command": "a", "timeout": "soon"}, "timeout"),
        ({"command": "a", "includeTools": "x"}, "includeTools"),
        ({"command": "a", "description": "\ud800"}, "description has a NUL character"),
    ],
)
def test_a_broken_server_does_not_take_the_others_away(tmp_path: Path, given: Any, says: str) -> None:
    entries = read_config(_write(tmp_path, {"broken": given, "good": {"command": "npx"}}))
    assert entries["good"].problem is None
    problem = entries["broken"].problem
    assert problem and says in problem and "'broken'" in problem and "servers.json" in problem
    with pytest.raises(InvalidInput, match="broken"):
        build_launch(entries["broken"], HOME)


def test_names_are_any_visible_text(tmp_path: Path) -> None:
    entries = read_config(_write(tmp_path, {name: {"command": "x"} for name in ("Wetter 天気", "a\nb", "", "x" * 300)}))
    assert entries["Wetter 天気"].problem is None
    assert sum(entry.problem is not None for entry in entries.values()) == 3
    assert all("\n" not in name for name in entries)


@pytest.mark.parametrize("off", [{"disabled": True}, {"enabled": False}])
def test_a_server_can_be_switched_off(tmp_path: Path, off: dict[str, bool]) -> None:
    assert _entry(tmp_path, {"command": "x", **off}).disabled
    assert not _entry(tmp_path, {"command": "x", "disabled": False}).disabled


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        ({"timeout": 20_000}, (20.0, 20.0)),
        ({"timeout": 45}, (45.0, 45.0)),
        ({"connectSeconds": 5}, (5.0, CALL_SECONDS)),
        ({"timeout": 9_000, "callSeconds": 120}, (9.0, 120.0)),
        ({"callSeconds": 1e12}, (CONNECT_SECONDS, 86_400.0)),
    ],
)
def test_limits_may_be_given(tmp_path: Path, limits: dict[str, float], seconds: tuple[float, float]) -> None:
    started = _launch(tmp_path, {"command": "x", **limits})
    assert (started.connect_seconds, started.call_seconds) == seconds


def test_tools_are_let_in_by_globs_and_exclusion_wins(tmp_path: Path) -> None:
    entry = _entry(tmp_path, {"command": "x", "includeTools": ["git_*", "log"], "excludeTools": ["git_push*"]})
    assert [name for name in ("git_status", "git_push_all", "log", "Log", "rm") if is_tool_allowed(entry, name)] == [
        "git_status",
        "log",
    ]
    assert is_tool_allowed(_entry(tmp_path, {"command": "x"}), "anything")
    assert not is_tool_allowed(_entry(tmp_path, {"command": "x", "includeTools": []}), "anything")


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("${TOKEN}", "s3"),
        ("a${TOKEN}b${env:TOKEN}", "as3bs3"),
        ("${MISSING:-plain}", "plain"),
        ("${env:MISSING:-x y}", "x y"),
        ("${EMPTY:-full}", "full"),
        ("${EMPTY}", ""),
        ("${MISSING:-}", ""),
        ("${MISSING:-${TOKEN}}", "s3"),
        ("${TOKEN:-${MISSING}}", "s3"),
        ("${NESTED}", "${TOKEN}"),
        ("${userHome}/x", "/home/ada/x"),
        ("$TOKEN ${} ${1} ${TOKEN%x}", "$TOKEN ${} ${1} ${TOKEN%x}"),
    ],
)
def test_variables_are_filled_in_once(tmp_path: Path, written: str, filled: str) -> None:
    environment = {**HOME, "TOKEN": "s3", "EMPTY": "", "NESTED": "${TOKEN}"}
    process = {"command": "run", "args": [written], "env": {"A": written}}
    assert _launch(tmp_path, process, environment).args == (filled,)
    assert _launch(tmp_path, process, environment).env["A"] == filled
    assert _launch(tmp_path, {"url": "http://x", "headers": {"A": written}}, environment).headers == {"A": filled}


def test_the_folder_of_the_project_is_known(tmp_path: Path) -> None:
    given = {"command": "x", "args": ["${workspaceFolder}"], "cwd": "sub"}
    for name in (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"):
        started = build_launch(_entry(tmp_path, given, name), HOME)
        assert started.args == (str(tmp_path),) and started.cwd == tmp_path / "sub"


def test_a_server_starts_where_its_configuration_lies_and_never_wherever_we_are(tmp_path: Path) -> None:
    for name in (".mcp.json", ".vscode/mcp.json", "mine.json"):
        assert build_launch(_entry(tmp_path, {"command": "x"}, name), HOME).cwd == tmp_path


def test_the_home_folder_may_be_written_short(tmp_path: Path) -> None:
    started = _launch(tmp_path, {"command": "~/bin/server", "cwd": "~", "args": ["~"]})
    assert (started.command, started.cwd, started.args) == ("/home/ada/bin/server", Path("/home/ada"), ("~",))


@pytest.mark.parametrize(
    "given",
    [
        {"command": "${TOKEN}"},
        {"command": "x", "args": ["${TOKEN}"]},
        {"command": "x", "env": {"A": "${env:TOKEN}"}},
        {"command": "x", "cwd": "${TOKEN}"},
        {"url": "https://x/${TOKEN}"},
        {"url": "https://x", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    ],
)
def test_a_missing_variable_is_named_with_server_and_file(tmp_path: Path, given: Any) -> None:
    with pytest.raises(InvalidInput, match=r"'one'.*servers\.json.*TOKEN"):
        _launch(tmp_path, given)


@pytest.mark.parametrize(
    "given",
    [
        {"url": "ftp://x"},
        {"url": "file:///etc/passwd"},
        {"url": "http://"},
        {"url": "http://[x"},
        {"url": "http://a b"},
        {"url": "http://x:port"},
        {"url": "http://x", "headers": {"A": "b\r\nHost: c"}},
        {"url": "http://x", "headers": {"A b": "c"}},
        {"url": "http://x", "headers": {"A": "é"}},
        {"command": "a\0b"},
        {"command": "a", "args": ["\ud800"]},
        {"command": "a", "env": {"A=B": "c"}},
        {"command": "a", "env": {"": "c"}},
        {"command": "a", "env": {"A": "${input:key}"}},
        {"command": "a", "envFile": "missing.env"},
    ],
)
def test_what_cannot_be_started_or_reached_is_refused(tmp_path: Path, given: Any) -> None:
    with pytest.raises(InvalidInput, match="'one'"):
        _launch(tmp_path, given)


def test_a_process_gets_no_secret_that_it_was_not_given(tmp_path: Path) -> None:
    environment = {
        **HOME,
        "OPENAI_API_KEY": "sk-1",
        "LANG": "C",
        "SHELL": "() { :; }; evil",
        "HTTP_PROXY": "http://ada:secret@proxy",
        "HTTPS_PROXY": "http://proxy",
    }
    env = _launch(tmp_path, {"command": "x", "env": {"PATH": "/mine", "LANG": None}}, environment).env
    assert env == {"HOME": "/home/ada", "PATH": "/mine", "HTTPS_PROXY": "http://proxy"}


def test_variables_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# keys\nexport A=1 # one\nB='two # 2'\n\nnonsense\nC=${A}\nD=file\n")
    env = _launch(tmp_path, {"command": "x", "envFile": ".env", "env": {"D": "own"}}).env
    assert {name: env[name] for name in "ABCD"} == {"A": "1", "B": "two # 2", "C": "${A}", "D": "own"}


def test_secrets_are_not_shown_by_accident(tmp_path: Path) -> None:
    entry = _entry(tmp_path, {"command": "x", "env": {"KEY": "hunter2"}})
    assert "hunter2" not in repr(entry) + repr(build_launch(entry, HOME))


def test_the_hash_is_of_the_bytes_that_were_read(tmp_path: Path) -> None:
    path = _write(tmp_path, {"a": {"command": "x"}})
    entries, hash_ = read_config_and_hash(path)
    assert list(entries) == ["a"]
    assert hash_ == hash_file(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(path.read_text() + " ")
    assert hash_file(path) != hash_


KEYS = st.sampled_from("command args env url headers type timeout cwd envFile includeTools".split())
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, JSON, max_size=4))
def test_whatever_a_server_looks_like_the_answer_is_a_launch_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, given: Any
) -> None:
    try:
        _launch(tmp_path_factory.getbasetemp(), given)
    except AthandError as error:
        assert "one" in str(error)

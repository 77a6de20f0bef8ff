"""Servers of other programs: where they are, how they become ours, and how they get into the user's own file."""

import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from athand.errors import BadData, InvalidInput, Unavailable
from athand.tools.clients import CLIENTS, ClientServers, config_paths, read_client
from athand.tools.config import build_launch, is_tool_allowed, parse_servers, read_config
from athand.tools.config_files import write_user_config

HOME = Path("/home/ada")


def _write(path: Path, config: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(config if isinstance(config, str) else json.dumps(config), "utf-8")
    return path


def _read(home: Path, client: str, project: Path | None = None) -> ClientServers:
    return read_client(client, home, "linux", project)


@pytest.mark.parametrize(
    ("client", "platform", "environment", "expected"),
    [
        ("claude-code", "linux", {}, "/home/ada/.claude.json"),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("claude-desktop", "linux", {}, "/home/ada/.config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", {}, "/home/ada/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", {}, "/home/ada/AppData/Roaming/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", {"APPDATA": "/roaming"}, "/roaming/Claude/claude_desktop_config.json"),
        ("vscode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("vscode", "darwin", {}, "/home/ada/Library/Application Support/Code/User/mcp.json"),
        ("cursor", "win32", {}, "/home/ada/.cursor/mcp.json"),
        ("codex", "darwin", {"CODEX_HOME": "/cx"}, "/cx/config.toml"),
        ("gemini", "linux", {}, "/home/ada/.gemini/settings.json"),
        ("windsurf", "linux", {}, "/home/ada/.codeium/windsurf/mcp_config.json"),
        ("copilot", "linux", {}, "/home/ada/.copilot/mcp-config.json"),
        ("copilot", "linux", {"COPILOT_HOME": "/c"}, "/c/mcp-config.json"),
        ("opencode", "darwin", {}, "/home/ada/.config/opencode/opencode.json"),
        ("opencode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.jsonc"),
        ("zed", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/zed/settings.json"),
        ("zed", "darwin", {}, "/home/ada/.config/zed/settings.json"),
        ("zed", "win32", {"APPDATA": "/roaming"}, "/roaming/Zed/settings.json"),
        ("cline", "linux", {}, "/home/ada/.cline/data/settings/cline_mcp_settings.json"),
        ("kiro", "linux", {}, "/home/ada/.kiro/settings/mcp.json"),
        ("continue", "linux", {}, "/home/ada/.continue/mcpServers/mcp.json"),
    ],
)
def test_the_files_of_programs_are_known(
    client: str, platform: str, environment: dict[str, str], expected: str
) -> None:
    assert Path(expected) in config_paths(client, HOME, platform, None, environment)


def test_the_files_of_a_project_come_last_and_only_when_it_is_named() -> None:
    project = Path("/work/site")
    assert config_paths("cursor", HOME, "linux", project)[-1] == project / ".cursor/mcp.json"
    assert all(not each.is_relative_to(project) for client in CLIENTS for each in config_paths(client, HOME, "linux"))


def test_an_unknown_program_is_refused_with_those_we_know() -> None:
    with pytest.raises(InvalidInput, match=r"emacs.*cursor"):
        config_paths("emacs", HOME, "linux")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_program_that_is_not_there_has_no_servers(tmp_path: Path, client: str) -> None:
    assert _read(tmp_path, client, tmp_path / "project") == ClientServers()


def test_claude_code_has_servers_for_everything_for_a_folder_and_in_it(tmp_path: Path) -> None:
    project = tmp_path / "site"
    own = {"mcpServers": {"b": {"command": "b"}}}
    _write(tmp_path / ".claude.json", {"mcpServers": {"a": {"command": "a"}}, "projects": {str(project): own}})
    _write(project / ".mcp.json", {"mcpServers": {"c": {"type": "http", "url": "https://c.example", "oauth": {}}}})
    assert set(_read(tmp_path, "claude-code").servers) == {"a"}
    assert _read(tmp_path, "claude-code", project).servers == {
        "a": {"command": "a"},
        "b": {"command": "b"},
        "c": {"type": "http", "url": "https://c.example"},
    }


def test_what_vs_code_asks_for_becomes_a_variable_that_is_named(tmp_path: Path) -> None:
    config = """{
        // mine
        "inputs": [{"type": "promptString", "id": "api-key", "description": "Key of Maps", "password": true}],
        "servers": {"maps": {"type": "stdio", "command": "npx", "env": {"KEY": "${input:api-key}", "B": "${env:B}"}}},
    }"""
    _write(tmp_path / ".config/Code/User/mcp.json", config)
    _write(tmp_path / ".config/Code/User/settings.json", {"mcp": {"servers": {"old": {"url": "http://old.example"}}}})
    found = _read(tmp_path, "vscode")
    assert found.servers["maps"]["env"] == {"KEY": "${API_KEY}", "B": "${env:B}"}
    assert found.servers["old"] == {"url": "http://old.example"}
    assert any("API_KEY" in note and "Key of Maps" in note for note in found.notes)


def test_codex_names_variables_instead_of_writing_them(tmp_path: Path) -> None:
    toml = """
        model = "x"
        [mcp_servers.remote]
        url = "https://r.example/mcp"
        bearer_token_env_var = "R_TOKEN"
        http_headers = { "X-A" = "1" }
        env_http_headers = { "X-B" = "B_VALUE" }
        enabled_tools = ["read[1]"]
        startup_timeout_sec = 5
        tool_timeout_sec = 90.5
        [mcp_servers.local]
        command = "srv"
        env_vars = ["TOKEN", { name = "OTHER" }]
        enabled = false
        [mcp_servers.local.env]
        MODE = "fast"
    """
    path = _write(tmp_path / ".codex/config.toml", toml)
    entries = parse_servers({"mcpServers": _read(tmp_path, "codex").servers}, path)
    remote = build_launch(entries["remote"], {"R_TOKEN": "t", "B_VALUE": "b"})
    assert remote.headers == {"X-A": "1", "X-B": "b", "Authorization": "Bearer t"}
    assert (remote.transport, remote.connect_seconds, remote.call_seconds) == ("http", 5.0, 90.5)
    assert is_tool_allowed(entries["remote"], "read[1]") and not is_tool_allowed(entries["remote"], "read1")
    assert entries["local"].disabled
    assert build_launch(entries["local"], {"TOKEN": "t"}).env == {"TOKEN": "t", "OTHER": "", "MODE": "fast"}


def test_gemini_speaks_sse_unless_it_says_http_and_fills_in_bare_names(tmp_path: Path) -> None:
    servers = {
        "a": {"httpUrl": "https://a.example", "headers": {"K": "$A_KEY and ${B_KEY}"}, "timeout": 5000, "trust": True},
        "b": {"url": "https://b.example/sse"},
        "c": {"url": "https://c.example", "type": "http"},
        "d": {"command": "d", "excludeTools": ["x"]},
    }
    _write(tmp_path / ".gemini/settings.json", {"mcpServers": servers, "mcp": {"excluded": ["d"]}})
    assert _read(tmp_path, "gemini").servers == {
        "a": {"type": "http", "url": "https://a.example", "headers": {"K": "${A_KEY} and ${B_KEY}"}, "timeout": 5000},
        "b": {"type": "sse", "url": "https://b.example/sse"},
        "c": {"type": "http", "url": "https://c.example"},
        "d": {"command": "d", "excludeTools": ["x"], "disabled": True},
    }


def test_windsurf_calls_an_address_server_url(tmp_path: Path) -> None:
    given = {"serverUrl": "https://w.example/mcp", "headers": {"A": "${env:A}"}, "disabledTools": ["rm"]}
    _write(tmp_path / ".codeium/windsurf/mcp_config.json", {"mcpServers": {"w": given}})
    expected = {"url": "https://w.example/mcp", "headers": {"A": "${env:A}"}, "excludeTools": ["rm"]}
    assert _read(tmp_path, "windsurf").servers == {"w": expected}


def test_opencode_writes_a_command_as_one_list_and_servers_in_two_places(tmp_path: Path) -> None:
    local = {"type": "local", "command": ["npx", "-y", "files"], "environment": {"K": "{env:KEY}"}, "enabled": False}
    remote = {"type": "remote", "url": "https://o.example/mcp", "headers": {"A": "b"}}
    own = {"type": "local", "command": ["/bin/athand", "mcp"]}
    _write(tmp_path / ".config/opencode/opencode.json", {"mcp": {"files": local, "athand": own}})
    _write(tmp_path / ".config/opencode/opencode.jsonc", {"mcp": {"servers": {"o": remote}}})
    assert _read(tmp_path, "opencode").servers == {
        "files": {"command": "npx", "args": ["-y", "files"], "env": {"K": "${KEY}"}, "enabled": False},
        "o": {"url": "https://o.example/mcp", "headers": {"A": "b"}},
    }


def test_zed_copilot_cline_and_kiro_have_their_own_words(tmp_path: Path) -> None:
    old = {"command": {"path": "z", "args": ["1"], "env": {"A": "b"}}}
    _write(tmp_path / ".config/zed/settings.json", {"context_servers": {"z": old, "new": {"command": "n"}}})
    assert _read(tmp_path, "zed").servers == {
        "z": {"command": "z", "args": ["1"], "env": {"A": "b"}},
        "new": {"command": "n"},
    }
    some = {"type": "local", "command": "c", "args": [], "tools": ["read[1]"]}
    _write(tmp_path / ".copilot/mcp-config.json", {"mcpServers": {"c": some, "all": {**some, "tools": ["*"]}}})
    converted = {"type": "local", "command": "c", "args": []}
    assert _read(tmp_path, "copilot").servers == {"c": {**converted, "includeTools": ["read[[]1]"]}, "all": converted}
    remote = {"type": "streamableHttp", "url": "https://c.example/mcp"}
    path = _write(tmp_path / ".cline/data/settings/cline_mcp_settings.json", {"mcpServers": {"r": remote}})
    assert parse_servers({"mcpServers": _read(tmp_path, "cline").servers}, path)["r"].transport == "http"
    _write(tmp_path / ".kiro/settings/mcp.json", {"mcpServers": {"k": {"command": "k", "disabledTools": ["rm"]}}})
    assert _read(tmp_path, "kiro").servers == {"k": {"command": "k", "excludeTools": ["rm"]}}


def test_paths_of_a_project_stay_right_in_another_file(tmp_path: Path) -> None:
    project = tmp_path / "site"
    servers = {"a": {"command": "${workspaceFolder}/run", "envFile": ".env"}, "b": {"command": "b", "cwd": "sub"}}
    _write(project / ".cursor/mcp.json", {"mcpServers": servers})
    assert _read(tmp_path, "cursor", project).servers == {
        "a": {"command": f"{project}/run", "envFile": f"{project}/.env", "cwd": str(project)},
        "b": {"command": "b", "cwd": f"{project}/sub"},
    }


def test_what_cannot_come_along_is_said(tmp_path: Path) -> None:
    servers = {
        "me": {"command": "uvx", "args": ["athand", "mcp"]},
        "me too": {"command": "/opt/bin/athand", "args": ["mcp"]},
        "odd": "npx",
        "helped": {"type": "http", "url": "https://h.example", "headersHelper": "/bin/h"},
    }
    _write(tmp_path / ".claude.json", {"mcpServers": servers})
    found = _read(tmp_path, "claude-code")
    assert set(found.servers) == {"helped"}
    assert [name for name in servers if any(repr(name) in note for note in found.notes)] == list(servers)


def test_a_server_that_only_works_on_a_folder_of_our_name_is_kept(tmp_path: Path) -> None:
    files = {"command": "npx", "args": ["-y", "files-mcp", "/work/athand"]}
    _write(tmp_path / ".claude.json", {"mcpServers": {"files": files}, "history": "x" * 5_000_000})
    assert _read(tmp_path, "claude-code").servers == {"files": files}


@pytest.mark.parametrize(("client", "name"), [("codex", ".codex/config.toml"), ("cursor", ".cursor/mcp.json")])
def test_a_broken_file_is_noted_and_the_others_are_read(tmp_path: Path, client: str, name: str) -> None:
    project = tmp_path / "site"
    broken = _write(tmp_path / name, "{[")
    text = '[mcp_servers.a]\ncommand = "a"' if client == "codex" else '{"mcpServers": {"a": {"command": "a"}}}'
    _write(project / name, text)
    found = _read(tmp_path, client, project)
    assert set(found.servers) == {"a"} and found.files == [project / name]
    assert any(str(broken) in note for note in found.notes)


def test_servers_are_merged_into_the_own_file(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "own/servers.json", {"policy": 1, "mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}
    )
    servers = {"a": {"command": "a"}, "b": {"command": "other"}, "c": {"url": "https://天.example"}}
    written = write_user_config(path, servers)
    assert (written.added, written.same, written.kept, written.replaced) == (("c",), ("a",), ("b",), ())
    after = json.loads(path.read_text("utf-8"))
    assert after["policy"] == 1 and after["mcpServers"]["b"] == {"command": "b"}
    written = write_user_config(path, servers, replace=True)
    assert (written.added, written.same, written.kept, written.replaced) == ((), ("a", "c"), (), ("b",))
    assert read_config(path)["b"].raw == {"command": "other"}
    assert [each.name for each in path.parent.iterdir()] == ["servers.json"]


def test_the_own_file_is_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "new/folder/servers.json"
    write_user_config(path, {"a": {"command": "a"}})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    write_user_config(path, {"b": {"command": "b"}})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_with_comments_is_kept_beside(tmp_path: Path) -> None:
    path = _write(tmp_path / "servers.json", '{"mcpServers": {} /* none yet */}')
    written = write_user_config(path, {"a": {"command": "a"}})
    assert written.backup is not None and "none yet" in written.backup.read_text()
    assert stat.S_IMODE(written.backup.stat().st_mode) == 0o600
    assert set(read_config(path)) == {"a"}


def test_a_link_to_the_own_file_stays_a_link(tmp_path: Path) -> None:
    path = _write(tmp_path / "dotfiles/servers.json", {})
    link = tmp_path / "servers.json"
    link.symlink_to(path)
    write_user_config(link, {"a": {"command": "a"}})
    assert link.is_symlink() and set(read_config(path)) == {"a"}


def test_an_own_file_that_is_broken_is_not_overwritten(tmp_path: Path) -> None:
    for text in ("{", '{"mcpServers": []}'):
        path = _write(tmp_path / "servers.json", text)
        with pytest.raises(BadData, match=r"servers\.json"):
            write_user_config(path, {"a": {"command": "a"}})
        assert path.read_text() == text


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    _write(tmp_path / "file", "")
    with pytest.raises(Unavailable, match=r"servers\.json"):
        write_user_config(tmp_path / "file/servers.json", {"a": {"command": "a"}})


def test_nothing_is_written_when_nothing_is_new(tmp_path: Path) -> None:
    path = _write(tmp_path / "servers.json", '{"mcpServers":{"a":{"command":"a"}}}')
    before = path.stat()
    write_user_config(path, {"a": {"command": "a"}})
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_several_who_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    writers = [
        threading.Thread(target=write_user_config, args=(path, {f"s{each}": {"command": "x"}})) for each in range(12)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(read_config(path)) == 12

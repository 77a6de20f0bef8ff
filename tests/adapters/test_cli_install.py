import base64
import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from athand.adapters.cli.install_clients import Client
from athand.adapters.cli.install_shapes import stdio_entry
from athand.adapters.cli.tools_servers import CLIENTS
from athand.adapters.http.token_registry import TokenRegistry, ensure_owner_token
from athand.tools.clients import config_paths

TOKEN = "t0ken-" + "x" * 40


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A home and a project of its own; the platform decides where Claude Desktop and VS Code keep their files."""
    monkeypatch.setattr(sys, "platform", "linux")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def write(client, text, project=None):
    file = Client(client, project).file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def servers(client, project=None):
    file = Client(client, project).file
    config = tomllib.loads(file.read_text()) if file.suffix == ".toml" else json.loads(file.read_text())
    keys = {"vscode": "servers", "codex": "mcp_servers", "opencode": "mcp", "zed": "context_servers"}
    return config[keys.get(client, "mcpServers")]


def words(entry):
    """The command of an entry with its arguments."""
    return entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_gets_an_entry_that_starts_this_athand(run, client):
    done = run("install", client, "--toolsets", "memories", "--store", "mine.db", "--json")
    assert (done.code, done.json["action"]) == (0, "added")
    command, *arguments = words(servers(client)["athand"])
    assert Path(command).is_absolute()
    assert arguments == ["mcp", "--store", str(Path.cwd() / "mine.db"), "--toolsets", "memories"]
    assert run("install", client, "--toolsets", "memories", "--store", "mine.db", "--json").json["action"] == "same"
    assert run("install", client, "--json").json["action"] == "replaced"
    assert run("uninstall", client, "--json").json["action"] == "removed"
    assert run("uninstall", client, "--json").json["action"] == "same"
    assert "athand" not in (servers(client) if client != "codex" else {})


@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("copilot", ".github/mcp.json"),
        ("opencode", "opencode.json"),
        ("zed", ".zed/settings.json"),
        ("kiro", ".kiro/settings/mcp.json"),
        ("continue", ".continue/mcpServers/mcp.json"),
    ],
)
def test_a_project_has_a_file_of_its_own(run, here, client, file):
    assert run("install", client, "--project").code == 0
    assert "athand" in servers(client, here)
    assert (here / file).is_file()


@pytest.mark.parametrize("client", ["claude-desktop", "windsurf", "cline"])
def test_a_client_without_projects_says_so(run, client):
    refused = run("install", client, "--project")
    assert refused.code == 2
    assert "Leave --project out" in refused.err


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("copilot", {"type": "local", "command": "/a", "args": ["mcp"], "tools": ["*"]}),
        ("opencode", {"type": "local", "command": ["/a", "mcp"], "enabled": True}),
        ("zed", {"command": "/a", "args": ["mcp"]}),
        ("cline", {"command": "/a", "args": ["mcp"], "timeout": 60}),
        ("kiro", {"command": "/a", "args": ["mcp"]}),
        ("continue", {"command": "/a", "args": ["mcp"]}),
    ],
)
def test_each_client_reads_its_own_kind_of_entry(client, entry):
    assert stdio_entry(client, ["/a", "mcp"]) == entry


@pytest.mark.parametrize("client", ["opencode", "cline"])
def test_the_file_that_a_client_has_already_is_used(run, client):
    unused = Client(client).file
    used = next(each for each in config_paths(client, Path.home(), "linux", None, os.environ) if each != unused)
    used.parent.mkdir(parents=True)
    used.write_text("// mine\n{}\n")
    assert run("install", client).code == 0
    assert Client(client).file == used and used.read_text().startswith("// mine\n")
    assert not unused.exists()


def test_links_add_the_same_entry_with_one_click(run):
    assert run("install", "cursor", "vscode").code == 2
    links = run("install", "--link", "--toolsets", "memories", "--json").json
    given = {
        client: json.loads(run("install", client, "--toolsets", "memories", "--print", "--json").out)
        for client in links
    }
    cursor = urlsplit(links["cursor"])
    query = parse_qs(cursor.query)
    assert (cursor.scheme, cursor.netloc, cursor.path) == ("cursor", "anysphere.cursor-deeplink", "/mcp/install")
    assert json.loads(base64.b64decode(query["config"][0])) == given["cursor"]["entry"]
    assert query["name"] == ["athand"]
    vscode = json.loads(unquote(links["vscode"].removeprefix("vscode:mcp/install?")))
    assert vscode == {"name": "athand", **given["vscode"]["entry"]}
    assert run("install", "vscode", "--link", "--toolsets", "memories").out == links["vscode"] + "\n"
    assert not Client("cursor").file.exists()


def test_a_link_is_only_for_clients_that_know_it_and_holds_no_secret(run):
    refused = run("install", "zed", "--link")
    assert (refused.code, "athand install zed" in refused.err) == (2, True)
    secret = run("install", "--link", "--store", "postgresql://me:hunter2@host/db")
    assert secret.code == 2
    assert "hunter2" not in secret.out + secret.err
    assert run("install", "cursor", "--link", "--http").code == 2


COMMENTED = """{
  // what I use
  "mcpServers": {
    "github": {"command": "npx", "args": ["-y", "gh"]}, // work
    /* more to come */
  },
  "theme": "dark", // "athand": {}
}
"""


def test_comments_and_everything_else_stay_as_they_are(run):
    file = write("cursor", COMMENTED)
    assert run("install", "cursor").code == 0
    text = file.read_text()
    for piece in ("// what I use", '"gh"]}, // work', "/* more to come */", '"theme": "dark", // "athand": {}'):
        assert piece in text
    assert Client("cursor").entry["args"] == ["mcp"]
    run("uninstall", "cursor")
    assert file.read_text().split() == COMMENTED.replace('"gh"]}, //', '"gh"]} //').split()


def test_the_rest_of_a_toml_file_stays_to_the_byte(run):
    before = 'model = "o5" # mine\n\n[mcp_servers.gh]\ncommand = "gh"\n\n# profiles\n[profiles.fast]\nx = [\n  1,\n]\n'
    file = write("codex", before)
    run("install", "codex")
    assert file.read_text().startswith(before)
    assert servers("codex")["athand"]["args"] == ["mcp"]
    run("uninstall", "codex")
    assert file.read_text() == before


def test_what_was_there_is_kept_beside_it_for_the_same_eyes(run):
    file = write("cursor", COMMENTED)
    file.chmod(0o640)
    done = run("install", "cursor", "--json")
    backup = Path(done.json["backup"])
    assert backup.read_text() == COMMENTED
    assert [stat.S_IMODE(each.stat().st_mode) for each in (backup, file)] == [0o640, 0o640]
    again = run("install", "cursor", "--json")
    assert again.json["backup"] is None
    assert len(list(file.parent.iterdir())) == 2


def test_a_link_is_followed_but_not_out_of_a_project(run, here, tmp_path):
    dotfiles = tmp_path / "dotfiles.json"
    dotfiles.write_text("{}")
    link = Client("cursor").file
    link.parent.mkdir(parents=True)
    link.symlink_to(dotfiles)
    assert run("install", "cursor").code == 0
    assert link.is_symlink()
    assert "athand" in dotfiles.read_text()
    secret = tmp_path / "elsewhere.json"
    secret.write_text("{}")
    (here / ".mcp.json").symlink_to(secret)
    refused = run("install", "claude-code", "--project")
    assert refused.code == 1
    assert "outside of" in refused.err
    assert secret.read_text() == "{}"


@pytest.mark.parametrize(("client", "text"), [("cursor", '{"mcpServers": {'), ("codex", "a = "), ("gemini", "[]")])
def test_a_broken_file_is_left_alone(run, client, text):
    file = write(client, text)
    refused = run("install", client)
    assert refused.code == 65
    assert str(file) in refused.err
    assert file.read_text() == text
    assert len(list(file.parent.iterdir())) == 1


CODEX = '''
model = "o5" # mine
notify = ["bash", "-c",
  "say done", # aloud
]
instructions = """
[mcp_servers.athand]
is what I use.
"""
%s

# profiles
[profiles.fast]
approval_policy = "never"
'''


@pytest.mark.parametrize(
    "own",
    [
        'mcp_servers = { gh = { command = "gh" } } # work',
        'mcp_servers.gh.command = "gh" # work\nmcp_servers.gh.args = [\n  "-v",\n]',
        '[mcp_servers]\ngh = { command = "gh", env = { A = "b" } } # work',
        '[mcp_servers.gh]\ncommand = "gh" # work\n\n[mcp_servers.gh.env]\nA = "b"',
    ],
)
def test_a_toml_file_may_be_written_in_every_legal_way(run, own):
    file = write("codex", CODEX % own)
    assert run("install", "codex", "--toolsets", "memories").code == 0
    assert run("install", "codex", "--json").json["action"] == "replaced"
    assert (servers("codex")["athand"]["args"], servers("codex")["gh"]["command"]) == (["mcp"], "gh")
    assert run("uninstall", "codex").code == 0
    assert file.read_text() == CODEX % own


def test_a_file_that_cannot_be_changed_without_loss_is_left_alone(run):
    twice = '{"mcpServers": {"athand": {"command": "a"}, "athand": {"command": "b"}}}'
    file = write("cursor", twice)
    refused = run("uninstall", "cursor")
    assert refused.code == 65
    assert "athand install cursor --print" in refused.err
    assert file.read_text() == twice


def test_print_touches_nothing(run):
    shown = run("install", "vscode", "--print")
    assert json.loads(shown.out)["servers"]["athand"]["type"] == "stdio"
    assert not Client("vscode").file.exists()


def test_a_running_server_is_reached_with_its_token(run, tmp_path):
    folder = str(tmp_path / "data")
    missing = run("install", "cursor", "--http", "--data-dir", folder)
    assert missing.code == 1
    assert "athand serve" in missing.err
    Path(folder).mkdir(mode=0o700)
    token = Path(folder, "token")
    token.touch(mode=0o600)
    token.write_text(TOKEN)
    entries = {
        "cursor": {"url": "http://127.0.0.1:7325/mcp"},
        "vscode": {"type": "http", "url": "http://127.0.0.1:7325/mcp"},
        "gemini": {"httpUrl": "http://127.0.0.1:7325/mcp"},
        "windsurf": {"serverUrl": "http://127.0.0.1:7325/mcp"},
        "codex": {"url": "http://127.0.0.1:7325/mcp"},
        "copilot": {"type": "http", "url": "http://127.0.0.1:7325/mcp", "tools": ["*"]},
        "opencode": {"type": "remote", "url": "http://127.0.0.1:7325/mcp", "enabled": True},
        "zed": {"url": "http://127.0.0.1:7325/mcp"},
        "cline": {"type": "streamableHttp", "url": "http://127.0.0.1:7325/mcp", "timeout": 60},
        "kiro": {"url": "http://127.0.0.1:7325/mcp"},
        "continue": {"type": "http", "url": "http://127.0.0.1:7325/mcp"},
    }
    for client, entry in entries.items():
        assert run("install", client, "--data-dir", folder, "--http").code == 0
        written = servers(client)["athand"]
        headers = written.pop("http_headers" if client == "codex" else "headers")
        caller = TokenRegistry(Path(folder)).find(headers["Authorization"].removeprefix("Bearer "))
        assert written == entry
        assert (caller.name, sorted(caller.scopes)) == (f"{client}-athand", ["call-tools", "search", "write"])
    assert run("install", "gemini", "--data-dir", folder, "--http", "--name", "athand-demo").code == 0
    assert run("tools", "import", "cursor", "gemini", "--print", "--json").json == {"mcpServers": {}}
    Client("cursor").file.chmod(0o644)
    assert "chmod 600" in run("install", "cursor", "--data-dir", folder, "--http").err
    shown = run("install", "gemini", "--http", "https://host/mcp", "--data-dir", folder, "--print")
    assert "https://host/mcp" in shown.out
    assert TOKEN not in shown.out + shown.err
    assert run("install", "claude-desktop", "--http").code == 2
    assert run("install", "cursor", "--http", "--project").code == 2
    assert run("install", "cursor", "--http", "nonsense").code == 2


def test_the_token_of_a_client_is_its_own_and_goes_with_it(run, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    ensure_owner_token(folder)
    there = ("--data-dir", str(folder))
    assert run("install", "cursor", "--http", *there).code == 0
    before = Client("cursor").file.read_bytes()
    assert "already" in run("install", "cursor", "--http", *there).err
    assert Client("cursor").file.read_bytes() == before
    assert [each["name"] for each in run("token", "list", "--json", *there).json] == ["cursor-athand"]
    assert "is revoked" in run("uninstall", "cursor", *there).err
    assert run("token", "list", "--json", *there).json == []


def test_another_machine_gets_only_a_token_that_was_named(run, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    ensure_owner_token(folder)
    far = ("install", "cursor", "--data-dir", str(folder), "--http", "https://host.example/mcp")
    refused = run(*far)
    assert refused.code == 2 and "--token-file" in refused.err
    file = tmp_path / "given"
    file.write_text("given-token\n")
    assert run(*far, "--token-file", str(file)).code == 0
    assert servers("cursor")["athand"]["headers"] == {"Authorization": "Bearer given-token"}
    assert run("install", "cursor", "--token-file", str(file)).code == 2
    assert run(*far, "--token-file", str(tmp_path / "nowhere")).code == 2


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_an_entry_of_another_name_leaves_the_first_alone(run, client):
    run("install", client)
    added = run("install", client, "--name", "athand-work", "--store", "work.db")
    assert f"athand uninstall {client} --name athand-work" in added.err
    assert servers(client)["athand"]["args"] == ["mcp"]
    assert servers(client)["athand-work"]["args"] == ["mcp", "--store", str(Path.cwd() / "work.db")]
    assert run("install", "--name", "athand-work", "-q").out == f"{client}\n"
    assert run("uninstall", client, "--name", "athand-work", "--json").json["action"] == "removed"
    assert list(servers(client)) == ["athand"]
    assert "letters, digits" in run("install", client, "--name", "a.b").err


def test_without_a_client_all_are_listed(run):
    run("install", "cursor")
    write("gemini", "{broken")
    listed = {row["client"]: row for row in run("install", "--json").json}
    assert list(listed) == list(CLIENTS)
    assert (listed["cursor"]["installed"], listed["codex"]["installed"]) == (True, False)
    assert "not JSON" in listed["gemini"]["problem"]
    assert run("install", "-q").out == "cursor\n"
    assert "cursor" in run("uninstall").out


def test_a_password_is_not_shown_and_not_put_into_a_shared_file(run, here):
    address = "postgresql://me:hunter2@host/db"
    shown = run("install", "cursor", "--store", address, "--print")
    assert "me:•••@host" in shown.out
    assert "hunter2" not in shown.out + shown.err
    refused = run("install", "cursor", "--store", address, "--project")
    assert (refused.code, "PGPASSWORD" in refused.err) == (2, True)
    assert not (here / ".cursor").exists()
    write("cursor", "{}").chmod(0o644)
    assert "chmod 600" in run("install", "cursor", "--store", address).err
    write("cursor", '{"mcpServers": {"athand": {"command": "x", "env": {"KEY": "hunter2"}}}}')
    assert "hunter2" not in run("uninstall", "cursor", "--print").out


def test_what_would_not_start_is_not_installed(run):
    assert "No toolset" in run("install", "cursor", "--toolsets", "memories,nonsense").err
    assert not Client("cursor").file.exists()
    meant = run("install", "--http", "cursor")
    assert (meant.code, "Which client?" in meant.err) == (2, True)

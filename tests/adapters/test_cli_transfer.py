"""The servers of a client move behind Athand and back: to the byte, and whenever it is interrupted."""

import json
import stat
import sys
from pathlib import Path

import pytest

from athand.adapters.cli import tools_transfer
from athand.adapters.cli.install_clients import Client

CURSOR = """{
  // what I use
  "mcpServers": {
    "github": {"command": "npx", "args": ["-y", "gh"], "env": {"TOKEN": "hunter2"}}, // work
    /* at home */
    "notes": {"url": "https://notes.example/mcp"},
  },
  "theme": "dark", // mine
}
"""
CODEX = """model = "o5" # mine

# work
[mcp_servers.github]
command = "npx" # fast
args = ["-y", "gh"]

[mcp_servers.github.env]
TOKEN = "hunter2"

# profiles
[profiles.fast]
x = 1
"""
BOTH = {"github", "notes"}


@pytest.fixture(autouse=True)
def on_linux(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")


def write(client, text):
    file = Client(client).file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def names(client):
    return set(Client(client).servers)


def ours(user_file):
    return json.loads(user_file.read_text())["mcpServers"] if user_file.exists() else {}


def take_over(run, client, *more):
    done = run("tools", "import", "--take-over", client, *more, "--json")
    assert done.code == 0, done.err
    return done.json


def give_back(run, client):
    done = run("tools", "import", "--give-back", client, "--json")
    assert done.code == 0, done.err
    return done.json


@pytest.mark.parametrize(("client", "text"), [("cursor", CURSOR), ("codex", CODEX)])
def test_servers_move_behind_athand_and_back_to_the_byte(run, user_file, client, text):
    file = write(client, text)
    file.chmod(0o640)
    moved = take_over(run, client)
    assert names(client) == {"athand"}
    assert set(ours(user_file)) == set(moved["moved"])
    assert ours(user_file)["github"]["env"] == {"TOKEN": "hunter2"}
    assert Path(moved["backup"]).read_text() == text
    own = (user_file, user_file.with_name("taken-over.json"))
    assert [stat.S_IMODE(each.stat().st_mode) for each in (file, *own)] == [0o640, 0o600, 0o600]
    assert give_back(run, client)["moved"] == moved["moved"]
    assert file.read_text() == text
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert ours(user_file) == {}
    assert list(file.parent.iterdir()) == [file]


def test_comments_and_the_rest_of_the_file_stay_while_the_servers_are_away(run):
    file = write("cursor", CURSOR)
    take_over(run, "cursor")
    for piece in ("// what I use", "/* at home */", '"theme": "dark", // mine'):
        assert piece in file.read_text()


def test_a_file_that_was_changed_meanwhile_keeps_the_changes(run, user_file):
    file = write("cursor", CURSOR)
    take_over(run, "cursor")
    run("install", "cursor", "--name", "other")
    file.write_text(file.read_text().replace("dark", "light"))
    give_back(run, "cursor")
    assert names("cursor") == {*BOTH, "other"}
    assert "light" in file.read_text() and "// what I use" in file.read_text()
    assert Client("cursor").servers["github"]["env"] == {"TOKEN": "hunter2"}
    assert ours(user_file) == {}


def test_servers_that_came_later_are_taken_over_as_well(run, user_file):
    file = write("cursor", CURSOR)
    take_over(run, "cursor")
    assert take_over(run, "cursor")["moved"] == []
    run("install", "cursor", "--name", "x")
    text = file.read_text().replace('"mcpServers": {', '"mcpServers": {\n    "later": {"command": "l"},', 1)
    file.write_text(text)
    assert take_over(run, "cursor")["moved"] == ["later"]
    assert set(ours(user_file)) == {*BOTH, "later"}
    give_back(run, "cursor")
    assert names("cursor") == {*BOTH, "later", "x"}
    assert ours(user_file) == {}


def test_what_would_not_work_behind_athand_stays(run, user_file):
    user_file.parent.mkdir(parents=True)
    user_file.write_text(json.dumps({"mcpServers": {"github": {"command": "mine"}}}))
    servers = {
        "github": {"command": "theirs"},
        "asks": {"command": "a", "env": {"KEY": "${input:key}"}},
        "odd": {},
        "fine": {"type": "stdio", "command": "f"},
    }
    file = write("vscode", json.dumps({"servers": servers, "inputs": [{"id": "key"}]}))
    moved = take_over(run, "vscode")
    assert (moved["moved"], set(moved["stayed"])) == (["fine"], {"github", "asks", "odd"})
    assert names("vscode") == {"github", "asks", "odd", "athand"}
    assert ours(user_file) == {"github": {"command": "mine"}, "fine": {"type": "stdio", "command": "f"}}
    give_back(run, "vscode")
    assert json.loads(file.read_text())["servers"] == servers
    assert ours(user_file) == {"github": {"command": "mine"}}


def test_a_server_of_two_programs_stays_until_both_have_it_back(run, user_file):
    same = {"mcpServers": {"github": {"command": "gh"}}}
    for client in ("cursor", "claude-code"):
        write(client, json.dumps(same))
        take_over(run, client)
    give_back(run, "cursor")
    assert set(ours(user_file)) == {"github"}
    give_back(run, "claude-code")
    assert ours(user_file) == {}
    assert names("claude-code") == names("cursor") == {"github"}


def test_who_removes_athand_is_told_how_to_get_the_servers_back(run):
    write("cursor", CURSOR)
    take_over(run, "cursor")
    assert "athand tools import --give-back cursor" in run("uninstall", "cursor").err
    give_back(run, "cursor")
    assert names("cursor") == BOTH
    assert "--give-back" not in run("uninstall", "cursor").err


def test_an_entry_of_athand_that_is_there_already_stays(run):
    write("cursor", CURSOR)
    run("install", "cursor", "--store", "mine.db")
    before = Client("cursor").entry
    take_over(run, "cursor")
    assert Client("cursor").entry == before
    give_back(run, "cursor")
    assert Client("cursor").entry == before
    assert names("cursor") == {*BOTH, "athand"}


def test_print_shows_what_would_move_without_secrets(run, user_file):
    file = write("cursor", CURSOR)
    shown = run("tools", "import", "cursor", "--take-over", "--print")
    assert "github, notes" in shown.err
    secret = run("tools", "import", "cursor", "--take-over", "--print", "--json")
    assert set(secret.json["mcpServers"]) == BOTH
    assert "hunter2" not in shown.out + shown.err + secret.out
    assert file.read_text() == CURSOR and not user_file.exists()


@pytest.mark.parametrize(
    "more", [(), ("cursor", "codex"), ("cursor", "--replace"), ("cursor", "--give-back"), ("cursor", "--project", ".")]
)
def test_one_program_moves_at_a_time(run, more):
    assert run("tools", "import", "--take-over", *more).code == 2


def test_nothing_to_give_back_says_so(run):
    refused = run("tools", "import", "--give-back", "cursor")
    assert (refused.code, "No servers of cursor were taken over" in refused.err) == (1, True)


def test_a_file_that_cannot_be_written_leaves_everything_as_it_was(run, user_file):
    file = write("cursor", CURSOR)
    file.chmod(0o440)
    refused = run("tools", "import", "--take-over", "cursor")
    assert "chmod u+w" in refused.err
    assert file.read_text() == CURSOR
    assert ours(user_file) == {}
    assert list(file.parent.iterdir()) == [file]


class Killed(BaseException):
    """The process ends here: nothing behind it runs."""


STEPS = [(Client, "back_up"), (tools_transfer, "_write_record"), (tools_transfer, "write_user_config")]
STEPS += [(Client, "replace"), (tools_transfer, "remove_from_user_config")]


def kill(monkeypatch, step, when, work):
    """End `work` right before or after one of its steps; whether it came that far."""
    place, name = step
    real = getattr(place, name)

    def interrupted(*given, **named):
        if when == "after":
            real(*given, **named)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(place, name, interrupted)
        with pytest.raises(Killed):
            work()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS[:4], ids=lambda each: each[1].strip("_"))
def test_whenever_a_take_over_is_interrupted_no_server_is_lost(run, user_file, monkeypatch, step, when):
    file = write("cursor", CURSOR)
    kill(monkeypatch, step, when, lambda: run("tools", "import", "--take-over", "cursor"))
    assert names("cursor") | set(ours(user_file)) >= BOTH
    take_over(run, "cursor")
    assert (names("cursor"), set(ours(user_file))) == ({"athand"}, BOTH)
    give_back(run, "cursor")
    assert file.read_text() == CURSOR
    assert ours(user_file) == {}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS[2:4], ids=lambda each: each[1])
def test_an_interrupted_take_over_can_be_undone_at_once(run, user_file, monkeypatch, step, when):
    file = write("cursor", CURSOR)
    kill(monkeypatch, step, when, lambda: run("tools", "import", "--take-over", "cursor"))
    give_back(run, "cursor")
    assert file.read_text() == CURSOR
    assert ours(user_file) == {}
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", [STEPS[3], STEPS[4], STEPS[1]], ids=lambda each: each[1].strip("_"))
def test_whenever_giving_back_is_interrupted_no_server_is_lost(run, user_file, monkeypatch, step, when):
    file = write("cursor", CURSOR)
    take_over(run, "cursor")
    kill(monkeypatch, step, when, lambda: run("tools", "import", "--give-back", "cursor"))
    assert names("cursor") | set(ours(user_file)) >= BOTH
    if (step[1], when) != ("_write_record", "after"):
        give_back(run, "cursor")
    assert file.read_text() == CURSOR
    assert ours(user_file) == {}

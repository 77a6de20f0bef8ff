"""What hooks tell Claude Code, and that they never fail it."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from tests.waiting import PATIENCE

from athand.adapters.cli import hook
from athand.adapters.cli.hook_files import LOG, HookFiles
from athand.adapters.cli.session import Session
from athand.text_length import estimate_tokens

VPN = "Staging deploys need the VPN"
KEYS = "API keys rotate every 12 hours since the audit; cache them for at most 10 minutes"
ASKED = "please deploy the branch to staging"


@pytest.fixture
def files(tmp_path):
    return HookFiles(tmp_path / "hooks")


@pytest.fixture
def tell(run, files):
    """What the client is told at an event."""

    def tell(event, **given):
        said = hook.answer(Session(), event, {"session_id": "s1", "cwd": "/", **given}, files)
        return json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""

    return tell


def test_a_session_begins_with_the_brief_of_its_project(tell, add):
    add(VPN, "--project", "shop")
    add(KEYS)
    told = tell("session-start", source="startup")
    assert KEYS in told and VPN not in told
    add(KEYS + " always" * 500)
    assert estimate_tokens(tell("session-start", source="startup")) <= 400


def test_a_session_without_anything_to_say_is_told_nothing(tell, run, add):
    assert tell("session-start") == "" and not Path(os.environ["ATHAND_STORE"]).exists()
    add(VPN, "--project", "shop")
    assert tell("session-start") == ""


def test_the_project_is_that_of_the_folder_the_client_works_in(tell, add, tmp_path, monkeypatch):
    add(VPN, "--project", "shop")
    monkeypatch.delenv("ATHAND_PROJECT")
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    assert VPN in tell("session-start", cwd=str(tmp_path / "shop"))
    assert tell("session-start", cwd=str(tmp_path)) == ""


def test_a_prompt_is_told_what_fits_it_once_in_a_session(tell, add):
    add(VPN)
    assert VPN in tell("user-prompt", prompt=ASKED)
    assert tell("user-prompt", prompt=ASKED) == ""
    assert VPN in tell("user-prompt", prompt=ASKED, session_id="s2")
    tell("session-start", source="startup", session_id="s3")
    assert tell("user-prompt", prompt=ASKED, session_id="s3") == "", "the brief had it"


@pytest.mark.parametrize(
    "event", [("pre-compact", {}), ("session-start", {"source": "clear"})], ids=lambda each: each[0]
)
def test_what_left_the_context_is_told_again(tell, add, run, event):
    first = add(VPN)
    tell("user-prompt", prompt=ASKED)
    name, given = event
    run("memory", "forget", "--tag", "none")
    assert (VPN in tell(name, **given)) is (name == "session-start")
    assert (VPN in tell("user-prompt", prompt=ASKED)) is (name == "pre-compact"), first


def test_a_session_that_goes_on_is_not_told_its_brief_again(tell, add):
    add(VPN)
    assert VPN in tell("session-start", source="startup")
    assert tell("session-start", source="resume") == ""


@pytest.mark.parametrize("prompt", ["yes", "Go on.", "ok, continue please", "/compact staging deploys", "", "thanks!"])
def test_a_prompt_that_says_nothing_is_told_nothing(tell, add, prompt):
    add("yes go on ok continue please thanks, compact staging deploys")
    assert tell("user-prompt", prompt=prompt) == ""


def test_a_prompt_about_something_else_is_told_nothing(tell, add):
    add(VPN)
    add(KEYS)
    assert tell("user-prompt", prompt="what is the lift of a wing at supersonic speed?") == ""


def test_three_things_are_told_at_most_and_in_200_tokens(tell, add):
    for number in range(5):
        text = f"Staging deploy {number}: first the VPN, then the branch, then {'the checks of Ünal ' * 60}"
        add(text, "--sector", "procedural", "--author", f"a{number}")
    told = tell("user-prompt", prompt=ASKED)
    assert 1 <= told.count("\n- ") <= 3 and estimate_tokens(told) <= 200


def test_documents_are_told_with_their_place_and_no_folder_is_scanned(tell, run, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "staging.md").write_text("# Staging\n\nDeploy the branch to staging with `make release`.\n")
    assert run("docs", "add", str(notes), "--name", "notes").code == 0
    (notes / "staging.md").write_text("# Staging\n\nDeploy the branch to staging by hand.\n")
    told = tell("user-prompt", prompt=ASKED)
    assert "notes/staging.md:1-3" in told and "make release" in told


def test_a_session_that_ends_is_linked_with_what_it_was_told(tell, add, run):
    id_ = add(VPN)
    assert tell("session-end") == "" and run("memory", "sessions", "--json").json == []
    tell("user-prompt", prompt=ASKED)
    assert tell("stop") == tell("session-end") == ""
    (session,) = run("memory", "sessions", "--json").json
    assert session["id"] == "s1" and session["ended_at"]
    assert run("memory", "search", "VPN", "--in-session", "s1", "--json").json["hits"][0]["id"] == id_


# Whatever goes wrong


@pytest.fixture
def hook_log(run, tmp_path, monkeypatch):
    """What is in the log of hooks; they may take as long as this machine needs, and do not end this process."""
    monkeypatch.setenv("ATHAND_HOME", str(tmp_path))
    monkeypatch.setattr(hook, "_within_limit", lambda *given: nullcontext())
    return lambda: "".join(each.read_text() for each in tmp_path.rglob(f"hooks/{LOG}"))


def break_newer(store):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE settings SET value = '99' WHERE name LIKE '%memories'")


def break_other(store):
    store.write_bytes(b"no database at all" * 100)


@pytest.mark.parametrize(
    ("given", "harm", "why"),
    [
        ({"prompt": ASKED}, break_newer, "newer"),
        ({"prompt": ASKED}, break_other, "not an Athand database"),
        ([1, 2], None, "JSON object"),
        ({"prompt": 5}, None, "prompt"),
        ({"prompt": ASKED, "session_id": "a\nb"}, None, "session_id"),
    ],
    ids=["newer store", "no store", "a list", "no prompt", "strange session"],
)
def test_whatever_is_wrong_the_client_hears_nothing_of_it(run, add, pipe, tmp_path, hook_log, given, harm, why):
    add(VPN)
    if harm:
        harm(tmp_path / "store.db")
    pipe(json.dumps(given).encode())
    done = run("hook", "user-prompt", "--an-option-of-tomorrow")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert why in hook_log()


def test_broken_settings_and_unknown_events_are_silent_too(run, add, pipe, hook_log, monkeypatch):
    add(VPN)
    pipe(b"{}")
    done = run("hook", "tomorrow")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert "No event 'tomorrow'" in hook_log()
    monkeypatch.setenv("ATHAND_SEARCH_LIMIT", "many")
    pipe(b"{}")
    done = run("hook", "session-start")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert "ATHAND_SEARCH_LIMIT" in hook_log()


def test_a_store_that_may_only_be_read_is_told_from(run, add, pipe, tmp_path, hook_log):
    add(VPN)
    (tmp_path / "store.db").chmod(0o400)
    pipe(b"{}")
    assert VPN in run("hook", "session-start").out


def test_a_hook_that_gets_no_input_ends_in_silence(tmp_path):
    ours, theirs = os.pipe()
    own = {"ATHAND_HOME": str(tmp_path), "ATHAND_HOOK_SECONDS": "0.3"}
    command = [sys.executable, "-m", "athand", "hook", "user-prompt"]
    done = subprocess.run(command, env={**os.environ, **own}, stdin=ours, capture_output=True, timeout=PATIENCE)
    os.close(theirs)
    os.close(ours)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "user-prompt: it took longer than 0.3 s" in (tmp_path / "hooks" / LOG).read_text()


# Install


def settings(home):
    return json.loads((home / ".claude" / "settings.json").read_text())


def test_install_adds_hooks_beside_those_of_others_and_uninstall_takes_only_ours(run):
    mine = {"type": "command", "command": "echo hello"}
    file = Path.home() / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    before = {"model": "opus", "hooks": {"Stop": [{"hooks": [mine]}], "SessionEnd": [{"hooks": [mine]}]}}
    file.write_text(json.dumps(before))
    done = run("install", "claude-code", "--data-dir", "/some where", "--json").json
    assert (done["action"], done["hooks"]["action"], done["hooks"]["file"]) == ("added", "added", str(file))
    hooks = settings(Path.home())["hooks"]
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd", "Stop"}
    assert hooks["SessionEnd"][0] == {"hooks": [mine]}
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    assert command.endswith("athand hook user-prompt --data-dir '/some where'")
    assert run("install", "claude-code", "--json").json["hooks"]["action"] == "replaced"
    assert run("install", "claude-code", "--json").json["hooks"]["action"] == "same"
    assert run("uninstall", "claude-code", "--json").json["hooks"]["action"] == "removed"
    assert settings(Path.home()) == before


def test_without_hooks_and_for_others_nothing_is_written_into_settings(run, tmp_path, monkeypatch):
    assert "hooks" not in run("install", "claude-code", "--no-hooks", "--json").json
    assert "hooks" not in run("install", "cursor", "--json").json
    assert not (Path.home() / ".claude").exists()
    monkeypatch.chdir(tmp_path)
    assert run("install", "claude-code", "--project").code == 0
    assert (tmp_path / ".claude" / "settings.local.json").exists()


def test_settings_that_cannot_be_changed_are_left_and_nothing_else_is_written(run):
    file = Path.home() / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"hooks": [1]}')
    done = run("install", "claude-code")
    assert done.code == 65 and "hooks in" in done.err and file.read_text() == '{"hooks": [1]}'
    assert not (Path.home() / ".claude.json").exists()

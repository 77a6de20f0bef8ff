import stat
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.tools.servers.kit import write_config

from athand.adapters.cli.install_clients import Client


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder that is no project, and a browser that need not be looked for."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    browser = tmp_path / "chromium"
    browser.touch(mode=0o755)
    monkeypatch.setenv("ATHAND_CHROMIUM", str(browser))


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.db"


def checks(outcome):
    return {each["name"]: each for each in outcome.json["checks"]}


def change(store, *statements):
    with closing(apsw.Connection(str(store))) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_new_store_is_well(run):
    shown = run("doctor")
    assert (shown.code, shown.err.strip()) == (0, "All is well.")
    assert "integrity ok" in shown.out
    assert "athand-static-1 (bundled) · 384 dimensions · calibrated" in shown.out
    found = run("doctor", "--json")
    assert {each["state"] for each in found.json["checks"]} == {"ok"}
    assert (found.json["warnings"], found.json["broken"]) == (0, 0)
    assert "There was nothing to repair." in run("doctor", "--fix").err
    assert run("doctor", "-q").out == ""


def test_files_that_others_can_read_are_named_and_hidden(run, add, store):
    add("something")
    store.chmod(0o644)
    found = run("doctor", "--json")
    assert (found.code, checks(found)["files"]["state"]) == (0, "warning")
    assert str(store) in checks(found)["files"]["text"]
    mended = run("doctor", "--fix", "--json")
    assert mended.json["fixed"] == [f"made {store} private"]
    assert stat.S_IMODE(store.stat().st_mode) == 0o600


def test_what_a_dead_process_left_is_removed(run, add, store):
    add("something")
    left = store.with_name(".store.db.unfinished-999999999")
    left.touch()
    assert checks(run("doctor", "--json"))["files"]["state"] == "warning"
    run("doctor", "--fix")
    assert not left.exists()


def test_a_damaged_index_is_made_anew(run, add, store):
    add("Staging deploys need the VPN")
    change(store, "UPDATE memories_passages SET content = 'something else'", "UPDATE spaces SET passages = 7")
    found = run("doctor", "--json")
    assert found.code == 65
    assert checks(found)["store"]["advice"] == "athand doctor --fix"
    mended = run("doctor", "--fix", "--json")
    assert (mended.code, mended.json["fixed"]) == (0, ["rebuilt every index"])
    assert run("search", "staging", "--json").json["hits"]


def test_missing_vectors_are_made(run, add, store):
    add("Staging deploys need the VPN")
    change(store, "UPDATE coverage SET complete = 0", "DELETE FROM vectors")
    assert "1 of memories" in checks(run("doctor", "--json"))["model"]["text"]
    assert run("doctor", "--fix", "--json").json["fixed"] == ["computed the vectors of 1 passage"]
    assert checks(run("doctor", "--json"))["model"]["state"] == "ok"


def test_a_store_that_is_no_database_is_told(run, store):
    store.write_bytes(b"no database at all" * 100)
    found = run("doctor")
    assert found.code == 65
    assert "✗ store" in found.out
    assert "try: athand restore BACKUP" in found.out
    assert "1 broken" in found.err
    assert run("doctor", "--fix").code == 65
    assert store.read_bytes() == b"no database at all" * 100


def test_a_broken_configuration_is_told(run):
    file = Path(run("config", "path").out.strip())
    file.parent.mkdir(parents=True)
    file.write_text("nonsense = 1\n")
    found = run("doctor", "--json")
    assert (found.code, checks(found)["settings"]["state"]) == (1, "broken")


def test_a_server_that_does_not_answer_and_a_folder_that_is_away_are_told(run, tmp_path):
    config = write_config(tmp_path / "servers.json", **{"the ghost": {"command": "/no/such/program"}})
    run("tools", "load", str(config))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Notes")
    run("docs", "add", str(notes))
    notes.rename(tmp_path / "away")
    found = checks(run("doctor", "--json"))
    assert (found["tools"]["state"], found["tools"]["advice"]) == ("warning", "athand tools refresh 'the ghost'")
    assert (found["documents"]["state"], found["documents"]["advice"]) == ("warning", "athand docs status")
    status = run("status", "--problems")
    assert "the ghost is failing" in status.out
    assert "notes is offline" in status.out


def test_a_client_that_starts_something_that_is_gone_is_told(run):
    run("install", "cursor")
    assert "installed in cursor" in checks(run("doctor", "--json"))["clients"]["text"]
    file = Client("cursor").file
    file.write_text('{"mcpServers": {"athand": {"command": "/gone/athand", "args": ["mcp"]}}}')
    found = checks(run("doctor", "--json"))["clients"]
    assert (found["state"], found["advice"]) == ("warning", "athand install cursor")
    assert "/gone/athand" in found["text"]


def test_status_with_problems_says_so_when_there_are_none(run, add):
    add("something")
    assert "No problems." in run("status", "--problems").err


def test_what_was_mended_is_told_also_if_the_store_cannot_be_opened(run, store):
    store.write_bytes(b"no database" * 1000)
    store.chmod(0o644)
    mended = run("doctor", "--fix", "--json")
    assert mended.json["fixed"] == [f"made {store} private"]
    assert mended.code == 65


def test_without_playwright_it_says_how_to_get_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright", None)
    flows = checks(run("doctor", "--json"))["flows"]
    assert "no Playwright" in flows["text"]
    assert flows["advice"] == "pip install 'athand[browser]'"
    refused = run("flows", "setup-browser")
    assert (refused.code, refused.out) == (69, "")
    assert "pip install 'athand[browser]'" in refused.err

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from tests.tools.servers.kit import write_config

from athand.adapters.cli.main import cli
from athand.config import setting_names
from athand.embed.models import MODELS


@pytest.fixture
def file(run):
    path = Path(run("config", "path").out.strip())
    path.parent.mkdir(parents=True)
    return path


def test_each_setting_says_where_it_comes_from(run, file, monkeypatch):
    file.write_text('device = "cpu"\n')
    monkeypatch.setenv("ATHAND_SEARCH_LIMIT", "7")
    found = run("config", "--json").json
    assert list(found) == setting_names()
    assert found["device"] == {"value": "cpu", "from": "file"}
    assert found["search_limit"] == {"value": 7, "from": "ATHAND_SEARCH_LIMIT"}
    assert found["model"] == {"value": "athand-static-1", "from": "default"}
    assert "ATHAND_SEARCH_LIMIT" in run("config").out
    assert run("config", "get", "device").out == "cpu\n"


def test_a_setting_is_written_and_the_comments_stay(run, file):
    file.write_text('# mine\ndevice = "cpu" # slow but sure\n')
    file.chmod(0o644)
    assert run("config", "set", "model", "bge-small-en-v1.5").code == 0
    assert run("config", "set", "device", "auto").code == 0
    assert file.read_text() == '# mine\ndevice = "auto" # slow but sure\nmodel = "bge-small-en-v1.5"\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run("config", "unset", "model", "--json").json["from"] == "default"
    assert file.read_text() == '# mine\ndevice = "auto" # slow but sure\n'
    assert [each.name for each in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("modell", "x", "Did you mean model?"),
        ("search_limit", "many", "must be a whole number"),
        ("no_cache", "perhaps", "must be 1 or 0"),
        ("device", "tpu", "must be auto, cpu or gpu"),
        ("tool_policy", "none", "must be first, quarantine or accept"),
        ("search_threshold", "nan", "from 0 to 1"),
        ("flow_window_hours", "inf", "from 0 to 1,000,000"),
        ("search_limit", "0", "from 1 to 100"),
        ("model", "", "model is empty"),
        ("data_dir", "\udcff", "not valid Unicode"),
    ],
)
def test_what_is_no_setting_is_not_written(run, name, value, message):
    refused = run("config", "set", name, value)
    assert refused.code == 2
    assert message in refused.err
    assert not Path(run("config", "path").out.strip()).exists()


def test_a_broken_file_is_not_touched(run, file):
    file.write_text("model = \n")
    assert run("config", "set", "device", "cpu").code == 2
    assert file.read_text() == "model = \n"


def test_secrets_are_not_shown(run, monkeypatch):
    run("config", "set", "embeddings_key", "k3y-of-mine")
    monkeypatch.setenv("ATHAND_STORE", "postgresql://me:pa55@host/db?password=pa55")
    for arguments in (("config",), ("config", "--json"), ("config", "get", "store"), ("config", "-q")):
        shown = run(*arguments)
        assert "k3y-of-mine" not in shown.out
        assert "pa55" not in shown.out + shown.err
        assert "me:•••@host" in shown.out or "store" not in arguments


@pytest.mark.parametrize(
    "address", ["https://bob:hunter2@host/v1", "https://bob:a@hunter2@h/v1", "https://h?password=hunter2"]
)
def test_a_password_in_an_address_is_not_shown(run, address):
    assert "hunter2" not in run("config", "set", "embeddings_url", address).err
    shown = run("config"), run("config", "--json"), run("config", "get", "embeddings_url")
    assert "hunter2" not in "".join(each.out + each.err for each in shown)
    assert "•••" in shown[2].out


def test_a_variable_that_wins_over_the_file_is_named(run, monkeypatch):
    monkeypatch.setenv("ATHAND_DEVICE", "cpu")
    assert "ATHAND_DEVICE is set and wins" in run("config", "set", "device", "gpu").err


def test_names_of_models_are_whole_on_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("models").out
    assert all(name in shown for name in MODELS)
    assert max(map(len, shown.splitlines())) <= 80


def test_models_are_listed_and_chosen(run):
    listed = {each["name"]: each for each in run("models", "--json").json}
    assert [*listed] == [*MODELS]
    assert listed["athand-static-1"]["is_current"]
    assert listed["athand-static-1"]["bytes"] > 1_000_000
    assert not listed["all-MiniLM-L6-v2"]["is_present"]
    assert "bundled" in run("models").out
    assert run("models", "use", "all-MiniLM").code == 2
    used = run("models", "use", "all-MiniLM-L6-v2")
    assert "athand reindex" in used.err
    assert run("models", "-q", "--model", "openai:mine").out.splitlines()[-1] == "openai:mine"
    assert [each["name"] for each in run("models", "--json").json if each["is_current"]] == ["all-MiniLM-L6-v2"]
    assert run("models", "download", "athand-static-1", "--json").json["dimensions"] == 384


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete(run, shell):
    made = run("completion", shell)
    assert made.code == 0
    assert "_ATHAND_COMPLETE" in made.out
    assert made.err == ""


def complete(words):
    line = {"_ATHAND_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    shown = subprocess.run(["athand"], env={**_path(), **line}, capture_output=True, text=True, timeout=60)
    return [each.split(",")[1] for each in shown.stdout.split()]


def _path():
    return {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": os.environ["HOME"]}


def test_a_shell_completes_what_the_store_holds(run, add, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Notes")
    memory = add("Staging deploys need the VPN", "--project", "shop")
    session = run("memory", "start-session", "--project", "shop", "-q").out.strip()
    run("docs", "add", str(notes))
    run("tools", "load", str(write_config(tmp_path / "servers.json", ghost={"command": "/no/such/program"})))

    def complete_here(*words):
        found = ShellComplete(cli, {}, "athand", "_ATHAND_COMPLETE").get_completions([*words[:-1]], words[-1])
        return [each.value for each in found]

    assert complete_here("memory", "list", "--project", "s") == ["shop"]
    assert complete_here("memory", "list", "--project", "x") == []
    assert complete_here("memory", "show", "") == [memory]
    assert complete_here("memory", "end-session", session[:4]) == [session]
    assert complete_here("memory", "search", "x", "--in-session", "") == [session]
    assert complete_here("docs", "show", "n") == ["notes"]
    assert complete_here("tools", "refresh", "") == ["ghost"]
    assert complete_here("flows", "show", "") == []
    elsewhere = tmp_path / "elsewhere.db"
    assert complete_here("--store", str(elsewhere), "memory", "list", "--project", "") == []
    assert not elsewhere.exists()


def test_names_are_completed():
    assert complete(["athand", "install", "cl"]) == ["claude-code", "claude-desktop", "cline"]
    assert complete(["athand", "search", "--corpus", "d"]) == ["documents"]
    assert "search_limit" in complete(["athand", "config", "get", "search_"])

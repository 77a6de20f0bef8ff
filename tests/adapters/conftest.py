import io
import sys

import pytest
from tests.tools.patience import patience_with_this_machine  # noqa: F401 - for all tests of this folder
from tests.tools.servers.kit import FILES, Board, write_config


@pytest.fixture
def add(run):
    def add(text, *arguments):
        added = run("memory", "add", text, "--json", *arguments)
        assert added.code == 0, added.err
        return added.json["id"]

    return add


@pytest.fixture
def pipe(monkeypatch):
    """Gives bytes to the next command's standard input."""

    def pipe(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return pipe


@pytest.fixture
def tokens(run, add):
    """What is known of tokens: an old fact, the one that took its place, and a decision, in one project."""
    add("Auth tokens rotate every 24 h", "--project", "shop", "--id", "old", "--created-at", "2024-11-09")
    run("memory", "start-session", "--project", "shop", "--id", "audit", "--started-at", "2024-11-12")
    new = "Auth tokens rotate every 12 h since the audit"
    add(new, "--project", "shop", "--id", "new", "--created-at", "2024-11-12T08:00", "--session", "audit")
    add("Decided to cache tokens per worker", "--project", "shop", "--id", "cache", "--created-at", "2024-11-12T09:00")
    run("memory", "supersede", "old", "new")
    run("memory", "end-session", "audit", "--summary", "audit follow-up")


@pytest.fixture
def answer(monkeypatch):
    """Somebody sits at the terminal, and gives this answer to every question; meanwhile something may happen."""

    def answer(said, meanwhile=lambda: None):
        monkeypatch.setattr("click.termui.visible_prompt_func", lambda prompt="": meanwhile() or said)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)

    return answer


@pytest.fixture
def user_file(tmp_path):
    """The user's own file of servers."""
    return tmp_path / "xdg_config_home" / "athand" / "mcp.json"


@pytest.fixture
def board(tmp_path, user_file):
    """A server that has files, which the user's own file names."""
    made = Board(tmp_path / "files.json", FILES)
    write_config(user_file, files=made.entry())
    return made

"""Stored text steers no terminal: no command prints what is not seen, or shows text in another order."""

import ast
import re
from pathlib import Path

import pytest

import athand.adapters.cli

HOSTILE = "beans \x1b[31mred\x1b]0;title\x07 \x9b2J \u202egnp.exe\u202c zero\u200bwidth \u2066left\u2069 \ufeffend"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@pytest.fixture
def hostile(run, add, tmp_path):
    """Hostile text in everything that can be stored from the shell."""
    add(HOSTILE, "--project", "shop", "--id", "m", "--author", "eve", "--summary", HOSTILE, "--type", "decision")
    run("memory", "start-session", "--project", "shop", "--id", "s")
    run("memory", "end-session", "s", "--summary", HOSTILE)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text(f"# {HOSTILE}\n\n{HOSTILE}\n")
    assert run("docs", "add", str(tmp_path / "notes")).code == 0


COMMANDS = [
    *["memory list", "memory show m", "memory search beans", "memory search beans --explain", "memory timeline m"],
    *["memory brief --project shop", "memory sessions", "memory related m", "memory update m --tag a", "search beans"],
    *["docs search beans", "docs list notes", "docs show notes a.md", "docs find beans", "docs status"],
    *[
        "memory stats",
        "memory list --json",
        "search beans --json",
        "docs search beans --json",
    ],
    *["memory brief --project shop --json", "memory show m --json", "memory list -q"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_stored_does_not_steer_the_terminal(run, hostile, command):
    shown = run(*command.split())
    assert (shown.code, bool(shown.out + shown.err)) == (0, True)
    assert STEERING.findall(shown.out.replace("\t", "") + shown.err) == []


def test_json_keeps_the_text_as_it_is(run, hostile):
    assert run("memory", "show", "m", "--json").json["content"] == HOSTILE


def test_an_error_does_not_steer_the_terminal(run):
    failed = run("memory", "show", "\u202e\x1b[2J")
    assert failed.code
    assert STEERING.findall(failed.err) == []


def test_every_command_prints_through_the_one_function_that_escapes():
    folder = Path(athand.adapters.cli.__file__).parent
    found = {
        f"{path.name}: {ast.unparse(node.func)}"
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "click.echo", "click.secho")
    }
    assert found == {"words.py: click.echo"}

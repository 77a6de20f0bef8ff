"""The documents say what is true: their Python runs, their commands exist, the command reference is current."""

import re
import shlex
import subprocess
import time
from pathlib import Path

import click
import pytest

from athand.adapters.cli.main import cli
from athand.flows.replay import player

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = ROOT / "docs" / "cli.md"
SERVER = "postgresql://me@db.example.com/athand"  # what the documents call a server: here, a real one


def blocks(kind):
    for page in PAGES:
        for number, block in enumerate(re.findall(rf"```{kind}\n(.*?)```", page.read_text("utf-8"), re.DOTALL), 1):
            yield pytest.param(block, id=f"{page.name}-{number}")


class Hurrying:
    """A clock that counts looks at a page, so that a replay gives up what is gone after a few, on any machine."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        time.sleep(seconds)
        self.now += 10 * seconds


@pytest.mark.parametrize("code", [*blocks("python")])
def test_python_examples_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(player, "time", Hurrying())
    exec(compile(code, "example", "exec"), {})


@pytest.mark.parametrize("block", [*blocks("sh")])
def test_shell_examples_work(block, run, request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if SERVER in block:
        block = block.replace(SERVER, request.getfixturevalue("postgres_url"))
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
        elif words and words[0] == "athand":
            outcome = run(*words[1:])
            assert outcome.code == 0, (line, outcome.err)
        elif words and words[0] in ("mkdir", "echo"):
            subprocess.run(["sh", "-c", line], check=True)
        elif words and words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def shown_commands():
    """The commands of blocks that only show: servers, browsers, other machines. Those of the reference are its own."""
    for page in PAGES:
        if page != REFERENCE:
            for block in re.findall(r"```text\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
                for line in block.replace("\\\n", " ").splitlines():
                    for part in re.split(r"&&|\||&$", re.split(r" #| < ", line)[0].strip()):
                        if re.match(r"(\$ )?athand [a-z-]", part.strip()):
                            yield pytest.param(part.strip().removeprefix("$ "), id=f"{page.name}-{part.strip()[:60]}")


@pytest.mark.parametrize("line", [*shown_commands()])
def test_commands_that_are_only_shown_could_be_typed(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("cert.pem", "key.pem"):
        Path(file).touch()
    command, words, context = cli, shlex.split(line)[1:], None
    while isinstance(command, click.Group):
        context = command.make_context(command.name, words, context)
        _, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
    command.make_context(command.name, words, context)


def reference(command=cli, parent=None, name="athand"):
    """The help of a command and of all below it, as Markdown."""
    context = click.Context(command, parent, name, terminal_width=100, **command.context_settings)
    page = f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            page += "\n" + reference(command.get_command(context, each), context, each)
    return page if parent else f"# Command line\n\nThe help of every command; a test keeps this page current.\n\n{page}"


def test_the_command_reference_is_current():
    assert REFERENCE.read_text("utf-8") == reference(), "run: .venv/bin/python tests/test_docs.py"


def test_links_between_the_pages_lead_somewhere():
    for page in (*PAGES, ROOT / "AGENTS.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_picture_fetches_nothing_from_elsewhere():
    picture = (ROOT / "docs" / "picture.svg").read_text("utf-8")
    assert not re.search(r"url\(\W*http|href\W*http|@import", picture)


if __name__ == "__main__":
    REFERENCE.write_text(reference(), "utf-8")

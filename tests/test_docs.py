"""The documents say what is true: their Python runs, their commands exist, the command reference is current."""

import re
import shlex
import subprocess
import time
from copy import copy
from dataclasses import fields
from pathlib import Path

import click
import pytest
from scripts import tree

from athand.adapters.cli.main import cli
from athand.adapters.cli.session import Session
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


def reference():
    """Every command's help as one Markdown page: a contents list, the common options once, then each command."""
    listed = [*commands()]
    contents = "".join(entry(context) for context in listed if context.parent is None or context.parent.parent is None)
    parameters = common_parameters()
    formatter = listed[0].make_formatter()
    click.Command("athand", params=parameters, add_help_option=False).format_options(listed[0], formatter)
    return (
        "\n".join(
            [
                "# Command line\n",
                "The help of every command; a test keeps this page current.\n",
                f"- [Common options](#common-options)\n{contents}",
                "## Common options\n",
                "Every command takes them, behind its name or right behind `athand`. "
                "`-h` or `--help` shows the help of any command.\n",
                f"```text\n{formatter.getvalue()}```\n",
                *(
                    f"## {context.command_path}\n\n```text\n{own_help(context, parameters)}\n```\n"
                    for context in listed
                ),
            ]
        ).removesuffix("\n")
        + "\n"
    )


def commands(command=cli, parent=None, name="athand"):
    """A context for a command and for all below it."""
    context = click.Context(command, parent, name, terminal_width=100, **command.context_settings)
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            yield from commands(command.get_command(context, each), context, each)


def common_parameters():
    return [each for each in cli.params if each.name in {field.name for field in fields(Session)}]


def entry(context):
    """A line of the contents list: a command, and those below it."""
    path = context.command_path
    if context.parent is None or not isinstance(context.command, click.Group):
        return f"- {link(path, path)}\n"
    below = (link(name, f"{path} {name}") for name in context.command.list_commands(context))
    return f"- {link(path, path)}: {', '.join(below)}\n"


def link(text, heading):
    return f"[{text}](#{heading.replace(' ', '-')})"


def own_help(context, common):
    """The help of a command without the options that every command takes."""
    command = copy(context.command)
    command.params = [each for each in command.params if not any(same_option(each, other) for other in common)]
    command.add_help_option = False
    return command.get_help(context)


def same_option(one, other):
    return isinstance(one, click.Option) and (one.opts, one.help) == (other.opts, other.help)


def test_every_command_takes_the_common_options():
    common = common_parameters()
    for context in commands():
        own = [each for each in context.command.params if any(same_option(each, other) for other in common)]
        assert len(own) == len(common) or isinstance(context.command, click.Group), context.command_path


def test_the_command_reference_is_current():
    assert REFERENCE.read_text("utf-8") == reference(), "run: .venv/bin/python tests/test_docs.py"


def test_links_between_the_pages_lead_somewhere():
    for page in (*PAGES, ROOT / "AGENTS.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_tree_of_the_source_is_current():
    assert tree.PAGE.read_text("utf-8") == tree.page(), "run: python -m scripts.tree"


def test_every_module_and_package_of_the_tree_says_what_it_holds():
    silent = [line for line in tree.lines(tree.PACKAGE) if len(line.split(maxsplit=1)) == 1]
    assert silent == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_picture_fetches_nothing_from_elsewhere():
    picture = (ROOT / "docs" / "picture.svg").read_text("utf-8")
    assert not re.search(r"url\(\W*http|href\W*http|@import", picture)


if __name__ == "__main__":
    REFERENCE.write_text(reference(), "utf-8")

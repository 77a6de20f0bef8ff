"""Every command: its help teaches, it can speak JSON, and it knows what it does not know."""

import subprocess
import sys

import click
import pytest

from athand.adapters.cli.main import _COMMANDS, cli
from athand.adapters.cli.options import make_option


def walked(command=cli, path=()):
    """Every command below a group, with the words that lead to it."""
    context = click.Context(command, info_name=path[-1] if path else "athand")
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        yield (*path, name), found
        if isinstance(found, click.Group):
            yield from walked(found, (*path, name))


EVERY = dict(walked())
LEAVES = {path: command for path, command in EVERY.items() if not isinstance(command, click.Group)}


def test_the_list_of_commands_says_what_their_own_help_says():
    context = click.Context(cli)
    for name, (_, said) in _COMMANDS.items():
        assert cli.get_command(context, name).get_short_help_str(200) == said, name


def test_every_command_has_json_and_quiet_and_teaches():
    for path, command in LEAVES.items():
        options = {word for parameter in command.params for word in getattr(parameter, "opts", ())}
        assert {"--json", "--quiet", "--store"} <= options, path
        assert command.help, path
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        undocumented = [each for each in command.params if isinstance(each, click.Option) and not each.help]
        assert not undocumented, (path, undocumented)
        if arguments:
            assert "\n" in command.help or len(arguments) == 1, path


def test_help_of_every_command_can_be_shown(run):
    for path in EVERY:
        shown = run(*path, "--help")
        assert shown.code == 0, path
        assert shown.out.startswith("Usage: athand"), path


def test_an_unknown_option_is_a_mistake_of_usage(run):
    for path in LEAVES.keys() - {("hook",)}:  # another version may have set a hook up: it fails nobody
        refused = run(*path, "--no-such-option")
        assert (refused.code, refused.out) == (2, ""), path
        assert "--no-such-option" in refused.err, path


def test_the_list_of_commands_imports_none_of_them():
    code = "import sys; from athand.adapters.cli.main import cli; cli(['--help'], standalone_mode=False); " + (
        "print([each for each in sys.modules if each.startswith('athand.adapters.cli.')], file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "doctor" in shown.stdout
    shared = {f"athand.adapters.cli.{name}" for name in ("main", "session", "words", "plain_writer")}
    assert set(eval(shown.stderr)) <= shared


def test_the_list_of_a_subjects_commands_loads_no_engine():
    code = (
        "import sys; from athand.adapters.cli.main import cli\n"
        "for name in ('memory', 'docs', 'tools', 'flows'): cli([name, '--help'], standalone_mode=False)\n"
        "print([name for name in ('numpy', 'apsw', 'rich', 'mcp') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "supersede" in shown.stdout and "refresh" in shown.stdout
    assert shown.stdout.strip().endswith("[]")


def test_an_option_has_type_range_choices_default_and_help_of_the_parameter_of_its_service():
    limit = make_option("documents:Documents.search_content", "limit")
    assert (limit.default, limit.help) == (10, "Maximum number of results per page.")
    with pytest.raises(click.BadParameter, match="it must be a whole number from 1 to 50, not 51"):
        limit.type_cast_value(click.Context(cli), "51")
    mode = make_option("memories:Memories.search", "mode")
    assert mode.type.choices == ("hybrid", "semantic", "keyword")
    tags = make_option("memories:Memories.search", "tags")
    assert tags.opts == ["--tag"] and tags.multiple
    assert make_option("memories:Memories.search", "reinforce").secondary_opts == ["--no-reinforce"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("memory", "show", "nope"), 1),
        (("search",), 2),
        (("import", "{not_a_zip}"), 65),
        (("tools", "search", "x", "--store", "{not_a_zip}"), 65),
        (("models", "download", "all-MiniLM-L6-v2"), 69),
        (("backup", "/proc/nowhere/x.db"), 74),
        (("search", "x", "--store", "/proc/nowhere/x.db"), 1),
        (("memory", "add", "x", "--store", "/proc/nowhere/x.db"), 74),
    ],
)
def test_exit_codes_tell_what_went_wrong(run, tmp_path, monkeypatch, arguments, code):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    broken = tmp_path / "broken"
    broken.write_bytes(b"neither a database nor an archive" * 100)
    refused = run(*(word.replace("{not_a_zip}", str(broken)) for word in arguments))
    assert refused.code == code, refused.err
    assert refused.out == ""
    assert refused.err.count("Error") == 1
    assert "Traceback" not in refused.err


def test_no_color_means_no_color(run, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("status").out + run("doctor", "--help").out

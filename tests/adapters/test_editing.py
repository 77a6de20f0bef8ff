"""Entries put into files of others and taken out again: nothing else in them changes."""

import os
import random
import tomllib
from pathlib import Path

import pytest

from athand.adapters.editing import jsonc, toml
from athand.adapters.editing.files import replace_file
from athand.errors import Conflict, Unavailable
from athand.tools.config_files import parse_object

PATH = ("mcpServers", "athand")
ENTRY = {"command": "x", "args": ["mcp"]}
GAPS = (" ", "\n", "  ", "\t", '// c " } ,\n', '/* x ] " */', "\r\n", "")
SCALARS = ("null", "-7", "true", "1.5e3", '"a"', '"{"', '"}\\""', '"//x"', '"\\\\"', '"é"', '"/*"')


def gap(dice):
    return "".join(dice.choice(GAPS) for _ in range(dice.randrange(3)))


def value(dice, depth):
    if depth > 3 or dice.random() < 0.7:
        return dice.choice(SCALARS)
    if dice.random() < 0.5:
        return f"[{gap(dice)}{','.join(value(dice, depth + 1) + gap(dice) for _ in range(dice.randrange(3)))}]"
    return an_object(dice, depth + 1)


def an_object(dice, depth=0):
    members = []
    for name in dice.sample(("a", "b", "mcpServers", "athand", "x y"), dice.randrange(4)):
        inside = an_object(dice, depth + 1) if name == "mcpServers" and depth == 0 else value(dice, depth + 1)
        members.append(f'"{name}"{gap(dice)}:{gap(dice)}{inside}{gap(dice)}')
    last = "," if members and dice.random() < 0.3 else ""
    return f"{{{gap(dice)}{(',' + gap(dice)).join(members)}{last}{gap(dice)}}}"


def parsed(text):
    return parse_object(text.encode(), Path("file"))


def test_whatever_a_file_looks_like_only_the_entry_changes():
    for seed in range(600):
        dice = random.Random(seed)
        text = f"{gap(dice)}{an_object(dice)}{gap(dice)}"
        before = parsed(text)
        put = jsonc.put(text, PATH, ENTRY)
        others = {name: each for name, each in before.get("mcpServers", {}).items() if name != "athand"}
        assert parsed(put) == {**before, "mcpServers": {**others, "athand": ENTRY}}, seed
        assert parsed(jsonc.remove(put, PATH)) == {**before, "mcpServers": others}, seed


def test_the_indentation_of_the_file_is_kept():
    text = '{\r\n\t"mcpServers": {\r\n\t\t"a": {}\r\n\t}\r\n}\r\n'
    put = jsonc.put(text, PATH, {"command": "x"})
    assert '\r\n\t\t"athand": {\r\n\t\t\t"command": "x"\r\n\t\t}\r\n\t}\r\n}\r\n' in put
    assert jsonc.remove(put, PATH) == text


@pytest.mark.parametrize("text", ["", "a = 1", "a = 1\n[b]\nc = 2\n", "# only words\n", '[x]\ny = """\n[mcp]\n"""\n'])
def test_a_table_comes_and_goes_without_a_trace(text):
    put = toml.put_table(text, PATH, {"command": 'C:\\x "y"\x7f', "args": ["é"], "h": {"A-b": "c"}})
    assert tomllib.loads(put)["mcpServers"]["athand"]["command"] == 'C:\\x "y"\x7f'
    assert toml.remove_table(put, PATH).rstrip("\n") == text.rstrip("\n")
    assert toml.put_table(put, PATH, {"command": "z"}).count("[mcpServers.athand]") == 1


CODEX = {
    "an array over several lines": 'model = "o5" # mine\nnotify = [\n  "bash", # the shell\n  "-c",\n]\n\n[z]\nb = 1\n',
    "a multi-line string": 'note = """\n[mcpServers.athand]\ncommand = 1\n"""\n\n# about z\n[z]\nb = 1\n',
    "an inline table": 'mcpServers = { gh = { command = "gh" } } # mine\n[z]\nb = 1\n',
    "an empty inline table": "mcpServers = {}\n",
    "inline tables in a table": '[mcpServers]\ngh = { command = "gh", args = [\n  "-v", # loud\n] }\n',
    "dotted keys": 'mcpServers.gh.command = "gh" # mine\nmcpServers.gh.args = []\n\n[z]\nb = 1\n',
    "dotted keys in a table": '[mcpServers]\ngh.command = "gh"\n# more\ngh.args = []\n',
    "tables out of order": "[mcpServers.gh]\na = 1\n\n# about z\n[z]\nb = 1\n\n[mcpServers.time]\nc = 2\n",
    "quoted names": "[\"mcpServers\" . 'g h']\na = 1\n",
    "an array of tables": "[[z]]\nb = 1\n\n[[z]]\nb = 2 # two\n",
    "an array of tables behind servers": '[mcpServers.gh]\ncommand = "gh"\n\n[[z]]\nb = 1 # one\n[z.y]\nc = 1\n',
}


def has_lines(text, lines, within=None):
    """Whether these lines stand in a text in this order, to the byte; one that has `within` may have changed."""
    rest = iter(text.splitlines(keepends=True))
    return all(
        any(line == each or (within and within in line) for each in rest) for line in lines.splitlines(keepends=True)
    )


@pytest.mark.parametrize("text", CODEX.values(), ids=CODEX)
def test_every_way_to_write_toml_gets_the_entry_and_comes_back_to_the_byte(text):
    before = tomllib.loads(text)
    put = toml.put_table(text, PATH, ENTRY)
    assert tomllib.loads(put) == {**before, "mcpServers": {**before.get("mcpServers", {}), "athand": ENTRY}}
    changed = toml.put_table(put, PATH, {"url": "x", "http_headers": {"A-b": "c"}})
    assert tomllib.loads(changed)["mcpServers"]["athand"] == {"url": "x", "http_headers": {"A-b": "c"}}
    assert has_lines(put, text, within="mcpServers = {")
    assert has_lines(changed, text, within="mcpServers = {")
    assert toml.remove_table(changed, PATH) == text


@pytest.mark.parametrize("text", CODEX.values(), ids=CODEX)
def test_every_way_to_write_toml_gets_a_setting_and_comes_back_to_the_byte(text):
    before = tomllib.loads(text)
    put = toml.put_key(text, "a", "new")
    assert tomllib.loads(put) == {**before, "a": "new"}
    changed = toml.put_key(put, "a", ["x"])
    assert tomllib.loads(changed) == {**before, "a": ["x"]}
    assert has_lines(put, text)
    assert has_lines(changed, text)
    assert toml.remove_key(changed, "a") == text


def test_a_new_setting_leaves_the_comment_of_a_table_above_it():
    text = "a = 1\n\n# about z\n[z]\nb = 1\n"
    assert toml.put_key(text, "c", 2) == "a = 1\nc = 2\n\n# about z\n[z]\nb = 1\n"


@pytest.mark.parametrize(
    "entry",
    [
        '[mcpServers.athand]\ncommand = "old"\nargs = [\n  "mcp", # serve\n]\n[mcpServers.athand.env]\nA = "b"\n',
        '[mcpServers]\nathand.command = "old"\nathand.env.A = "b"\n',
        '[mcpServers]\nathand = { command = "old", env = { A = "b" } }\n',
        '[mcpServers.athand.env]\nA = "b"\n\n[y]\n[mcpServers.athand]\ncommand = """\nold\n"""\n',
    ],
)
def test_an_entry_is_replaced_and_removed_however_it_is_written(entry):
    text = f"a = 1 # one\n\n{entry}\n# about z\n[z]\nb = 1 # two\n"
    before = tomllib.loads(text)
    put = toml.put_table(text, PATH, ENTRY)
    assert tomllib.loads(put) == {**before, "mcpServers": {"athand": ENTRY}}
    removed = toml.remove_table(put, PATH)
    others = {name: each for name, each in tomllib.loads(removed).items() if name != "mcpServers"}
    assert others == {name: each for name, each in before.items() if name != "mcpServers"}
    for new in (put, removed):
        assert new.startswith("a = 1 # one\n")
        assert "# about z\n[z]\nb = 1 # two\n" in new


def test_remarks_in_an_entry_stay_when_it_is_replaced():
    text = '[mcpServers.athand]\n# how it starts\ncommand = "x" # mine\nenv.A = "b"\n'
    put = toml.put_table(text, PATH, {"command": "y", "args": ["mcp"]})
    assert put == '[mcpServers.athand]\n# how it starts\ncommand = "y" # mine\nargs = ["mcp"]\n'


@pytest.mark.parametrize("old", ["[\n  1, # one\n  2,\n]", "{ b = 1 }", '"""\n[c]\na = 2\n"""'])
def test_a_setting_over_several_lines_is_replaced_and_removed(old):
    text = f"# mine\nx = 1\na = {old} # why\ny = 2\n"
    assert toml.put_key(text, "a", "new") == '# mine\nx = 1\na = "new" # why\ny = 2\n'
    assert toml.remove_key(text, "a") == "# mine\nx = 1\ny = 2\n"


def test_a_file_that_has_just_changed_is_not_written_over(tmp_path):
    file = tmp_path / "config.json"
    file.write_text("new")
    with pytest.raises(Conflict, match="just been changed"):
        replace_file(file, b"mine", instead_of=b"old")
    assert file.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["config.json"]


def test_a_place_that_cannot_be_written_is_named():
    with pytest.raises(Unavailable, match="/proc/nowhere"):
        replace_file(Path("/proc/nowhere/config.json"), b"", instead_of=None)


def test_the_ends_of_lines_are_kept():
    text = "a = 1\r\n\r\n[b]\r\nc = 2\r\n"
    for new in (toml.put_table(text, PATH, {"command": "x"}), toml.put_key(text, "a", 3), toml.put_key(text, "d", 4)):
        assert "\n" not in new.replace("\r\n", "")


def test_what_is_no_file_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unavailable, match="is no file"):
        replace_file(tmp_path / "pipe", b"new", instead_of=b"")
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_that_may_not_be_written_is_left_alone(tmp_path):
    file = tmp_path / "config.json"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(Unavailable, match="chmod u\\+w"):
        replace_file(file, b"new", instead_of=b"old")
    assert file.read_text() == "old"

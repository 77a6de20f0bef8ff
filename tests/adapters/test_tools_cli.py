"""`athand tools`: servers come from files, tools are found, typed and called."""

import json

import pytest
from tests.tools.servers.kit import FILES, READ, WEATHER, Board, a_tool, write_config

from athand.adapters.cli import tools, tools_servers
from athand.tools.clients import CLIENTS
from athand.tools.model import STATES
from athand.tools.stubs import LANGUAGES


def found(run, *words):
    shown = run("tools", "search", *words, "--json")
    assert shown.code == 0, shown.err
    return [hit["id"] for hit in shown.json["hits"]]


def test_the_first_search_connects_to_the_users_servers(run, board):
    shown = run("tools", "search", "read the contents of a file")
    assert shown.code == 0
    first = shown.out.splitlines()[1]
    assert first.lstrip().startswith("files__read_file")
    assert "█" in first
    assert "Read the contents of a file." in first
    assert "has " in shown.out.splitlines()[2]
    assert "3 in 1 server" in shown.err
    assert len(board.starts) == 1
    run("tools", "search", "read a file")
    assert len(board.starts) == 1, "what was listed once is known"


def test_nothing_that_fits_is_no_failure_and_names_the_closest(run, board):
    shown = run("tools", "search", "rdfl")
    assert (shown.code, shown.out) == (0, "")
    assert "No tool matches." in shown.err
    assert "files__read_file" in shown.err


def test_a_typo_is_mentioned(run, board):
    assert "contnts is unknown here; searched for" in run("tools", "search", "contnts of something").err


def test_without_servers_one_is_told_how_to_begin(run):
    for command in (("search", "x"), ("list",), ("servers",)):
        shown = run("tools", *command)
        assert shown.code == 0
        assert "athand tools import" in shown.err


def test_a_server_that_fails_is_named_with_the_reason_and_the_others_answer(run, board, user_file):
    write_config(user_file, files=board.entry(), dead={"command": "no-such-thing"})
    shown = run("tools", "search", "read a file")
    assert "dead is not available: command not found: no-such-thing" in shown.err
    assert "files__read_file" in shown.out
    assert run("tools", "servers").code == 0
    checked = run("tools", "servers", "--check")
    assert checked.code == 69
    assert "dead: command not found" in checked.out
    assert "connected" in checked.out


def test_a_call_does_not_wait_for_servers_that_do_not_matter(run, board, user_file, tmp_path):
    run("tools", "list")
    other = Board(tmp_path / "other.json", WEATHER)
    write_config(user_file, files=board.entry(), weather=other.entry())
    assert run("tools", "call", "files__read_file", "--arg", "path=a").code == 0
    assert run("tools", "describe", "files__read_file").code == 0
    assert other.starts == []
    assert run("tools", "call", "weather__get_alerts").code == 0


def test_quiet_prints_ids_only(run, board):
    shown = run("tools", "search", "read a file", "--limit", "1", "-q")
    assert (shown.out, shown.err) == ("files__read_file\n", "")
    assert run("tools", "servers", "-q").out == "files\n"


# Options and variables of the search: each has an effect.


def test_limit_threshold_and_alpha_have_an_effect(run, board):
    assert len(found(run, "file", "--limit", "1")) == 1
    assert len(found(run, "file", "--limit", "3", "--threshold", "0")) == 3
    assert found(run, "something about the contents", "--threshold", "1") == []
    by_words = run("tools", "search", "file", "--alpha", "0", "--json").json["hits"][0]
    assert by_words["combined"] == pytest.approx(by_words["lexical"])
    by_meaning = run("tools", "search", "file", "--alpha", "1", "--json").json["hits"][0]
    assert by_meaning["combined"] == pytest.approx(by_meaning["semantic"])


@pytest.mark.parametrize("option", [("--limit", "0"), ("--limit", "101"), ("--threshold", "2"), ("--alpha", "-1")])
def test_numbers_out_of_range_are_refused(run, board, option):
    refused = run("tools", "search", "file", *option)
    assert refused.code == 2
    assert "must be" in refused.err


def test_variables_choose_what_is_not_said(run, board, monkeypatch):
    monkeypatch.setenv("ATHAND_SEARCH_LIMIT", "1")
    assert len(found(run, "file")) == 1
    assert len(found(run, "file", "--limit", "2")) == 2
    monkeypatch.setenv("ATHAND_SEARCH_THRESHOLD", "1")
    assert found(run, "something about the contents") == []
    monkeypatch.setenv("ATHAND_SEARCH_THRESHOLD", "0")
    monkeypatch.setenv("ATHAND_SEARCH_ALPHA", "0")
    hit = run("tools", "search", "file", "--json").json["hits"][0]
    assert hit["combined"] == pytest.approx(hit["lexical"])
    monkeypatch.setenv("ATHAND_SEARCH_LIMIT", "many")
    assert run("tools", "search", "file").code == 2


def test_model_and_device_have_an_effect(run, board, monkeypatch):
    assert "No model named 'nope'" in run("tools", "search", "file", "--model", "nope").err
    monkeypatch.setenv("ATHAND_SEARCH_MODEL", "nope")
    assert "No model named 'nope'" in run("tools", "search", "file").err
    monkeypatch.delenv("ATHAND_SEARCH_MODEL")
    monkeypatch.setenv("ATHAND_SEARCH_DEVICE", "abacus")
    refused = run("tools", "search", "file")
    assert refused.code == 2
    assert "device must be auto, cpu or gpu" in refused.err


def test_vectors_are_used_again_unless_the_cache_is_off(run, board, user_file, monkeypatch, tmp_path):
    run("tools", "list")

    def hit_rate_of_another_server(name, *options):
        again = Board(tmp_path / f"{name}.json", FILES)
        run("tools", "remove", "files", "--yes")
        write_config(user_file, files=again.entry())
        run("tools", "list", *options)
        return run("tools", "stats", "--json").json["hit_rate"]

    assert hit_rate_of_another_server("one") == 0.5
    assert hit_rate_of_another_server("two", "--no-cache") == pytest.approx(1 / 3)
    monkeypatch.setenv("ATHAND_SEARCH_NO_CACHE", "1")
    assert hit_rate_of_another_server("three") == 0.25


def test_the_data_folder_can_be_chosen(run, board, tmp_path, monkeypatch):
    monkeypatch.delenv("ATHAND_STORE")
    run("tools", "list", "--data-dir", str(tmp_path / "here"))
    monkeypatch.setenv("ATHAND_DATA_DIR", str(tmp_path / "there"))
    run("tools", "list")
    assert (tmp_path / "here" / "athand.db").is_file()
    assert (tmp_path / "there" / "athand.db").is_file()


def test_a_server_can_be_named(run, board, user_file, tmp_path):
    weather = Board(tmp_path / "weather.json", WEATHER)
    write_config(user_file, files=board.entry(), weather=weather.entry())
    assert all(id_.startswith("weather__") for id_ in found(run, "get it", "--server", "weather", "--threshold", "0"))
    for command in (("list",), ("search", "file"), ("types",), ("approve",)):
        assert "No server 'nope'" in run("tools", *command, "--server", "nope").err


# Outputs


def test_types_are_markdown_with_stubs_of_what_was_found(run, board):
    shown = run("tools", "search", "read a file", "--limit", "1", "--output", "types", "--gateway", "http://gate:7")
    assert shown.out.startswith("| Tool | Confidence | Reason |")
    assert "```typescript" in shown.out
    assert "read_file" in shown.out
    assert "write_file" not in shown.out
    assert '"http://gate:7"' in shown.out
    assert "```python" in run("tools", "search", "read a file", "--output", "python").out
    assert json.loads(run("tools", "search", "read a file", "--output", "json").out)["hits"]
    assert run("tools", "search", "x", "--gateway", "http://gate:7").code == 2


def test_types_write_a_module(run, board, tmp_path):
    shown = run("tools", "types", "files__read_file")
    assert "files__read_file" in shown.out
    assert "files__write_file" not in shown.out
    file = tmp_path / "tools.py"
    written = run("tools", "types", "--server", "files", "--language", "python", "--out", str(file))
    assert "Wrote 3 functions" in written.err
    compile(file.read_text(), "tools.py", "exec")
    assert run("tools", "types").code == 2


def test_a_tool_is_described_in_full(run, board):
    shown = run("tools", "describe", "files__write_file").out
    for part in ("Write text to a file.", "files__write_file", "destroys nothing", "approved", "path", "string"):
        assert part in shown
    assert run("tools", "describe", "files__write_file", "--json").json["input_schema"]["properties"]["path"]
    unknown = run("tools", "describe", "nope")
    assert unknown.code == 1
    assert "athand tools list" in unknown.err


def test_a_list_can_be_narrowed(run, board):
    run("tools", "reject", "files__remove_file")
    assert "files__remove_file" in run("tools", "list", "--state", "rejected").out
    assert run("tools", "list", "--filter", "*__read_*", "-q").out == "files__read_file\n"
    assert "No tool matches." in run("tools", "list", "--filter", "nope*").err


def test_words_of_servers_are_shown_and_not_obeyed(run, board):
    board.write(
        [a_tool("odd", "See [red]this[/red] \x1b[31m\u200b now", {"[bold]x": {"type": "a\x07"}}, annotations=READ)]
    )
    commands = (("list",), ("describe", "files__odd"), ("approve", "files__odd", "--yes"), ("search", "odd"))
    for command in (*(("tools", *each) for each in commands), ("search", "odd")):
        shown = run(*command)
        text = shown.out + shown.err
        assert shown.code == 0, text
        assert "\x1b" not in text
        assert "\u200b" not in text
        assert "<U+200B ZERO WIDTH SPACE>" in text
        assert "[red]this[/red]" in text


# Calls


def test_a_call_prints_the_answer(run, board, pipe):
    for words in (('{"path": "a"}',), ("--arg", "path=a")):
        shown = run("tools", "call", "files__read_file", *words)
        assert json.loads(shown.out) == {"tool": "read_file", "arguments": {"path": "a"}}
    pipe(b'{"path": "from a pipe"}')
    assert "from a pipe" in run("tools", "call", "files__read_file", "-").out
    whole = run("tools", "call", "files__write_file", '{"path": "a"}', "--arg", "text=b=c", "--json").json
    assert whole["tool"] == "files__write_file"
    assert json.loads(whole["content"][0]["text"])["arguments"] == {"path": "a", "text": "b=c"}


def test_arguments_become_what_the_schema_wants(run, board):
    numbers = {"type": "array", "items": {"type": "integer"}}
    board.write([a_tool("count", "Count.", {"numbers": numbers, "fast": {"type": "boolean"}})])
    run("tools", "call", "files__count", "--arg", "numbers=1", "--arg", "numbers=2", "--arg", "fast=true")
    assert board.calls == [["count", {"numbers": [1, 2], "fast": True}]]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (('{"path": ["a"]}',), "path: must be text"),
        (("{oops",), "not JSON"),
        (("{oops", "--arg", "path=a"), "not JSON"),
        (("[1]", "--arg", "path=a"), "must be a JSON object"),
        (("--arg", "path"), "NAME=VALUE"),
    ],
)
def test_wrong_arguments_call_nothing(run, board, words, part):
    refused = run("tools", "call", "files__read_file", *words)
    assert refused.code == 2
    assert part in refused.err
    assert board.calls == []


def test_a_tool_that_fails_is_an_error(run, board):
    board.write([a_tool("fail", "Fail.")])
    failed = run("tools", "call", "files__fail")
    assert failed.code == 1
    assert "the disk is full" in failed.err
    assert run("tools", "stats", "--json").json["failures"] == 1


def test_a_server_that_is_gone_is_unavailable(run, board, user_file):
    run("tools", "list")
    write_config(user_file, files={"command": "no-such-thing"})
    gone = run("tools", "call", "files__read_file", "--arg", "path=a")
    assert gone.code == 69
    assert "command not found" in gone.err
    assert found(run, "read a file")[0] == "files__read_file", "what was listed is found all the same"


def test_a_rule_asks_or_denies(run, board, answer):
    call = ("tools", "call", "files__read_file", "--arg", "path=a")
    assert "after you confirm" in run("tools", "rule", "files__*", "ask").err
    refused = run(*call)
    assert refused.code == 77
    assert "--yes" in refused.err
    assert run(*call, "--yes").code == 0
    answer("n")
    assert run(*call).code == 77
    answer("y")
    assert run(*call).code == 0
    run("tools", "rule", "*__read_*", "deny")
    assert run(*call, "--yes").code == 77
    assert [rule["decision"] for rule in run("tools", "rules", "--json").json] == ["deny", "ask"]
    run("tools", "rule", "*__read_*", "remove")
    assert "files__*" in run("tools", "rules").out
    assert run("tools", "rule", "nope", "remove").code == 1


def test_the_written_out_words_are_those_of_the_engine():
    assert (tools.STATES, tools.LANGUAGES, tools_servers.CLIENTS) == (STATES, LANGUAGES, CLIENTS)


def test_stats_say_what_searching_saves(run, board):
    found(run, "read a file", "--limit", "1")
    shown = run("tools", "stats").out
    for part in ("3 of 1 server", "to list everything", "so far"):
        assert part in shown
    assert run("tools", "stats", "--json").json["searches"] == 1


def test_everything_knows_tools(run, board):
    run("tools", "list")
    assert "files__read_file" in [
        hit["id"] for hit in run("search", "read the contents of a file", "--json").json["hits"]
    ]
    shown = run("search", "read the contents of a file")
    assert "tool " in shown.out
    assert "tools 3" in shown.err
    assert "tools      3 of 1 server" in run("status").out
    assert run("reindex", "--verify", "--json").json == {
        "memories": 0,
        "documents": 0,
        "tools": 3,
        "flows": 0,
        "identical": True,
    }
    assert "3 tools" in run("reindex").err

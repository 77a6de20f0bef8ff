"""Calling tools: arguments that fit, what the user allows, and answers that can be held."""

import dataclasses
import json
import time

import pytest
from tests.engines import one_engine
from tests.tools.patience import LIMIT, Clock
from tests.tools.servers.kit import FILES, MAIL, READ, TEXT, Board, a_tool, write_config
from tests.waiting import PATIENCE

from athand import Athand
from athand.errors import InvalidInput, NotFound, Refused, ToolFailed, Unavailable
from athand.tools.calls import find_decision
from athand.tools.model import Rule

NUMBERS = {
    "n": {"type": "integer"},
    "flags": {"type": "array", "items": {"type": "boolean"}},
    "how": {"enum": ["a", "b"]},
}
ODD_JOBS = (
    a_tool("echo", "Say what was said.", NUMBERS, annotations=READ),
    a_tool("fail", "Always fails.", annotations=READ),
    a_tool("long", "Says a lot.", {"lines": {"type": "integer"}}, annotations=READ),
    a_tool("table", "A table.", {"rows": {"type": "integer"}}, annotations=READ),
    a_tool("environment", "What the server is told.", annotations=READ),
    a_tool("strict", "Wants a name.", {"name": TEXT}, annotations=READ),
)
ODD_JOBS[-1]["inputSchema"] |= {"required": ["name"], "additionalProperties": False}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Two live servers that many tests call."""
    folder = tmp_path_factory.mktemp("known")
    jobs, files = Board(folder / "jobs.json", ODD_JOBS), Board(folder / "files.json", FILES)
    with Athand(":memory:") as opened:
        opened.tools.load(write_config(folder / "mcp.json", jobs=jobs.entry(), files=files.entry()))
        assert opened.tools.wait(PATIENCE)
        yield opened.tools, jobs, files


@pytest.fixture
def jobs(known):
    """A live server that does odd jobs, and was not called yet."""
    tools, tools.made, _ = known
    tools.made.forget_calls()
    return tools


@pytest.fixture
def ruled(known):
    """A live server that has files, and was not called yet; rules about it are taken back."""
    tools, _, tools.made = known
    tools.made.forget_calls()
    yield tools
    for rule in tools.rules():
        tools.rule(rule.pattern, None, catalogue=rule.catalogue)


def test_arguments_arrive_as_they_are_given(jobs):
    arguments = {"n": 3, "flags": [True, False], "how": "a"}
    result = jobs.call("jobs__echo", arguments)
    assert result.value == {"tool": "echo", "arguments": arguments}
    assert json.loads(result.text) == result.value
    assert (result.tool, result.truncated, result.continuation) == ("jobs__echo", False, None)
    assert jobs.made.calls == [["echo", arguments]]


@pytest.mark.parametrize(
    "given",
    ['{"n": "3", "flags": ["true", "false"]}', {"n": "3", "flags": "[true, false]"}, {"n": 3.0, "flags": [1, 0]}],
)
def test_arguments_that_came_as_text_are_made_what_the_schema_wants(jobs, given):
    try:
        jobs.call("jobs__echo", given)
    except InvalidInput:
        assert given["flags"] == [1, 0]  # numbers are no true or false
        return
    assert jobs.made.calls == [["echo", {"n": 3, "flags": [True, False]}]]


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("strict", {}, "name"),
        ("strict", None, "name"),
        ("strict", {"name": "x", "nmae": "y"}, "nmae"),
        ("strict", {"nmae": "y"}, "did you mean 'name'"),
        ("echo", {"n": "three"}, "n"),
        ("echo", {"how": "c"}, '"a", "b"'),
        ("echo", "not json", "arguments"),
        ("echo", [1, 2], "object"),
    ],
)
def test_arguments_that_do_not_fit_are_named_and_nothing_is_called(jobs, tool, given, said):
    with pytest.raises(InvalidInput) as refused:
        jobs.call(f"jobs__{tool}", given)
    assert said in str(refused.value)
    assert '"properties"' in str(refused.value)
    assert jobs.made.calls == []


def test_a_tool_that_fails_says_so(jobs):
    before = jobs.stats()
    with pytest.raises(ToolFailed, match="the disk is full"):
        jobs.call("jobs__fail")
    stats = jobs.stats()
    assert (stats.calls - before.calls, stats.failures - before.failures) == (1, 1)


def test_a_structured_answer_is_the_value(jobs):
    result = jobs.call("jobs__table", {"rows": 4})
    assert result.structured == result.value == {"rows": [0, 1, 2, 3]}
    assert result.text == "see the table"


def test_a_long_answer_is_cut_and_can_be_read_on(jobs):
    whole = jobs.call("jobs__long", {"lines": 1000}).text
    piece = jobs.call("jobs__long", {"lines": 1000}, max_chars=2500)
    pieces = [piece.text]
    while piece.truncated:
        assert len(piece.text) == 2500
        piece = jobs.read_on(piece.continuation, max_chars=2500)
        pieces.append(piece.text)
    assert "".join(pieces) == whole
    assert piece.continuation is None
    assert len(jobs.made.calls) == 2


def test_a_structured_answer_that_is_long_is_cut_too(jobs):
    piece = jobs.call("jobs__table", {"rows": 5000}, max_chars=100)
    assert piece.truncated
    assert piece.structured is None
    text = piece.text
    while piece.truncated:
        piece = jobs.read_on(piece.continuation)
        text += piece.text
    assert json.loads(text) == {"rows": list(range(5000))}


def test_a_piece_can_be_read_twice(jobs):
    cut = jobs.call("jobs__long", max_chars=10)
    assert jobs.read_on(cut.continuation, 50).text == jobs.read_on(cut.continuation, 50).text


@pytest.mark.parametrize("wrong", [0, -1, "5", True, 1.5])
def test_a_size_that_makes_no_sense_is_refused_before_the_call(jobs, wrong):
    with pytest.raises(InvalidInput, match="max_chars"):
        jobs.call("jobs__long", max_chars=wrong)
    cut = jobs.call("jobs__long", max_chars=10)
    with pytest.raises(InvalidInput, match="max_chars"):
        jobs.read_on(cut.continuation, wrong)
    assert len(jobs.made.calls) == 1


def test_the_rests_of_old_answers_are_let_go(jobs):
    first = jobs.call("jobs__long", max_chars=10)
    for _ in range(10):
        jobs.call("jobs__long", max_chars=10)
    with pytest.raises(NotFound, match="Call the tool again"):
        jobs.read_on(first.continuation)
    with pytest.raises(NotFound):
        jobs.read_on("nothing")


# What may be called


@pytest.fixture
def files(tools, live):
    tools.made = live()
    return tools


KINDS = {"read": "files__read_file", "write": "files__write_file", "destructive": "files__remove_file"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("allowed", KINDS)
def test_a_call_of_one_kind_takes_no_other(ruled, kind, allowed):
    assert ruled.describe(KINDS[kind]).kind == kind
    arguments = {"path": "a", "text": "b"} if kind == "write" else {"path": "a"}
    if kind == allowed:
        assert ruled.call(KINDS[kind], arguments, kinds=[allowed])
        return
    with pytest.raises(Refused, match=r"Call it with call_tool\."):
        ruled.call(KINDS[kind], arguments, kinds=[allowed])
    assert ruled.made.calls == []


@one_engine
@pytest.mark.parametrize("said", [{"readOnlyHint": "true"}, {"readOnlyHint": 1}, {"destructiveHint": 0}, {}, None])
def test_what_is_not_said_clearly_counts_as_the_worst(tools, said):
    tools.add("s", [a_tool("t", annotations=said)])
    assert tools.describe("s__t").kind == "destructive"


def outcome(tools, id_="files__read_file", **how):
    try:
        tools.call(id_, {"path": "a"}, **how)
    except Refused as refused:
        return "denied" if "denies" in str(refused) else "asked"
    return "called"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, "called"),
        ({"files__read_file": "allow"}, "called"),
        ({"files__read_file": "deny"}, "denied"),
        ({"files__*": "deny"}, "denied"),
        ({"*": "deny", "files__read_file": "allow"}, "denied"),
        ({"*": "ask", "files__read_file": "allow"}, "asked"),
        ({"*": "ask", "files__*": "deny"}, "denied"),
        ({"files__read": "deny", "*__write*": "deny", "mail__*": "deny"}, "called"),
        ({"files__read_fil?": "deny"}, "denied"),
        ({"FILES__*": "deny"}, "called"),
    ],
)
@pytest.mark.parametrize("catalogue", ["*", "default"])
def test_the_strictest_rule_that_fits_decides(ruled, rules, expected, catalogue):
    for pattern, decision in rules.items():
        ruled.rule(pattern, decision, catalogue=catalogue)
    assert outcome(ruled) == expected
    assert len(ruled.made.calls) == (expected == "called")


def test_a_rule_of_one_catalogue_says_nothing_in_another(files):
    files.rule("*", "deny", catalogue="elsewhere")
    assert outcome(files) == "called"
    files.rule("*", "deny")
    assert outcome(files) == "denied"
    assert [(rule.pattern, rule.decision, rule.catalogue) for rule in files.rules()] == [("*", "deny", "*")]


def test_a_rule_can_be_changed_and_taken_back(files):
    files.rule("files__*", "deny")
    files.rule("files__*", "allow")
    assert outcome(files) == "called"
    files.rule("files__*", None)
    assert files.rules() == []
    with pytest.raises(NotFound, match="athand tools rules"):
        files.rule("files__*", None)
    with pytest.raises(InvalidInput, match="allow"):
        files.rule("files__*", "perhaps")


def test_a_rule_with_a_secret_or_of_any_length_is_refused(files):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    with pytest.raises(InvalidInput) as refused:
        files.rule(f"files__{secret}", "deny")
    assert secret not in str(refused.value) and not files.rules()
    with pytest.raises(InvalidInput, match="256"):
        files.rule("*a" * 200, "deny")


@one_engine
def test_the_worst_pattern_of_a_rule_is_compared_in_a_moment(files):
    tool = dataclasses.replace(files.list()[0], id=f"files__{'a' * 248}")
    rules = [Rule(f"{worst}b", "deny", "*") for worst in ("*a" * 127, "*[!b]" * 51, "[" * 255, "?*" * 127)]
    began = time.thread_time()
    assert find_decision(rules, tool) is None
    assert time.thread_time() - began < 0.3


@one_engine
def test_whoever_is_asked_sees_the_tool_and_the_arguments(files):
    files.rule("*", "ask")
    asked = []

    def confirm(tool, arguments):
        asked.append((tool.id, dict(arguments)))
        return len(asked) > 1

    assert outcome(files, confirm=confirm) == "asked"
    assert files.made.calls == []
    assert outcome(files, confirm=confirm) == "called"
    assert asked == [("files__read_file", {"path": "a"})] * 2
    assert outcome(files) == "asked"


@one_engine
def test_nobody_is_asked_about_what_cannot_be_called(files):
    def confirm(tool, arguments):
        raise AssertionError("nobody must be asked")

    files.rule("*", "ask")
    with pytest.raises(InvalidInput):
        files.call("files__read_file", {"path": {}}, confirm=confirm)
    files.reject("files__read_file")
    assert outcome(files, confirm=confirm) == "asked"


def test_a_disabled_tool_or_server_is_not_called(files):
    files.disable("files__read_file")
    with pytest.raises(Refused, match="athand tools enable files__read_file"):
        files.call("files__read_file", {"path": "a"})
    files.enable("files__read_file")
    files.disable("files")
    with pytest.raises(Refused, match="enable"):
        files.call("files__write_file", {"path": "a", "text": "b"})
    files.enable("files")
    assert files.call("files__read_file", {"path": "a"})
    assert len(files.made.calls) == 1


@one_engine
def test_a_list_without_a_server_can_be_found_and_not_called(stocked):
    with pytest.raises(Unavailable, match="without a server"):
        stocked.call("mail__send_email", {"to": "a", "body": "b"})
    with pytest.raises(Unavailable, match="without a server"):
        stocked.refresh("mail")


def test_a_server_is_started_for_the_call_only(open_tools, board, tmp_path):
    tools, made = open_tools(idle_seconds=LIMIT), board()
    config = write_config(tmp_path / "mcp.json", files=made.entry())
    tools.load(config, connect=False)
    assert made.starts == []
    assert tools.connect_new() == 1
    assert tools.wait(PATIENCE)
    assert tools.servers()[0].state == "connected"
    Clock(tools._running._gateway).advance(LIMIT)
    assert tools.servers()[0].state == "idle"
    assert tools.call("files__read_file", {"path": "a"})
    assert len(made.starts) == 2
    assert tools.connect_new() == 0


@one_engine
def test_the_same_server_in_two_catalogues_is_two_processes(tools, board, tmp_path):
    made = board()
    config = write_config(tmp_path / "mcp.json", files=made.entry())
    for catalogue in ("one", "two"):
        tools.load(config, catalogue=catalogue)
    assert tools.wait(PATIENCE)
    assert len(made.starts) == 2
    tools.remove("files", catalogue="one")
    assert tools.call("files__read_file", {"path": "a"}).tool == "files__read_file"


@one_engine
def test_a_dead_server_does_not_stop_the_others(tools, board, tmp_path):
    made = board()
    dead = {"command": "/nowhere/at/all"}
    tools.load(write_config(tmp_path / "mcp.json", files=made.entry(), dead=dead))
    assert tools.wait(PATIENCE)
    states = {server.name: server for server in tools.servers()}
    assert states["files"].state == "connected"
    assert states["dead"].state == "failing"
    assert states["dead"].reason
    assert tools.call("files__read_file", {"path": "a"})


@one_engine
def test_a_changed_command_is_started_when_the_configuration_is_loaded_again(tools, board, tmp_path):
    one, other = board("one"), board("other", [*FILES, *MAIL])
    config = write_config(tmp_path / "mcp.json", files=one.entry())
    tools.load(config)
    assert tools.wait(PATIENCE)
    write_config(config, files=other.entry())
    tools.load(config)
    assert tools.wait(PATIENCE)
    tools.refresh("files")
    tools.call("files__read_file", {"path": "a"})
    assert (len(one.calls), len(other.calls)) == (0, 1)

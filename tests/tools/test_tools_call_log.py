"""The log of calls: who called what, when, how long it took, how it ended; without secrets, and bounded."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.tools.patience import LIMIT
from tests.tools.servers.kit import READ, TEXT, Board, a_tool, write_config
from tests.waiting import PATIENCE

from athand import Athand
from athand.errors import AthandError, InvalidInput
from athand.tools import call_log
from athand.tools.call_log import render_arguments

JOBS = (
    a_tool("echo", "Say what was said.", {"word": TEXT, "n": {"type": "integer"}}, annotations=READ),
    a_tool("fail", "Always fails.", annotations=READ),
    a_tool("gone", "Is not approved.", annotations=READ),
)
SECRET = "sk-" + "a1B2c3D4e5F6" * 4


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs")
    return write_config(folder / "mcp.json", jobs=Board(folder / "jobs.json", JOBS).entry())


@pytest.fixture
def tools(server):
    with Athand(":memory:") as opened:
        opened.tools.load(server)
        assert opened.tools.wait(PATIENCE)
        yield opened.tools


def call(tools, tool, arguments=None, **more):
    try:
        tools.call(f"jobs__{tool}", arguments, seconds=LIMIT, **more)
    except AthandError:
        return


def test_a_call_is_logged_with_who_when_how_long_and_what(tools):
    before = datetime.now(UTC)
    call(tools, "echo", {"word": "hello"}, caller="ci")
    (entry,) = tools.call_log()
    assert (entry.caller, entry.tool, entry.server, entry.catalogue) == ("ci", "jobs__echo", "jobs", "default")
    assert (entry.outcome, entry.reason, json.loads(entry.arguments)) == ("ok", None, {"word": "hello"})
    assert before <= entry.at <= datetime.now(UTC) and 0 < entry.seconds < LIMIT


def test_how_a_call_ended_is_told_with_the_reason(tools):
    call(tools, "echo", {"n": "many"})
    call(tools, "fail")
    tools.rule("jobs__echo", "deny")
    call(tools, "echo")
    tools.disable("jobs")
    call(tools, "gone")
    ends = [(entry.tool.removeprefix("jobs__"), entry.outcome) for entry in tools.call_log()]
    assert ends == [("gone", "refused"), ("echo", "refused"), ("fail", "failed"), ("echo", "invalid")]
    assert "the disk is full" in tools.call_log(outcome="failed")[0].reason


def test_the_log_is_filtered_and_limited(tools):
    for number in range(3):
        call(tools, "echo", {"n": number})
    call(tools, "fail")
    assert len(tools.call_log(tool="jobs__echo")) == len(tools.call_log(outcome="ok")) == 3
    assert [json.loads(each.arguments)["n"] for each in tools.call_log(tool="jobs__echo", limit=2)] == [2, 1]
    assert tools.call_log(server="nobody") == [] and len(tools.call_log(server="jobs")) == 4
    with pytest.raises(InvalidInput, match="failed"):
        tools.call_log(outcome="bad")


@pytest.mark.parametrize(
    "arguments",
    [
        {"word": SECRET},
        {"word": f"use {SECRET} for this"},
        {"password": "hunter2x"},
        {"headers": {"X-Api-Key": "hunter2x", "deep": [{"clientSecret": "hunter2x"}]}},
        {"apiKey": ["hunter2x"], "pin": 4711},
        json.dumps({"access_token": "hunter2x"}),
        {"word": "<private>hunter2x</private> Authorization: Bearer hunter2xhunter2xhunter2x"},
    ],
)
def test_secrets_in_arguments_are_not_written(arguments):
    written = render_arguments(arguments)
    assert "hunter2x" not in written and SECRET not in written and "4711" not in written


@pytest.mark.parametrize(
    "arguments", [{"word": "x" * 9_000_000}, {f"k{n}": n for n in range(100_000)}, [[[]] * 10] * 10]
)
def test_large_arguments_are_cut(arguments):
    assert len(render_arguments(arguments)) <= 2_001


def test_nesting_without_end_is_cut():
    nested = []
    for _ in range(5_000):
        nested = [nested]
    assert "…" in render_arguments({"word": nested})


def test_old_calls_and_too_many_are_dropped(tools, monkeypatch):
    monkeypatch.setattr(call_log, "MOST_ROWS", 3)
    for number in range(5):
        call(tools, "echo", {"n": number})
        tools.call_log()
    assert [json.loads(each.arguments)["n"] for each in tools.call_log()] == [4, 3, 2]
    now = datetime.now(UTC) + timedelta(days=31)
    monkeypatch.setattr(tools, "now", lambda: now)
    call(tools, "echo", {"n": 9})
    assert [json.loads(each.arguments)["n"] for each in tools.call_log()] == [9]


def test_the_log_outlives_the_process(tmp_path, server):
    with Athand(tmp_path / "a.db") as opened:
        opened.tools.load(server)
        call(opened.tools, "echo", {"n": 1})
    with Athand(tmp_path / "a.db") as opened:
        assert [each.tool for each in opened.tools.call_log()] == ["jobs__echo"]


def test_a_store_that_cannot_be_written_makes_no_call_fail(tools, monkeypatch, caplog):
    def broken(*_, **__):
        raise call_log.StoreError("the disk is full")

    monkeypatch.setattr(tools.store, "transaction", broken)
    assert tools.call("jobs__echo", {"n": 1}, seconds=LIMIT).value["arguments"] == {"n": 1}
    tools._log.flush()
    assert "could not be logged: the disk is full" in caplog.text

"""The MCP Inspector lists and calls every tool, over standard input and output and over HTTP."""

import json
import sys
import tempfile

import pytest
from tests.adapters.mcp_inspecting import Inspector, prepare, walk
from tests.adapters.mcp_kit import gateway
from tests.flows.webapp import WebApp

from athand import Athand
from athand.adapters.mcp.tool_list import DEFAULT_TOOLS
from athand.adapters.operations import AppContext, operations
from athand.config import Settings

ATHAND = [sys.executable, "-m", "athand"]
EVERY_DAY = DEFAULT_TOOLS.keys() | {"add_folder", "load_servers", "refresh_server"}  # these bring what the others find
chosen_tools = pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(EVERY_DAY, id="tools of every day"),
        pytest.param(frozenset(operations()), id="every tool", marks=pytest.mark.slow),
    ],
)


@pytest.fixture(scope="module")
def site():
    with WebApp() as app:
        yield app.url


@pytest.fixture
def folder(tmp_path):
    prepare(tmp_path)
    return tmp_path


@pytest.fixture
def workspace(folder, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "out"))
    opened = AppContext(lambda: Athand(folder / "store.db", settings=Settings(home=str(folder / "home"))))
    yield opened
    opened.close()


def call_all(chosen, folder, site, call):
    """The answers of all chosen tools by their names; those that say they are errors are none."""
    known = {}
    for name, given in ((name, given) for name, given in walk(folder, site) if name in chosen):
        arguments = given(known) if callable(given) else given
        result = call(name, arguments)
        assert not result.get("isError"), (name, result)
        assert name != "ui_screenshot" or [each["type"] for each in result["content"]] == ["text", "image"]
        known[name] = result["structuredContent"]
    return known


def names(listed):
    return [tool["name"] for tool in listed["tools"]]


@chosen_tools
def test_it_lists_and_calls_the_tools_over_http(folder, site, workspace, chosen):
    with gateway(workspace, folder / "tokens", toolsets=["all"]) as (url, token), Inspector(folder) as inspector:
        there = [url, "--transport", "http", "--header", f"Authorization: Bearer {token}", "--format", "json"]

        def ask(era, method, *words):
            return json.loads(inspector.run(*there, "--protocol-era", era, "--method", method, *words))["result"]

        def call(name, arguments):
            return ask("modern", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))

        for era in ("legacy", "modern"):
            assert names(ask(era, "tools/list")) == [*operations()]
        assert call_all(chosen, folder, site, call).keys() == chosen


@chosen_tools
def test_it_lists_and_calls_the_tools_over_standard_input_and_output(folder, site, chosen):
    command = [*ATHAND, "mcp", "--toolsets", "all", "--admin", "--store", str(folder / "store.db")]
    options = ["-e", f"ATHAND_HOME={folder / 'home'}", "-e", f"TMPDIR={folder / 'out'}"]
    with Inspector(folder, "mcpdo/build/mcp-bin.js", "runMcp") as inspector:
        inspector.run("connect", "--connection", "r", *options, "--", *command)
        try:

            def ask(*words):
                answer = json.loads(inspector.run("--format", "json", "--connection", "r", *words))
                return answer.get("result", answer)

            def call(name, arguments):
                return ask("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))

            assert names(ask("tools/list")) == [*operations()]
            assert call_all(chosen, folder, site, call).keys() == chosen
        finally:
            inspector.run("daemon", "stop")

"""The MCP Inspector lists and calls every tool, over standard input and output and over HTTP."""

import json
import sys
import tempfile

import pytest
from tests.adapters.mcp_inspecting import Inspector, prepare, walk
from tests.adapters.mcp_kit import gateway
from tests.flows.webapp import WebApp

from recollect import Recollect
from recollect.adapters.operations import Workspace, operations
from recollect.config import Settings

RECOLLECT = [sys.executable, "-m", "recollect"]


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
    opened = Workspace(lambda: Recollect(folder / "store.db", settings=Settings(home=str(folder / "home"))))
    yield opened
    opened.close()


def call_everything(folder, site, call):
    """All answers by the names of the tools; those that say they are errors are none."""
    known = {}
    for name, given in walk(folder, site):
        arguments = given(known) if callable(given) else given
        result = call(name, arguments)
        assert not result.get("isError"), (name, result)
        assert name != "ui_screenshot" or [each["type"] for each in result["content"]] == ["text", "image"]
        known[name] = result["structuredContent"]
    return known


def names(listed):
    return [tool["name"] for tool in listed["tools"]]


def test_it_lists_and_calls_every_tool_over_http(folder, site, workspace):
    with gateway(workspace, folder / "tokens", toolsets=["all"]) as (url, token), Inspector(folder) as inspector:
        there = [url, "--transport", "http", "--header", f"Authorization: Bearer {token}", "--format", "json"]

        def ask(era, method, *words):
            return json.loads(inspector.run(*there, "--protocol-era", era, "--method", method, *words))["result"]

        def call(name, arguments):
            return ask("modern", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))

        for era in ("legacy", "modern"):
            assert names(ask(era, "tools/list")) == [*operations()]
        assert call_everything(folder, site, call).keys() == operations().keys()


def test_it_lists_and_calls_every_tool_over_standard_input_and_output(folder, site):
    command = [*RECOLLECT, "mcp", "--toolsets", "all", "--admin", "--store", str(folder / "store.db")]
    environment = [f"RECOLLECT_HOME={folder / 'home'}", f"TMPDIR={folder / 'out'}"]
    with Inspector(folder) as inspector:
        once = [*(word for each in environment for word in ("-e", each)), *command]
        listed = json.loads(inspector.run("--format", "json", "--method", "tools/list", *once))["result"]
        assert names(listed) == [*operations()]
    with Inspector(folder, "mcpdo/build/mcp-bin.js", "runMcp") as inspector:
        options = [word for each in environment for word in ("-e", each)]
        inspector.run("connect", "--connection", "r", *options, "--", *command)
        try:
            there = ["--format", "json", "--connection", "r", "tools/call"]

            def call(name, arguments):
                given = ["--tool-name", name, "--tool-args-json", json.dumps(arguments)]
                answer = json.loads(inspector.run(*there, *given))
                return answer.get("result", answer)

            assert call_everything(folder, site, call).keys() == operations().keys()
        finally:
            inspector.run("daemon", "stop")

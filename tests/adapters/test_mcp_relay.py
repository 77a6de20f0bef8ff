"""What a tool server asks and tells while it runs a tool reaches the client that has called it, or is refused."""

import asyncio
import json
import sys
import threading
from pathlib import Path

import anyio
import pytest
from mcp import types
from tests.adapters.mcp_kit import ERAS, gateway, opened, serve, talk
from tests.adapters.test_mcp_asking import over_http
from tests.tools.patience import LIMIT
from tests.tools.servers.kit import write_config
from tests.waiting import PATIENCE, eventually, until

from athand.adapters.http.token_registry import create_token
from athand.tools.gateway.requests import UpstreamCall
from athand.tools.gateway.timing import run_with_timeout

FOLDER = Path(__file__).parents[1] / "tools" / "servers"
SERVERS = ("older", "modern")  # the generation of the protocol that the tool server speaks
GREEN = types.ElicitResult(action="accept", content={"colour": "green"})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Two servers that ask: one with a handshake, one without."""
    folder = tmp_path_factory.mktemp("askers")
    limits = {"connectSeconds": LIMIT, "callSeconds": LIMIT}
    entries = {
        name: {"command": sys.executable, "args": [str(FOLDER / f"asker_{name}.py"), str(folder / name)], **limits}
        for name in SERVERS
    }

    def fill(athand, _):
        athand.tools.load(write_config(folder / "mcp.json", **entries))
        assert athand.tools.wait(PATIENCE)

    with opened(folder, fill) as workspace:
        workspace.notes = {name: folder / name for name in SERVERS}
        yield workspace


async def call(client, server, tool, **more):
    """What a tool has said, or the error, as text."""
    answer = await client.call_tool("call_tool", {"id": f"{server}__{tool}"}, **more)
    return answer.content[0].text if answer.is_error else answer.structured_content["text"]


async def answer_green(context, params):
    return GREEN


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_a_server_asks_the_person_behind_the_client(workspace, server, mode):
    asked = []

    async def person(context, params):
        asked.append((params.message, params.requested_schema["properties"]))
        return GREEN

    answer = talk(serve(workspace), lambda it: call(it, server, "elicit"), mode=mode, elicitation_callback=person)
    assert json.loads(answer) == {"action": "accept", "content": {"colour": "green"}}
    assert asked == [(f"The tool server {server} asks: Which colour?", {"colour": {"type": "string"}})]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_a_server_asks_the_model_and_the_folders_of_the_client(workspace, server, mode):
    async def model(context, params):
        text = types.TextContent(type="text", text=f"yes to {params.messages[0].content.text}")
        return types.CreateMessageResult(role="assistant", content=text, model="m")

    async def folders(context):
        return types.ListRootsResult(roots=[types.Root(uri="file:///srv/shop")])

    async def converse(client):
        return await call(client, server, "sample"), await call(client, server, "roots")

    sampled, listed = talk(serve(workspace), converse, mode=mode, sampling_callback=model, list_roots_callback=folders)
    assert json.loads(sampled)["content"]["text"] == "yes to Say yes"
    assert json.loads(listed)["roots"][0]["uri"] == "file:///srv/shop"


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize(("tool", "what"), [("elicit", "elicitation"), ("sample", "sampling"), ("roots", "roots")])
def test_what_the_client_cannot_do_is_refused_with_the_reason(workspace, server, mode, tool, what):
    answer = talk(serve(workspace), lambda client: call(client, server, tool), mode=mode)
    assert f"The server {server} has asked for" in answer and f"does not offer {what}" in answer


@pytest.mark.parametrize("server", SERVERS)
def test_a_caller_without_a_client_learns_that_it_was_asked(workspace, server):
    with pytest.raises(Exception, match="it is no MCP client"):
        workspace.athand.tools.call(f"{server}__elicit", seconds=LIMIT)
    assert workspace.athand.tools.call(f"{server}__count", seconds=LIMIT).content


def test_time_in_which_a_person_thinks_is_not_the_time_of_the_server():
    async def ask(call, seconds):
        with call.pause(), call.pause():
            await asyncio.sleep(seconds)
        return "answered"

    async def run(seconds):
        call = UpstreamCall(None)
        return await run_with_timeout(1, ask(call, seconds), paused=call.pause_seconds)

    async def hang():
        call = UpstreamCall(None)
        await run_with_timeout(0.1, asyncio.sleep(3600), paused=call.pause_seconds)

    assert asyncio.run(run(1.2)) == "answered"
    with pytest.raises(TimeoutError):
        asyncio.run(hang())


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_how_far_a_tool_is_reaches_the_client(workspace, server, mode, monkeypatch):
    monkeypatch.setattr("athand.adapters.mcp.notifications._PROGRESS_INTERVAL", 0)
    told = []

    async def hear(done, total, message):
        told.append((done, total, message))

    talk(serve(workspace), lambda client: call(client, server, "count", progress_callback=hear), mode=mode)
    assert told == [(number, 3, f"step {number}") for number in (1, 2, 3)]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_what_a_tool_logs_reaches_a_client_that_wants_it(workspace, server, mode):
    heard = []

    async def hear(params):
        heard.append((params.level, params.logger, params.data))

    async def converse(client):
        if mode == "legacy":
            with pytest.warns(match="logging capability is deprecated"):
                await client.session.set_logging_level("info")
        meta = {} if mode == "legacy" else {"io.modelcontextprotocol/logLevel": "info"}
        await call(client, server, "talk", meta=meta)

    talk(serve(workspace), converse, mode=mode, logging_callback=hear)
    assert heard == [("warning", f"{server}.engine", "a warning")]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_a_call_that_the_client_gives_up_is_given_up_at_the_server(workspace, server, mode):
    begun, cancelled = (workspace.notes[server].with_suffix(f".{kind}") for kind in ("begun", "cancelled"))
    for file in (begun, cancelled):
        file.unlink(missing_ok=True)

    async def converse(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, client, server, "wait")
            await anyio.to_thread.run_sync(until, begun.exists)
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(until, cancelled.exists)

    talk(serve(workspace), converse, mode=mode)
    assert eventually(lambda: workspace.athand.tools.call_log(tool=f"{server}__wait")[0].outcome == "cancelled")


def test_a_question_of_a_server_that_several_use_reaches_nobody(workspace, tmp_path):
    """With a handshake, a server does not say whose call it asks about."""
    (tmp_path / "tokens").mkdir(mode=0o700)
    other = create_token(tmp_path / "tokens", "other", ("call-tools",))[1]
    workspace.notes["older"].with_suffix(".begun").unlink(missing_ok=True)

    answered = threading.Event()

    async def wait(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, client, "older", "wait")
            await anyio.to_thread.run_sync(answered.wait)
            tasks.cancel_scope.cancel()

    with gateway(workspace, tmp_path / "tokens") as (url, token):
        waiting = threading.Thread(target=over_http, args=(url, other, wait, "legacy", answer_green))
        waiting.start()
        until(workspace.notes["older"].with_suffix(".begun").exists)
        answer = over_http(url, token, lambda it: call(it, "older", "elicit"), "legacy", answer_green)
        answered.set()
        waiting.join()
    assert "several callers use it" in answer


def test_a_token_without_admin_names_no_folders(workspace, tmp_path):
    (tmp_path / "tokens").mkdir(mode=0o700)
    agent = create_token(tmp_path / "tokens", "agent", ("call-tools",))[1]

    async def folders(context):
        return types.ListRootsResult(roots=[types.Root(uri="file:///")])

    async def roots(client):
        return await call(client, "older", "roots")

    with gateway(workspace, tmp_path / "tokens") as (url, owner):
        refused, listed = (
            over_http(url, token, roots, "legacy", answer_green, list_roots_callback=folders)
            for token in (agent, owner)
        )
    assert "lacks the scope admin" in refused and "file:///" in listed


def test_a_server_hears_what_its_client_may_be_asked(workspace):
    offers = json.loads(workspace.notes["older"].with_suffix(".offers").read_text())
    assert {"elicitation", "sampling", "roots"} <= set(offers)

"""An operation asks the person behind its client, over every transport and in both protocol generations."""

import os
import sys

import anyio
import pytest
from mcp import MCPError, types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from tests.adapters import asking
from tests.adapters.mcp_kit import ERAS, gateway, opened, serve, talk
from tests.waiting import until

from athand.adapters.http.token_registry import create_token
from athand.adapters.mcp import client_requests
from athand.adapters.operations import threads
from athand.adapters.operations.model import Operation

GONE = "not open any more"
HERE = "from tests.adapters.asking import install; install()\n"
SERVER = HERE + "import sys; from athand.adapters.cli import main; sys.argv = ['athand', 'mcp']; main()"


class Person:
    """Answers what it is asked, and remembers it."""

    def __init__(self, *answers):
        self.answers = list(answers) or [types.ElicitResult(action="accept", content={"colour": "green"})]
        self.asked = []

    async def __call__(self, context, params):
        self.asked.append((params.message, params.requested_schema))
        return self.answers.pop(0)


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setattr(Operation, "perform", asking.asking)


@pytest.fixture
def workspace(tmp_path):
    with opened(tmp_path, lambda athand, folder: None) as workspace:
        yield workspace


async def add(client, **arguments):
    return (await client.call_tool("memory_add", {"content": "x", "detail": "full", **arguments})).structured_content[
        "content"
    ]


@pytest.mark.parametrize("mode", ERAS)
def test_the_answer_reaches_the_operation(workspace, asked, mode):
    person = Person()
    kept = talk(serve(workspace), add, mode=mode, elicitation_callback=person)
    assert kept == "The answer was {'action': 'accept', 'content': {'colour': 'green'}}"
    assert person.asked == [("Which colour?", asking.COLOUR)]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_may_say_no(workspace, asked, mode, action):
    person = Person(types.ElicitResult(action=action))
    assert (
        talk(serve(workspace), add, mode=mode, elicitation_callback=person)
        == f"The answer was {{'action': '{action}'}}"
    )


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_cannot_ask_is_not_asked(workspace, asked, mode):
    assert talk(serve(workspace), add, mode=mode) == "The answer was None"


@pytest.mark.parametrize("mode", ERAS)
def test_over_stdio(tmp_path, mode):
    home = {**os.environ, "ATHAND_HOME": str(tmp_path)}
    parameters = StdioServerParameters(command=sys.executable, args=["-c", SERVER], env=home)

    async def converse():
        async with Client(stdio_client(parameters), mode=mode, elicitation_callback=Person()) as client:
            return await add(client)

    assert "green" in anyio.run(converse)


def over_http(url, token, conversation, mode, person, **options):
    async def run():
        async with (
            create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(
                streamable_http_client(url, http_client=http), mode=mode, elicitation_callback=person, **options
            ) as client,
        ):
            return await conversation(client)

    return anyio.run(run)


@pytest.mark.parametrize("mode", ERAS)
def test_over_http(workspace, tmp_path, asked, mode):
    with gateway(workspace, tmp_path / "tokens") as (url, token):
        assert "green" in over_http(url, token, add, mode, Person())


def test_only_the_caller_answers_and_only_once(workspace, tmp_path, asked):
    (tmp_path / "tokens").mkdir(mode=0o700)
    other = create_token(tmp_path / "tokens", "other", ("write",))[1]
    given = {"content": "x", "detail": "full"}

    async def ask(client):
        question = await client.session.call_tool("memory_add", given, allow_input_required=True)
        assert isinstance(question, types.InputRequiredResult)
        return question

    def answer(arguments):
        async def call(client):
            answers = {next(iter(question.input_requests)): types.ElicitResult(action="decline")}
            state = question.request_state
            try:
                return await client.call_tool("memory_add", arguments, input_responses=answers, request_state=state)
            except MCPError as error:
                return str(error)

        return call

    with gateway(workspace, tmp_path / "tokens") as (url, token):
        question = over_http(url, token, ask, "2026-07-28", Person())
        for who, arguments in ((other, given), (token, {"content": "another one"})):
            assert GONE in over_http(url, who, answer(arguments), "2026-07-28", Person())
        done = over_http(url, token, answer(given), "2026-07-28", Person())
        assert "decline" in done.structured_content["content"]
        assert GONE in over_http(url, token, answer(given), "2026-07-28", Person())


@pytest.mark.parametrize("mode", ERAS)
def test_who_does_not_answer_in_time_has_said_nothing(workspace, asked, mode, monkeypatch):
    monkeypatch.setattr(client_requests, "_ANSWER_SECONDS", 0.2)

    async def never(context, params):
        if mode == "legacy":
            await anyio.sleep_forever()
        await anyio.to_thread.run_sync(until, workspace.athand.memories.list)
        return types.ElicitResult(action="accept", content={"colour": "late"})

    async def call(client):
        try:
            return await add(client)
        except MCPError as error:
            return str(error)

    said = "The answer was {'action': 'cancel'}"
    assert (said if mode == "legacy" else GONE) in talk(serve(workspace), call, mode=mode, elicitation_callback=never)
    assert workspace.athand.memories.list()[0].content == said


@pytest.mark.parametrize("mode", ERAS)
def test_one_caller_has_a_few_open_questions_at_most(workspace, asked, mode, monkeypatch):
    monkeypatch.setattr(client_requests, "_MOST_OPEN", 1)
    open_one, released = anyio.Event(), anyio.Event()

    async def slowly(context, params):
        open_one.set()
        await released.wait()
        return types.ElicitResult(action="decline")

    async def converse(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(add, client)
            await open_one.wait()
            second = await add(client)
            released.set()
        return second, await add(client)

    second, third = talk(serve(workspace), converse, mode=mode, elicitation_callback=slowly)
    assert second == "The answer was None" and "decline" in third


def test_a_call_that_is_given_up_while_it_asks_holds_no_thread(workspace, asked, monkeypatch):
    begun = anyio.Event()

    async def wait(context, params):
        begun.set()
        await anyio.sleep_forever()

    async def converse(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(add, client)
            await begun.wait()
            tasks.cancel_scope.cancel()

    monkeypatch.setattr(threads, "_QUICK_THREADS", 1)
    server = serve(workspace)
    talk(server, converse, elicitation_callback=wait)
    assert "green" in talk(server, add, elicitation_callback=Person())
    assert len(workspace.athand.memories.list()) == 1

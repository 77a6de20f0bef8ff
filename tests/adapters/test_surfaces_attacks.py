"""What somebody tries who wishes the servers ill: with a connection alone, with a token, as an MCP client."""

import asyncio
import gzip
import itertools
import logging
import socket
import threading
import time
from contextlib import closing, contextmanager, suppress

import anyio
import pytest
import uvicorn
from mcp import MCPError, types
from tests.adapters.gateway import is_problem, opened
from tests.adapters.mcp_kit import serve, talk
from tests.tools.servers.kit import FILES, WEATHER
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.http import server as http_server
from athand.adapters.http.middleware.access_log import TextLogFormatter
from athand.adapters.http.server import bind
from athand.adapters.http.token_registry import create_token, list_tokens, tokens_file
from athand.adapters.operations import SCOPES, AppContext, operations, threads
from athand.adapters.operations.threads import Threads
from athand.errors import DataError, InvalidInput, Unavailable


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("attacks"), mcp=False) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def workspace():
    """A store with two catalogues of tools, of which the process was opened for one."""
    workspace = AppContext(lambda: Athand(":memory:"))
    tools = workspace.athand.tools
    tools.add("files", FILES, catalogue="mine")
    tools.add("weather", WEATHER, catalogue="theirs")
    tools.catalogues = ["mine"]
    workspace.athand.memories.add("The blue whale is large", project="secret-project", id="whale")
    yield workspace
    workspace.close()


# Connections


async def healthy(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def connections():
    """Connections to a server that speaks as ours does."""
    config = uvicorn.Config(healthy, http=http_server.HttpProtocol, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    with closing(bind("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield lambda: socket.create_connection(bound.getsockname(), timeout=PATIENCE)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


def exchanged(connection, request):
    """All that is answered to a request."""
    connection.sendall(request)
    answer = b""
    while not answer.endswith(b"ok"):
        answer += connection.recv(1000) or pytest.fail("the connection was closed")
    return answer


def is_closed(connection, sending=b""):
    """Whether the other side closes the connection, whatever it is sent a little of now and then."""
    connection.settimeout(0.01 if sending else PATIENCE)
    patience = time.monotonic() + PATIENCE
    with suppress(ConnectionError):
        while time.monotonic() < patience:
            connection.sendall(sending)
            with suppress(TimeoutError):
                return connection.recv(1) == b""
        return False
    return True


def test_a_connection_that_asks_nothing_is_closed_and_one_that_has_asked_may_ask_again(monkeypatch):
    whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connections() as connect, connect() as polite:
        assert b"200 OK" in exchanged(polite, whole)
        monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.1)
        with connect() as silent, connect() as slow, connect() as dripping:
            with suppress(ConnectionError):
                slow.sendall(whole[:-1])
            assert is_closed(dripping, b"G")
            assert is_closed(silent) and is_closed(slow)
        assert b"200 OK" in exchanged(polite, whole)


def test_a_request_with_two_lengths_is_refused_before_anything_of_it_is_used(gateway):
    both = {"Content-Length": "2", "Transfer-Encoding": "chunked", "Content-Type": "application/json"}
    for token in (None, ""):
        answer = gateway.ask("POST", "/v1/memories/add", token, headers=both, content=b"{}")
        assert is_problem(answer, 400)
        assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(
    "body",
    [gzip.compress(b"{}"), b'{"content": "\xff"}', b'{"content": 1' + b"0" * 5000 + b"}"],
    ids=["compressed", "no UTF-8", "a number too long"],
)
def test_a_body_that_is_no_json_is_told_so_in_our_own_words(gateway, body):
    answer = gateway.ask("POST", "/v1/memories/add", headers={"Content-Type": "application/json"}, content=body)
    assert is_problem(answer, 400)
    assert "not JSON" in answer.json()["detail"]


def test_a_host_that_is_none_is_told_so(gateway):
    answer = gateway.get("/healthz", headers={"Host": "localhost@evil.test"})
    assert is_problem(answer, 421)
    assert "does not name a server" in answer.json()["detail"]


# Questions that cost more than they should


def test_a_filter_of_many_brackets_is_answered_at_once(gateway):
    started = time.monotonic()
    assert gateway.get("/tools", params={"filter": "[" * 19_000}).json() == []
    assert time.monotonic() - started < PATIENCE
    assert is_problem(gateway.get("/tools", params={"filter": "[" * 20_001}), 422)


def slow_threads():
    return sum(each.name.startswith("athand-slow") for each in threading.enumerate())


def test_work_that_was_given_up_keeps_its_thread_and_others_are_told_that_there_is_none(monkeypatch):
    monkeypatch.setattr(threads, "_SLOW_THREADS", 2)
    pool, gate, begun = Threads(PATIENCE), threading.Event(), threading.Semaphore(0)
    before = slow_threads()

    async def attack():
        given_up = [asyncio.create_task(pool.run(lambda: begun.release() or gate.wait(), slow=True)) for _ in range(5)]
        for _ in range(2):
            assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE)
        for each in given_up:
            each.cancel()
        with monkeypatch.context() as impatient, pytest.raises(Unavailable, match="not started"):
            impatient.setattr(pool, "_patience", 0.1)
            await pool.run(gate.wait, slow=True)
        assert await pool.run(lambda: "quick") == "quick"
        assert slow_threads() - before <= 2
        gate.set()
        assert await pool.run(lambda: "free", slow=True) == "free"

    try:
        asyncio.run(attack())
    finally:
        gate.set()
        pool.close()


def test_a_storm_of_calls_that_are_cancelled_makes_no_threads_without_end(monkeypatch):
    monkeypatch.setattr(threads, "_QUICK_THREADS", 3)
    gate = threading.Event()

    def open_late():
        gate.wait(PATIENCE)
        return Athand(":memory:")

    async def storm(client):
        for _ in range(12):
            with anyio.move_on_after(0.02):
                await client.call_tool("memory_search", {"query": "anything"})
        grown = sum(each.name.startswith("athand-quick") for each in threading.enumerate()) - before
        gate.set()
        return grown, (await client.call_tool("memory_search", {"query": "anything"})).is_error

    before = sum(each.name.startswith("athand-quick") for each in threading.enumerate())
    with closing(AppContext(open_late)) as late:
        grown, failed = talk(serve(late), storm)
    assert grown <= 3
    assert not failed


# What is not for everybody


def test_whatever_scopes_a_caller_has_it_is_offered_exactly_what_they_allow(workspace):
    subsets = [set(each) for size in range(len(SCOPES) + 1) for each in itertools.combinations(SCOPES, size)]
    reference = types.PromptReference(name="recall")

    async def look(client):
        listed = {tool.name for tool in (await client.list_tools()).tools}
        refused = 0
        for ask in (
            lambda: client.list_resources(),
            lambda: client.read_resource("athand://memory/whale"),
            lambda: client.get_prompt("recall", {"task": "anything"}),
            lambda: client.complete(reference, {"name": "project", "value": ""}),
        ):
            try:
                await ask()
            except MCPError:
                refused += 1
        return listed, refused

    for scopes in subsets:
        listed, refused = talk(serve(workspace, toolsets=["all"], scopes=scopes), look)
        assert listed == {name for name, each in operations().items() if each.scope in scopes}
        assert refused == (0 if "search" in scopes else 4), scopes


def test_prompts_name_no_tools_of_projects_that_the_server_was_not_started_for(workspace):
    async def ask(client):
        found = await client.get_prompt("find_tool", {"task": "weather forecast for a city"})
        recalled = await client.get_prompt("recall", {"task": "weather forecast for a city"})
        return f"{found} {recalled}"

    assert "get_forecast" not in talk(serve(workspace), ask)


def test_completion_names_nothing_of_toolsets_that_were_not_chosen(workspace):
    async def ask(client):
        prompt = types.PromptReference(name="recall")
        return [
            (await client.complete(prompt, {"name": name, "value": ""})).completion.values for name in ("project", "id")
        ]

    assert talk(serve(workspace, toolsets=["documents"]), ask) == [[], []]
    assert talk(serve(workspace, toolsets=["memories"]), ask) == [["secret-project"], ["whale"]]


# Files and logs


def test_a_list_of_tokens_that_was_tampered_with_is_an_error_that_says_what_to_do(tmp_path):
    tmp_path.chmod(0o700)
    file = tokens_file(tmp_path)
    for text in ("[" * 100_000, '{"tokens": [1]}', '{"tokens": [{"name": "x"}]}', "\0"):
        file.write_text(text)
        file.chmod(0o600)
        with pytest.raises(DataError, match="create the tokens anew"):
            list_tokens(tmp_path)


def test_no_other_token_can_pass_for_the_owners_in_the_log(tmp_path):
    for name in ("owner", "Owner", "OWNER"):
        with pytest.raises(InvalidInput):
            create_token(tmp_path, name, ["search"])


def test_what_a_stranger_sends_can_neither_forge_a_line_of_the_log_nor_speak_to_the_terminal():
    record = logging.makeLogRecord(
        {"levelname": "WARNING", "msg": "%s", "args": ("no file 'a\nERROR all is lost\x1b[2J'",)}
    )
    try:
        raise ValueError("\x1b]0;title\x07")
    except ValueError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    lines = TextLogFormatter("%(levelname)s %(message)s").format(record).split("\n")
    assert lines[0] == r"WARNING no file 'a\x0aERROR all is lost\x1b[2J'"
    assert lines[-1] == r"ValueError: \x1b]0;title\x07"

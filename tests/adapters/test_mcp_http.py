"""MCP over streamable HTTP, behind the guards of the gateway: whose token it is decides what can be done."""

import json
import time
from contextlib import ExitStack, contextmanager

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from tests.adapters.mcp_kit import ERAS, gateway, opened
from tests.waiting import until

from athand.adapters.eviction import Most
from athand.adapters.http import token_registry
from athand.adapters.http.middleware import Limits
from athand.adapters.http.token_registry import create_token, revoke_token
from athand.adapters.mcp import streamable_http
from athand.adapters.operations import DEFAULT_SCOPES, operations

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """A folder of tokens; they are there before the server is, which looks again only twice a second."""
    folder = tmp_path_factory.mktemp("tokens")
    folder.chmod(0o700)
    given = {"agent": DEFAULT_SCOPES, "reader": ("search",)}
    return folder, {name: create_token(folder, name, scopes)[1] for name, scopes in given.items()}


@pytest.fixture(scope="module")
def place(tmp_path_factory, tokens):
    with (
        opened(tmp_path_factory.mktemp("mcp-http")) as workspace,
        gateway(workspace, tokens[0], toolsets=["all"]) as at,
    ):
        yield at


@pytest.fixture(scope="module")
def url(place):
    return place[0]


@pytest.fixture(scope="module")
def owner(place):
    return place[1]


@pytest.fixture(scope="module")
def agent(tokens):
    return tokens[1]["agent"]


@pytest.fixture(scope="module")
def reader(tokens):
    return tokens[1]["reader"]


def converse(url, token, conversation, mode="legacy", **headers):
    async def run():
        async with (
            create_mcp_http_client(headers={"Authorization": f"Bearer {token}", **headers}) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await conversation(client)

    return anyio.run(run)


def post(url, token, body, **headers):
    return httpx2.post(url, json=body, headers={**HEADERS, "Authorization": f"Bearer {token}", **headers}, timeout=60)


async def names(client):
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_lists_calls_and_reads_in_both_eras(url, owner, mode):
    async def ask(client):
        found = await client.call_tool("search", {"query": "staging"})
        read = await client.read_resource("athand://document/notes/deploying.md")
        return await names(client), found, read

    listed, found, read = converse(url, owner, ask, mode)
    assert listed == set(operations())
    assert found.structured_content["hits"] and "Staging" in read.contents[0].text


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_version_with_a_handshake_is_spoken(url, owner, version):
    hello = {**HELLO, "params": {**HELLO["params"], "protocolVersion": version}}
    answer = post(url, owner, hello)
    assert answer.status_code == 200 and f'"protocolVersion":"{version}"' in answer.text


@pytest.mark.parametrize("mode", ERAS)
def test_what_is_offered_and_allowed_is_what_the_token_allows(url, agent, reader, mode):
    async def try_to_write(client):
        with pytest.raises(Exception, match="needs the scope write"):
            await client.call_tool("memory_add", {"content": "x"})
        return await names(client)

    own = {name for name, each in operations().items() if each.scope in DEFAULT_SCOPES}
    assert converse(url, agent, names, mode) == own
    read = {name for name, each in operations().items() if each.scope == "search"}
    assert converse(url, reader, try_to_write, mode) == read


@pytest.mark.parametrize("mode", ERAS)
def test_progress_comes_over_http_too(url, owner, mode, tmp_path):
    (tmp_path / "a.md").write_text("# A note\n\nabout something\n")
    told = []

    async def hear(done, total, message):
        told.append((done, total))

    async def add(client):
        given = {"path": str(tmp_path), "folder_id": f"more-{mode}"}
        return await client.call_tool("add_folder", given, progress_callback=hear)

    assert not converse(url, owner, add, mode).is_error
    assert told[-1][0] == told[-1][1]


def test_a_session_belongs_to_whoever_began_it(url, agent, reader):
    begun = post(url, agent, HELLO)
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    assert post(url, agent, ping, **session).status_code == 200
    stolen = post(url, reader, ping, **session)
    assert stolen.status_code == 404 and "result" not in stolen.text
    assert post(url, "wrong", ping, **session).status_code == 401
    ended = {**HEADERS, **session, "Authorization": f"Bearer {reader}"}
    assert httpx2.delete(url, headers=ended, timeout=60).status_code == 404
    assert post(url, agent, ping, **session).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "evil.example.com"}, 421), ({"Origin": "http://evil.example.com"}, 403), ({"Authorization": ""}, 401)],
)
def test_the_guards_of_the_gateway_stand_before_it(url, owner, headers, status):
    assert post(url, owner, HELLO, **headers).status_code == status


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800"}}',
        b'{"jsonrpc": "2.0", "id": {}, "method": 7}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1, 2]}',
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28", "1999-01-01"])
def test_a_body_that_is_no_message_is_refused_and_never_breaks_anything(url, owner, body, version):
    headers = {**HEADERS, "Authorization": f"Bearer {owner}", "MCP-Protocol-Version": version}
    answer = httpx2.post(url, content=body, headers=headers, timeout=60)
    assert 400 <= answer.status_code < 500, answer.text


IDS = (0, -1, 7, 2**53 + 1, 10**30, "", "7", "an id", "ü", "x" * 5_000)
WRONG_IDS = (None, True, 1.5, 1.0, [1], {})


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_a_request_is_answered_with_its_own_id_of_any_kind(url, owner, version):
    session = begin(url, owner)
    for id_ in IDS:
        answer = post_list(url, owner, id_, version, session)
        assert answer.status_code == 200 and json.loads(answer.text.partition("data: ")[2] or answer.text)["id"] == id_


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_a_request_whose_id_is_no_id_is_refused(url, owner, version):
    session = begin(url, owner)
    for id_ in WRONG_IDS:
        answer = post_list(url, owner, id_, version, session)
        assert answer.status_code == 400 and answer.json()["id"] is None
        assert "text or a whole number" in answer.json()["error"]["message"]


def post_list(url, token, id_, version, session):
    """Ask for the list of prompts, which is short, as this version of the protocol does."""
    meta = {f"io.modelcontextprotocol/{name}": {} for name in ("clientCapabilities",)}
    meta["io.modelcontextprotocol/protocolVersion"] = version
    meta["io.modelcontextprotocol/clientInfo"] = {"name": "t", "version": "1"}
    body = {"jsonrpc": "2.0", "id": id_, "method": "prompts/list", "params": {"_meta": meta}}
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": "prompts/list"}
    return post(url, token, body, **headers, **({"Mcp-Session-Id": session} if version < "2026" else {}))


def test_a_server_that_ends_tells_those_who_only_listen(tmp_path):
    with ExitStack() as stack:
        workspace = stack.enter_context(opened(tmp_path, lambda athand, folder: None))
        with gateway(workspace, tmp_path / "tokens") as (url, token):
            stream = stack.enter_context(listening(url, token))
        assert stream.read() == b""  # whole, not broken off


@contextmanager
def a_small_gateway(tmp_path, **options):
    with (
        opened(tmp_path, lambda athand, folder: None) as workspace,
        gateway(workspace, tmp_path / "tokens", **options) as place,
    ):
        yield place


def test_of_too_many_streams_of_one_caller_the_oldest_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(streamable_http, "_STREAMS", Most(of_one=1, of_all=9))
    other = create_token(tmp_path / "tokens", "other", ("search",))[1]
    with ExitStack() as stack:
        url, token = stack.enter_context(a_small_gateway(tmp_path))
        stack.enter_context(listening(url, other))
        first = stack.enter_context(listening(url, token))
        stack.enter_context(listening(url, token))
        first.read()  # it ends, whole: one that is broken off is an error
        until(lambda: in_progress(url, token) == 2)


def test_streams_do_not_count_as_requests_in_progress(tmp_path):
    with ExitStack() as stack:
        url, token = stack.enter_context(a_small_gateway(tmp_path, limits=Limits(in_flight_of_one=1)))
        for _ in range(3):
            stack.enter_context(listening(url, token))
        assert in_progress(url, token) == 3


def in_progress(url, token):
    """How many requests the server is answering, beside the one that asks."""
    headers = {"Authorization": f"Bearer {token}"}
    lines = httpx2.get(url.replace("/mcp", "/metrics"), headers=headers, timeout=60).text.splitlines()
    return next(float(each.split()[1]) for each in lines if each.startswith("athand_http_in_flight ")) - 1


@contextmanager
def listening(url, token, session=None):
    """An open event stream, by default in a session of its own."""
    headers = {**HEADERS, "Authorization": f"Bearer {token}", "Mcp-Session-Id": session or begin(url, token)}
    with httpx2.Client(timeout=60) as client, client.stream("GET", url, headers=headers) as stream:
        assert stream.status_code == 200
        yield stream


@pytest.mark.parametrize("most", [Most(of_one=2, of_all=9), Most(of_one=9, of_all=3)])
def test_of_too_many_sessions_the_oldest_idle_one_of_whoever_has_most_ends(tmp_path, monkeypatch, most):
    monkeypatch.setattr(streamable_http, "_SESSIONS", most)
    other = create_token(tmp_path / "tokens", "other", ("search",))[1]
    with ExitStack() as stack:
        url, token = stack.enter_context(a_small_gateway(tmp_path))
        kept = begin(url, other)
        used, idle = begin(url, token), begin(url, token)
        stack.enter_context(listening(url, token, used))
        latest = begin(url, token)
        assert [ping(url, token, each) for each in (used, idle, latest)] == [200, 404, 200]
        assert ping(url, other, kept) == 200


def test_a_session_that_its_client_ended_makes_room(tmp_path, monkeypatch):
    monkeypatch.setattr(streamable_http, "_SESSIONS", Most(of_one=2, of_all=9))
    with a_small_gateway(tmp_path) as (url, token):
        kept, ended = begin(url, token), begin(url, token)
        headers = {**HEADERS, "Authorization": f"Bearer {token}", "Mcp-Session-Id": ended}
        assert httpx2.delete(url, headers=headers, timeout=60).status_code == 200
        begin(url, token)
        assert ping(url, token, kept) == 200


@pytest.mark.timeout(240)  # a stream that goes on is kept alive, so reading it would never end
def test_the_stream_of_a_token_that_is_revoked_ends_within_a_second(tmp_path):
    folder = tmp_path / "tokens"
    revoked, other = (create_token(folder, name, ("search",))[1] for name in ("revoked", "other"))
    with ExitStack() as stack:
        url, _ = stack.enter_context(a_small_gateway(tmp_path))
        stack.enter_context(listening(url, other))
        stream = stack.enter_context(listening(url, revoked))
        revoke_token(folder, "revoked")
        until(lambda: in_progress(url, other) == 1)
        stream.read()  # it ends, whole


def test_looks_at_tokens_and_streams_are_so_frequent_that_a_stream_ends_within_a_second():
    assert streamable_http._CHECK_SECONDS + token_registry._RELOAD_SECONDS < 1


def begin(url, token):
    """The id of a new session."""
    return post(url, token, HELLO).headers["mcp-session-id"]


def ping(url, token, session):
    return post(url, token, {"jsonrpc": "2.0", "id": 2, "method": "ping"}, **{"Mcp-Session-Id": session}).status_code


def test_a_session_that_nobody_uses_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(streamable_http, "_IDLE_SECONDS", 0.05)
    with a_small_gateway(tmp_path) as (url, token):
        session = {"Mcp-Session-Id": post(url, token, HELLO).headers["mcp-session-id"]}
        waits = iter((0.1, 0.3, 1, 5, 20, 60))
        while True:
            time.sleep(next(waits))  # asking keeps it alive
            if post(url, token, {"jsonrpc": "2.0", "id": 2, "method": "ping"}, **session).status_code == 404:
                break


def test_answers_are_the_same_as_over_rest(url, owner):
    async def ask(client):
        return await client.call_tool("memory_get", {"id": "vpn", "detail": "full"})

    over_mcp = converse(url, owner, ask).structured_content
    rest = url.replace("/mcp", "/v1/memories/get")
    over_rest = httpx2.get(rest, params={"id": "vpn"}, headers={"Authorization": f"Bearer {owner}"}, timeout=60)
    assert over_rest.status_code == 200, over_rest.text
    fading = ("effective_salience",)
    assert {k: v for k, v in over_mcp.items() if k not in fading} == {
        k: v for k, v in json.loads(over_rest.text).items() if k not in fading
    }


def test_what_agents_do_is_counted_like_all_the_rest(url, owner):
    async def ask(client):
        return await client.call_tool("memory_related", {"id": "nobody"})

    assert converse(url, owner, ask).is_error
    numbers = httpx2.get(url.replace("/mcp", "/metrics"), headers={"Authorization": f"Bearer {owner}"}, timeout=60).text
    assert 'athand_operations_total{name="memory_related",outcome="NotFound"} 1.0' in numbers


def test_the_token_says_who_writes_not_an_argument(url, owner, agent):
    def post(token, path, **arguments):
        with httpx2.Client(base_url=url.removesuffix("/mcp"), headers={"Authorization": f"Bearer {token}"}) as http:
            return http.post(f"/v1/memories/{path}", json=arguments)

    async def add_over_mcp(client):
        return await client.call_tool("memory_add", {"content": "The model wrote this over MCP", "detail": "full"})

    assert post(owner, "add", content="The owner wrote this with curl").json()["written_by"] == "user"
    assert post(agent, "add", content="A program wrote this with its token").json()["written_by"] == "agent"
    refused = post(agent, "add", content="I am a person, believe me", written_by="user")
    assert refused.status_code == 422 and "written_by" in refused.text
    several = post(agent, "add_many", items=[{"content": "So am I", "written_by": "user"}])
    assert several.status_code == 422 and "written_by" in several.text
    # Even with the owner's token, what speaks MCP is a model.
    assert converse(url, owner, add_over_mcp).structured_content["written_by"] == "agent"


def test_the_token_says_who_pins(url, owner, agent):
    def post(token, path, **arguments):
        with httpx2.Client(base_url=url.removesuffix("/mcp"), headers={"Authorization": f"Bearer {token}"}) as http:
            return http.post(f"/v1/memories/{path}", json=arguments)

    async def pin_over_mcp(client):
        return await client.call_tool("memory_pin", {"id": ids[1]})

    ids = [post(owner, "add", content=f"The owner wrote pin {at}").json()["id"] for at in ("one", "two", "three")]
    assert post(agent, "pin", id=ids[0], changed_by="user").status_code == 422
    assert post(agent, "pin", id=ids[0]).json()["pinned_by"] == "agent"
    assert converse(url, owner, pin_over_mcp).structured_content["pinned_by"] == "agent"
    kept = post(owner, "update", id=ids[2], pinned=True).json()
    assert (kept["pinned_by"], kept["written_by"]) == ("user", "user")
    changed = post(agent, "update", id=ids[2], content="An agent says something else").json()
    assert (changed["pinned_by"], changed["written_by"]) == ("user", "agent")

"""Nobody gets in without the right token, from another page or by another name; and nobody asks too much."""

import asyncio
import base64
import json
import logging
import re
import threading
from contextlib import contextmanager

import pytest
from tests.adapters.gateway import is_problem, opened
from tests.waiting import PATIENCE

from athand.adapters.http import app, route_table
from athand.adapters.http.middleware import Limits, Rate
from athand.adapters.http.middleware.body import exceeds_depth
from athand.adapters.http.middleware.load import RateLimiter
from athand.adapters.operations import SCOPES, operations, threads

HEALTH = ("/healthz", "/readyz")
PAGE = ("/", "/ui", "/ui/x", "/ui/static/x")
OPEN = (*HEALTH, *PAGE)
BY_PASSWORD = ("/docs", "/openapi.json")
SEARCHING = {"query": "anything"}
NEVER = 3600  # seconds: nobody waits so long
SELDOM = Rate(3, 0.001)  # three at once, and no more while a test lasts


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    limits = Limits(failures=Rate(10_000, 1))
    with opened(tmp_path_factory.mktemp("guards"), host_names=["athand.test"], limits=limits) as gateway:
        yield gateway


@pytest.fixture
def small(tmp_path):
    """A gateway that takes little."""

    def small(**limits):
        return opened(tmp_path, mcp=False, limits=Limits(**limits))

    return small


def places(app):
    """Every method of every route that the app really has, with the scope it should need."""
    for each in app.routes:
        router = getattr(each, "original_router", None)
        for route in router.routes if router else [each]:
            for method in route.methods - ({"GET", "POST"} if route.path == "/v1/session" else set()):
                yield method, re.sub(r"\{.*?\}", "x", route.path), scope_of(route, method)


def scope_of(route, method):
    if route.path == "/v1/session":
        return None  # logging in and out is what test_http_login is about
    if route.path.startswith("/v1/tokens"):
        return "admin"
    if route.path in ("/v1/events", "/v1/flows/screenshot"):
        return "search"
    if route.path.startswith("/v1/"):
        return next(each.scope for each in operations().values() if route.path == f"/v1/{each.path}")
    if (route.path, method) in (("/tools/{id}", "POST"), ("/continuations/{token}", "GET")):
        return "call-tools"
    return None if route.path == "/mcp" else "search"


def test_every_operation_has_a_route(gateway):
    paths = {path for _, path, _ in places(gateway.app)}
    assert {f"/v1/{each.path}" for each in operations().values()} < paths
    assert {"/mcp", "/search", "/search/stats", "/servers", "/tools", "/tools/x", "/runtime/tools.ts"} < paths


def test_no_route_but_health_opens_without_a_token_or_with_a_wrong_one(gateway):
    for method, path, _ in places(gateway.app):
        for token in ("", "wrong", gateway.owner[:-1], gateway.owner + "x"):
            answer = gateway.ask(method, path, token)
            if path in OPEN:
                assert answer.status_code == (404 if path == "/ui/static/x" else 200)
            else:
                assert is_problem(answer, 401), path
                kind = "Basic" if path in BY_PASSWORD else "Bearer"
                assert answer.headers["www-authenticate"].startswith(kind)


def test_no_route_opens_with_a_token_that_lacks_its_scope(gateway):
    lacking = {scope: gateway.token(*(each for each in SCOPES if each != scope)) for scope in SCOPES}
    for method, path, scope in places(gateway.app):
        if path not in (*OPEN, "/mcp", "/v1/session"):
            answer = gateway.ask(method, path, lacking[scope])
            assert is_problem(answer, 403), path
            assert method == "HEAD" or repr(scope) in answer.json()["detail"]


def test_over_mcp_one_sees_only_what_ones_scopes_allow(gateway):
    reading, writing = (tools_of(gateway, gateway.token(*scopes)) for scopes in (["search"], ["search", "write"]))
    assert ("search" in reading, "memory_add" in reading, "call_tool" in reading) == (True, False, False)
    assert ("memory_add" in writing, "call_tool" in writing) == (True, False)


def tools_of(gateway, token):
    """The tools that MCP lists to whoever has this token."""
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    begun = gateway.post(
        "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}, token, headers=headers
    )
    headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
    gateway.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, token, headers=headers)
    listed = gateway.post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, token, headers=headers)
    said = next(line for line in listed.text.splitlines() if line.startswith("data: {"))
    return [each["name"] for each in json.loads(said.removeprefix("data: "))["result"]["tools"]]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "localhost evil", "", "192.0.2.1", "[::2]"],
)
def test_a_name_that_is_not_ours_is_refused_everywhere(gateway, host):
    for method, path, _ in places(gateway.app) if host == "evil.example" else [("GET", "/healthz", None)]:
        assert is_problem(gateway.ask(method, path, headers={"Host": host}), 421), path


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.:1", "[::1]:7325", "athand.test", "127.0.0.1"])
def test_names_that_are_ours_are_taken(gateway, host):
    assert gateway.get("/healthz", headers={"Host": host}).status_code == 200


def test_pages_of_other_origins_are_refused_everywhere(gateway):
    for method, path, _ in places(gateway.app):
        assert is_problem(gateway.ask(method, path, headers={"Origin": "https://evil.example"}), 403), path


@pytest.mark.parametrize(
    "origin", ["null", "http://127.0.0.1:1", "http://localhost:7325", "file://", "https://x@127.0.0.1"]
)
def test_origins_that_only_look_like_ours_are_refused(gateway, origin):
    assert is_problem(gateway.get("/healthz", headers={"Origin": origin}), 403)


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7325", "https://athand.test"])
def test_our_own_pages_may_ask(gateway, origin):
    assert gateway.get("/healthz", headers={"Origin": origin}).status_code == 200


def test_a_browser_is_not_told_that_others_may_ask(gateway):
    answer = gateway.ask("OPTIONS", "/v1/search", "", headers={"Access-Control-Request-Method": "GET"})
    assert is_problem(answer, 401)
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_another_method_is_a_problem_that_names_the_right_one(gateway):
    answer = gateway.ask("PUT", "/v1/search")
    assert is_problem(answer, 405)
    assert answer.headers["allow"] == "GET, POST"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_monitors_may_ask_for_the_head_alone(gateway, path):
    head, whole = gateway.ask("HEAD", path), gateway.get(path)
    assert head.status_code == whole.status_code == 200
    assert head.headers["content-type"] == whole.headers["content-type"] and "content-length" in head.headers
    assert gateway.ask("HEAD", path, "").status_code == (401 if path == "/metrics" else 200)


@pytest.mark.parametrize(
    "path", ["/v1/../token", "/v1/%2e%2e/token", "/token", "/docs/../../token", "/v1/search/", "/.//healthz", "/v1/%00"]
)
def test_no_path_leads_to_a_file(gateway, path):
    answer = gateway.get(path)
    assert is_problem(answer, 404)
    assert gateway.owner not in answer.text


@pytest.mark.parametrize("method", ["bearer {}", "Basic {}", "Token {}", "{}", "Bearer  {} x", "Bearer \xff"])
def test_only_a_bearer_opens_what_programs_call(gateway, method):
    header = method.format(gateway.owner).encode("latin-1")
    answer = gateway.client.get("/v1/search", params=SEARCHING, headers={b"Authorization": header})
    assert answer.status_code == (200 if method == "bearer {}" else 401)


def test_a_browser_may_give_the_token_as_a_password_where_people_read(gateway):
    given = base64.b64encode(f"me:{gateway.owner}".encode()).decode()
    headers = {"Authorization": f"Basic {given}"}
    assert gateway.client.get("/docs", headers=headers).status_code == 200
    assert is_problem(gateway.client.get("/v1/status", headers=headers), 401)
    assert is_problem(gateway.client.get("/docs", headers={"Authorization": "Basic !"}), 401)


def test_every_answer_is_inert_in_a_browser(gateway):
    for path in (*HEALTH, *BY_PASSWORD, "/metrics", "/v1/status", "/v1/nowhere"):
        headers = gateway.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_a_body_that_is_too_large_is_refused_before_and_while_it_is_read(small):
    with small(body_bytes=1000) as gateway:
        assert is_problem(gateway.post("/v1/memories/add", {"content": "x" * 1000}), 413)
        headers = {"Content-Type": "application/json"}
        pieces = (b"x" * 100 for _ in range(100))
        assert is_problem(gateway.ask("POST", "/v1/memories/add", content=pieces, headers=headers), 413)
        assert gateway.post("/v1/memories/add", {"content": "x" * 100}).status_code == 200


def test_a_query_string_that_is_too_long_is_refused_once_the_caller_is_known(small):
    with small(query_bytes=1000) as gateway:
        assert gateway.get("/v1/search", params={"query": "x" * 900}).status_code == 200
        assert is_problem(gateway.get("/v1/search", params={"query": "x" * 1000}), 414)
        assert is_problem(gateway.get("/v1/search", "wrong", params={"query": "x" * 1000}), 401)
        assert gateway.post("/v1/search", {"query": "x" * 1000}).status_code == 200


def test_the_log_has_no_word_of_a_query_string(gateway, caplog):
    caplog.set_level("DEBUG")
    for path, token in (("/v1/memories/search", None), ("/v1/memories/add", None), ("/v1/search", "wrong")):
        gateway.get(path, token, params={"query": "hunter2", "weights": '{"hunter2": 1}', "hunter2": "x"})
    assert [each for each in caplog.records if each.name == "athand.requests"]
    ours = [each for each in caplog.records if each.name.startswith("athand")]
    assert not [each for each in ours if "hunter2" in f"{each.getMessage()} {vars(each)}"]


def test_json_that_is_too_deep_is_refused(gateway):
    for body in (b"[" * 100_000, b'{"a":' * 100 + b"1" + b"}" * 100):
        answer = gateway.ask("POST", "/v1/memories/add", content=body, headers={"Content-Type": "application/json"})
        assert is_problem(answer, 400)
    assert gateway.post("/v1/memories/add", {"content": "[{" * 1000 + '"\\'}).status_code == 200


def test_depth_is_counted_outside_of_strings():
    assert exceeds_depth(b"[[[]]]", 2)
    assert not exceeds_depth(b'[["[[[[\\"[["],["[["],[]]', 2)
    assert not exceeds_depth(b"[]" * 100, 2)


def test_a_body_must_be_json_by_name_and_by_nature(gateway):
    wrong = gateway.ask("POST", "/v1/memories/add", content=b'{"content": "x"}', headers={"Content-Type": "text/plain"})
    assert is_problem(wrong, 415)
    for body in (b"{", b"\xff\xfe", b"nonsense"):
        answer = gateway.ask("POST", "/v1/memories/add", content=body, headers={"Content-Type": "application/json"})
        assert is_problem(answer, 400)


def test_a_body_that_comes_too_slowly_is_given_up(small):
    with small(body_seconds=0.05) as gateway:
        sent = asyncio.run(answered_slowly(gateway))
        assert sent[0]["status"] == 408
        assert (b"connection", b"close") in sent[0]["headers"]


async def answered_slowly(gateway):
    """What is answered to a request whose body never comes."""
    sent = []
    scope = request(gateway, "POST", "/v1/memories/add", content_length="10")
    await gateway.app(scope, lambda: asyncio.sleep(NEVER), sent_to(sent))
    return sent


def request(gateway, method, path, query=b"", **headers):
    """A request as the server hands it to the app."""
    known = {"host": "127.0.0.1", "authorization": f"Bearer {gateway.owner}", **headers}
    listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in known.items()]
    return {"type": "http", "method": method, "path": path, "query_string": query, "headers": listed}


def sent_to(messages):
    async def send(message):
        messages.append(message)

    return send


@contextmanager
def searching_without_end(gateway, monkeypatch):
    """No search is answered as long as this is open; gives what is set when one has begun."""
    begun, over = threading.Event(), threading.Event()
    monkeypatch.setattr(gateway.workspace.athand, "search", lambda *_, **__: begun.set() or over.wait(NEVER))
    try:
        yield begun
    finally:
        over.set()


def test_what_is_not_done_when_the_server_ends_is_answered_too(small, monkeypatch):
    with small() as gateway, searching_without_end(gateway, monkeypatch) as begun:
        assert asyncio.run(cut_off(gateway, begun))[0]["status"] == 503


async def cut_off(gateway, begun):
    """What is answered to a request whose task the server cancels when the work has begun."""
    sent = []
    scope = request(gateway, "GET", "/v1/search", b"query=anything")
    task = asyncio.create_task(gateway.app(scope, lambda: asyncio.sleep(NEVER), sent_to(sent)))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    task.cancel()
    await task
    return sent


def test_who_asks_too_often_is_told_when_to_come_back(small):
    with small(calls=SELDOM) as gateway:
        other = gateway.token("search")
        answers = [gateway.get("/v1/status") for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 1000
        assert gateway.get("/v1/status", other).status_code == 200


def test_guessing_tokens_is_slowed_down_and_locks_nobody_out(small):
    with small(failures=SELDOM) as gateway:
        answers = [gateway.get("/v1/status", f"guess{number}") for number in range(5)]
        assert [each.status_code for each in answers] == [401, 401, 401, 429, 429]
        assert "retry-after" in answers[-1].headers
        assert gateway.get("/v1/status").status_code == 200


def test_too_many_requests_at_once_are_sent_away(small):
    with small(in_flight=0) as gateway:
        answer = gateway.get("/v1/status")
        assert is_problem(answer, 503)
        assert "retry-after" in answer.headers
        assert gateway.get("/healthz").status_code == 200


def test_what_would_wait_too_long_is_refused_at_once(small, monkeypatch):
    monkeypatch.setattr(threads, "_QUICK_THREADS", 1)
    monkeypatch.setattr(app, "Threads", lambda: threads.Threads(NEVER, longest_wait=0.0))
    with small() as gateway:
        assert gateway.get("/v1/status").status_code == 200  # so that it is known how long work takes
        with searching_without_end(gateway, monkeypatch) as begun:
            asyncio.run(ask_behind_another(gateway, begun))


async def ask_behind_another(gateway, begun):
    """While the only thread is busy, whoever asks is told to come back."""
    task = asyncio.create_task(
        gateway.app(request(gateway, "GET", "/v1/search", b"query=x"), lambda: asyncio.sleep(NEVER), sent_to([]))
    )
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    answer = await asyncio.to_thread(gateway.get, "/v1/status")
    assert is_problem(answer, 503) and "not started" in answer.json()["detail"]
    assert int(answer.headers["retry-after"]) >= 1
    task.cancel()
    await task


def test_one_caller_with_too_many_requests_in_progress_leaves_room_for_the_others(small, monkeypatch):
    with small(in_flight_of_one=1) as gateway, searching_without_end(gateway, monkeypatch) as begun:
        other = gateway.token("search")
        asyncio.run(ask_twice_and_leave(gateway, other, begun))
        assert gateway.get("/v1/status").status_code == 200  # nothing is counted that is over


async def ask_twice_and_leave(gateway, other, begun):
    """While one request is in progress, its caller has to wait, and another caller does not."""
    task = asyncio.create_task(
        gateway.app(request(gateway, "GET", "/v1/search", b"query=x"), lambda: asyncio.sleep(NEVER), sent_to([]))
    )
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    mine, others = [await asyncio.to_thread(gateway.get, "/v1/status", token) for token in (gateway.owner, other)]
    assert is_problem(mine, 429) and "in progress" in mine.json()["detail"] and "retry-after" in mine.headers
    assert others.status_code == 200
    task.cancel()
    await task


def test_a_meter_fills_up_again_with_time_and_forgets_the_oldest():
    now = [0.0]
    meter = RateLimiter(Rate(2, 1), clock=lambda: now[0])
    assert [meter.take("a") for _ in range(3)] == [0, 0, 1]
    now[0] = 1.5
    assert (meter.take("a"), meter.take("a") > 0, meter.take("b")) == (0, True, 0)
    for number in range(20_000):
        meter.take(str(number))
    assert len(meter._buckets) <= 10_000


def test_what_takes_too_long_is_answered_in_time(small, monkeypatch):
    real = route_table.operation_timeout
    monkeypatch.setattr(route_table, "operation_timeout", lambda operation: real(operation) / 600)
    with small() as gateway, searching_without_end(gateway, monkeypatch):
        answer = gateway.get("/v1/search", params=SEARCHING)
        assert is_problem(answer, 504)
        assert "It is told to stop" in answer.text
        assert gateway.get("/healthz").status_code == 200


def test_an_unexpected_error_is_told_to_the_log_only(gateway, monkeypatch, caplog):
    def broken(*_, **__):
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(gateway.workspace.athand, "search", broken)
    with caplog.at_level(logging.ERROR):
        answer = gateway.get("/v1/search", params=SEARCHING)
    assert is_problem(answer, 500)
    assert "secret" not in answer.text
    assert "the secret inside" in caplog.text


def test_a_disk_that_fails_is_a_problem_that_says_so(gateway, monkeypatch, caplog):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "/secret/place")

    monkeypatch.setattr(gateway.workspace.athand, "search", full)
    answer = gateway.get("/v1/search", params=SEARCHING)
    assert is_problem(answer, 503)
    assert "No space left" in answer.text
    assert "/secret/place" not in answer.text
    assert "/secret/place" in caplog.text

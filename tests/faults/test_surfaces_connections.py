"""Connections that misbehave: each is answered or closed, none is waited for, and the server is as it was before."""

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import psutil
import pytest
from tests.faults.surfaces import Home, Serve, running
from tests.waiting import PATIENCE, eventually

from athand.adapters.http.server import allow_connections, bind

MANY = 200
TOO_MANY = 1_100  # connections
HEAD = "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
ADD = "POST /v1/memories/add HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
SEARCH = ADD.replace("memories/add", "search")
JSON = "Content-Type: application/json\r\n"
BODY = '{"content": "smuggled in", "id": "smuggled"}'
BEHIND = f"{ADD}{JSON}Content-Length: {len(BODY)}\r\n\r\n{BODY}"  # what must never be taken for a request
# Requests that two readers understand differently, or that nobody does. Each is refused, and nothing behind it is read.
AMBIGUOUS = {
    "length and chunks": f"{ADD}{JSON}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{BEHIND}",
    "chunks and length": f"{ADD}{JSON}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{BEHIND}",
    "two lengths": f"{ADD}{JSON}Content-Length: 0\r\nContent-Length: {len(BEHIND)}\r\n\r\n{BEHIND}",
    "a length with a sign": f"{ADD}{JSON}Content-Length: +0\r\n\r\n{BEHIND}",
    "a length with a space": f"{ADD}{JSON}Content-Length : 0\r\n\r\n{BEHIND}",
    "unknown coding": f"{ADD}{JSON}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{BEHIND}",
    "two codings": f"{ADD}{JSON}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n{BEHIND}",
    "a broken chunk": f"{ADD}{JSON}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{BEHIND}",
    "two hosts": f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n{BEHIND}",
    "a long head": f"{HEAD}X: {'a' * 200_000}\r\n\r\n{BEHIND}",
    "no version": f"GET /healthz\r\n\r\n{BEHIND}",
    "NUL": f"GET /healthz\0 HTTP/1.1\r\nHost: localhost\r\n\r\n{BEHIND}",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    allow_connections()  # this process opens as many
    with running(Serve, Home(tmp_path_factory.mktemp("connections")).fill()) as server:
        assert server.call("search", query="staging")["hits"]
        yield server


@pytest.fixture(autouse=True)
def it_is_as_before(server):
    """After each test the server answers, has let go of all connections, and nothing has failed in it."""
    process = psutil.Process(server.process.pid)
    yield
    assert server.call("search", query="staging")["hits"]
    listening = 1
    assert eventually(lambda: len(process.net_connections("tcp")) == listening, PATIENCE), process.net_connections(
        "tcp"
    )
    assert "Traceback" not in server.said() and "ERROR" not in server.said()


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def sent(server, text, *, half_closed=False):
    """All that comes back until the server closes the connection."""
    with connect(server) as connection:
        connection.sendall(text.replace("{token}", server.token).encode("latin-1"))
        if half_closed:
            connection.shutdown(socket.SHUT_WR)
        return everything_from(connection)


def everything_from(connection):
    pieces = []
    try:
        while piece := connection.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass  # it was closed before all of the request was read
    return b"".join(pieces)


def test_what_the_server_can_do_is_told_to_many_at_once(server):
    with ThreadPoolExecutor(8) as threads:
        assert {each.status for each in threads.map(lambda _: server.send("GET", "/openapi.json"), range(8))} == {200}


@pytest.mark.parametrize("text", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_nothing_is_smuggled_behind_a_request_that_is_ambiguous(server, text):
    answer = sent(server, text)
    assert answer.count(b"HTTP/1.1 ") == 1 and answer.startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in answer and b"nosniff" in answer
    assert server.perform("memory_get", {"id": "smuggled"}).status == 404


def test_small_answers_are_sent_at_once():
    with bind("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP  # else asyncio leaves them waiting for more


def test_requests_sent_all_at_once_are_answered_in_their_order(server):
    paths = ["/healthz", "/v1/status", "/nowhere"] * 7
    whole = "".join(f"{HEAD}\r\n".replace("/v1/status", path) for path in paths)
    answer = sent(server, f"{whole[:-2]}Connection: close\r\n\r\n")
    statuses = [int(each.split()[0]) for each in answer.decode().split("HTTP/1.1 ")[1:]]
    assert statuses == [200, 200, 404] * 7


def test_many_connections_at_once_are_all_answered(server):
    with ExitStack() as stack:
        open_ones = [stack.enter_context(connect(server)) for _ in range(MANY)]
        for connection in open_ones:
            connection.sendall(f"{HEAD}Connection: close\r\n\r\n".replace("{token}", server.token).encode())
        statuses = {int(everything_from(connection).split()[1]) for connection in open_ones}
    assert statuses == {200}


def test_whoever_sends_slowly_holds_up_nobody(server):
    head, request = (
        HEAD.replace("{token}", server.token).encode(),
        b"POST /v1/search HTTP/1.1\r\nContent-Length: 100\r\n",
    )
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(MANY)]
        for number, connection in enumerate(slow):
            connection.sendall(head[:40] if number % 2 else request + head.partition(b"\r\n")[2] + b"\r\n{")
        assert all(server.call("search", query="staging")["hits"] for _ in range(5))


def test_heads_that_never_end_keep_nobody_out(server):
    with ExitStack() as stack:
        known = stack.enter_context(closing(server.connect()))
        assert server.send("GET", "/v1/status", connection=known).status == 200
        for _ in range(TOO_MANY):
            stack.enter_context(connect(server)).sendall(HEAD[:40].encode())
        assert server.send("GET", "/v1/status").status == 200
        assert server.send("GET", "/v1/status", connection=known).status == 200


def test_connections_of_one_token_that_stay_open_keep_nobody_out(server):
    token = server.give_token("idle", "search")
    request = f"{HEAD}\r\n".replace("/v1/status", "/nowhere").replace("{token}", token).encode()
    with ExitStack() as stack:
        known = stack.enter_context(closing(server.connect()))
        assert server.send("GET", "/v1/status", connection=known).status == 200
        for _ in range(TOO_MANY):
            stack.enter_context(connect(server)).sendall(request)
        assert server.send("GET", "/v1/status").status == 200
        assert server.send("GET", "/v1/status", connection=known).status == 200


def test_slow_bodies_of_one_token_leave_room_for_others(server):
    token = server.give_token("slow", "search")
    request = f"{SEARCH}{JSON}Content-Length: 100\r\n\r\n{{"
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(300)]
        for connection in slow:
            connection.sendall(request.replace("{token}", token).encode())
        assert server.call("search", query="staging")["hits"]
        refused = server.send("GET", "/v1/status", token=token)
        assert refused.status == 429 and refused.headers["Retry-After"] == "1"


def test_whoever_reads_slowly_holds_up_nobody(server):
    wanted = "".join(f"{HEAD}\r\n" for _ in range(10)).replace("/v1/status", "/openapi.json")
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connect(server)).sendall(wanted.replace("{token}", server.token).encode())
        assert all(server.call("search", query="staging")["hits"] for _ in range(5))


def test_whoever_has_stopped_sending_is_answered_or_left(server):
    for _ in range(10):
        assert sent(server, f"{HEAD}\r\n", half_closed=True)[:12] in (b"HTTP/1.1 200", b"")


def test_whoever_leaves_in_the_middle_is_forgotten(server):
    for cut in (HEAD[:10], HEAD, f"{HEAD}\r\n", f"{ADD}{JSON}Content-Length: 100\r\n\r\n{{"):
        for _ in range(10):
            with connect(server) as connection:
                connection.sendall(cut.replace("{token}", server.token).encode())


@pytest.mark.soak
@pytest.mark.parametrize("begun", [HEAD[:40], f"{ADD}{JSON}Content-Length: 100\r\n\r\n{{"], ids=["head", "body"])
def test_whoever_sends_too_slowly_is_told_or_left(server, begun):
    with connect(server) as connection:
        connection.sendall(begun.replace("{token}", server.token).encode())
        for _ in range(60):
            if connection_is_closed(connection):
                return
    raise AssertionError("It is still waited for.")


def connection_is_closed(connection):
    """After a second; one more byte is sent meanwhile."""
    connection.settimeout(1)
    try:
        connection.sendall(b"a")
        return connection.recv(65_536) == b"" or connection_is_closed(connection)
    except TimeoutError:
        return False
    except ConnectionError:
        return True

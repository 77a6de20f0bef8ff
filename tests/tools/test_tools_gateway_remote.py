"""Servers elsewhere: over HTTP in both dialects and over SSE, each with its own headers, whatever they answer."""

import asyncio
import gzip
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from chaos.harness import Scene, scene
from chaos.web import Older, answer, free_socket, serving, tool_server
from tests.tools.patience import begun
from tests.waiting import PATIENCE, eventually

from athand.errors import Unavailable
from athand.tools.model import Launch


@pytest.fixture
def ours() -> Iterator[Scene]:
    with scene() as made:
        yield made


@pytest.fixture(autouse=True)
def no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits to learn with which code a server elsewhere has ended: it has none."""
    monkeypatch.setattr("athand.tools.gateway.session._EXIT_WAIT", 0.0)


def remote(ours: Scene, url: str, transport: str = "http", name: str = "web", **options: Any) -> tuple[str, str]:
    return ours.add(Launch(name, transport, url=url, **options))


def test_a_new_server_is_reached_over_http(ours: Scene) -> None:
    with serving(tool_server().streamable_http_app()) as address:
        web = remote(ours, f"{address}/mcp")
        assert ours.text(web, "add", a=1, b=2) == "3"
        assert ours.listings[web][0].protocol == "2026-07-28"
        assert ours.text(web, "learn") == "learned"
        assert eventually(lambda: "new" in ours.names(web))
        ours.gateway.close()


def test_an_older_server_is_reached_over_http(ours: Scene) -> None:
    with serving(Older(tool_server().streamable_http_app())) as address:
        web = remote(ours, f"{address}/mcp")
        assert ours.text(web, "add", a=1, b=2) == "3"
        assert ours.listings[web][0].protocol == "2025-11-25"
        assert ours.text(web, "learn") == "learned"
        assert eventually(lambda: "new" in ours.names(web))
        ours.gateway.close()


@pytest.mark.parametrize("transport", ["sse", "http"])
def test_a_server_that_speaks_only_sse_is_reached(ours: Scene, transport: str) -> None:
    with serving(tool_server().sse_app()) as address:
        web = remote(ours, f"{address}/sse", transport)
        assert ours.text(web, "add", a=1, b=2) == "3"
        ours.gateway.close()


def test_headers_go_to_their_own_server_only(ours: Scene) -> None:
    with serving(tool_server().streamable_http_app()) as first, serving(tool_server().streamable_http_app()) as second:
        one = remote(ours, f"{first}/mcp", name="one", headers={"X-Key": "of-one", "Authorization": "Bearer one"})
        two = remote(ours, f"{second}/mcp", name="two", headers={"X-Key": "of-two"})
        seen = [json.loads(ours.text(server, "headers")) for server in (one, two)]
        ours.gateway.close()
    assert (seen[0]["x-key"], seen[0]["authorization"]) == ("of-one", "Bearer one")
    assert seen[1]["x-key"] == "of-two"
    assert "authorization" not in seen[1]


def test_a_redirect_does_not_carry_credentials_elsewhere(ours: Scene) -> None:
    seen: list[Any] = []

    async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(scope["headers"])
            await answer(send, 200)

    with serving(elsewhere) as other:

        async def redirecting(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                await answer(send, 307, b"", (b"location", f"{other}/mcp".encode()))

        with serving(redirecting) as address:
            web = remote(ours, f"{address}/mcp", headers={"Authorization": "Bearer secret"})
            with pytest.raises(Unavailable, match="does not work"):
                ours.text(web, "add")
            ours.gateway.close()
    assert seen == []


def test_a_server_that_is_not_there_is_named_without_its_secrets(ours: Scene) -> None:
    with free_socket() as listener:
        port = listener.getsockname()[1]
    web = remote(ours, f"http://me:hush@127.0.0.1:{port}/s/hush/mcp?key=hush")
    with pytest.raises(Unavailable, match=f"cannot reach http://127.0.0.1:{port}.") as caught:
        ours.text(web, "add")
    assert caught.value.quote and "hush" not in f"{caught.value} {caught.value.quote}"
    assert "hush" not in str(ours.gateway.states())


@pytest.mark.parametrize("status", [403, 500, 503])
def test_an_error_of_the_web_is_the_reason(ours: Scene, status: int) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await answer(send, status, b"<h1>secret stack trace</h1>", (b"content-type", b"text/html"))

    with serving(broken) as address:
        web = remote(ours, f"{address}/mcp")
        with pytest.raises(Unavailable, match=f"answered with HTTP status {status}"):
            ours.text(web, "add")


def test_a_server_that_accepts_and_says_nothing_keeps_its_limit(ours: Scene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE)
        web = remote(ours, f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", connect_seconds=200.0)
        call = begun(lambda: ours.text(web, "add"))
        with silent.accept()[0] as caller:
            assert caller.recv(1)
            ours.clock.advance(100)
            assert not call.done()
            ours.clock.advance(100)
            with pytest.raises(Unavailable, match="not ready within 200 s"):
                call.result(PATIENCE)
            begun(ours.gateway.close).result(PATIENCE)


def test_an_answer_without_end_is_not_read_to_its_end(ours: Scene) -> None:
    sent = [0]

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while sent[0] < 100:
            await send({"type": "http.response.body", "body": b"[" * 1_000_000, "more_body": True})
            sent[0] += 1
            await asyncio.sleep(0)

    with serving(endless) as address:
        web = remote(ours, f"{address}/mcp")
        with pytest.raises(Unavailable, match="more than 16 MB"):
            ours.text(web, "add")
        ours.gateway.close()


def test_an_answer_that_would_unpack_to_anything_is_refused(ours: Scene) -> None:
    async def packed(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = ((b"content-type", b"application/json"), (b"content-encoding", b"gzip"))
            await answer(send, 200, gzip.compress(b"[" * 1_000_000), *headers)

    with serving(packed) as address, pytest.raises(Unavailable, match="a compressed response"):
        ours.text(remote(ours, f"{address}/mcp"), "add")


def test_a_session_that_was_forgotten_is_opened_again(ours: Scene) -> None:
    with serving(Older(tool_server().streamable_http_app())) as address:
        web = remote(ours, f"{address}/mcp")
        assert ours.text(web, "add", a=1, b=2) == "3"
    again = free_socket(int(address.rsplit(":", 1)[1]))
    with serving(Older(tool_server().streamable_http_app()), again):
        assert ours.text(web, "add", a=3, b=4) == "7"
        ours.gateway.close()


def test_a_server_that_goes_away_is_lost_and_found_again(ours: Scene) -> None:
    with serving(tool_server().streamable_http_app()) as address:
        web = remote(ours, f"{address}/mcp")
        assert ours.text(web, "add", a=1, b=2) == "3"
    with pytest.raises(Unavailable, match="cannot reach http"):
        ours.text(web, "add", a=1, b=2)
    again = free_socket(int(address.rsplit(":", 1)[1]))
    with serving(tool_server().streamable_http_app(), again):
        ours.gateway.refresh(web)
        assert ours.text(web, "add", a=3, b=4) == "7"
        ours.gateway.close()

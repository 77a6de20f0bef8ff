"""Reaching a server over HTTP: its headers, its tokens and nobody else's."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from athand.tools.gateway.link import Link

LARGEST = 16_000_000  # bytes of one answer
_SILENCE = 300.0  # seconds a stream may be silent; calls have limits of their own


def remote_server(link: Link, transport: str, auth: httpx2.Auth | None) -> AbstractAsyncContextManager[Any]:
    """The streams of messages from and to a server elsewhere."""
    return _over_sse(link, auth) if transport == "sse" else _over_http(link, auth)


@asynccontextmanager
async def _over_http(link: Link, auth: httpx2.Auth | None) -> AsyncIterator[tuple[Any, Any]]:
    async with (
        _client(link, auth) as client,
        streamable_http_client(link.launch.url, http_client=client, max_sse_event_size=LARGEST) as streams,
    ):
        yield streams


@asynccontextmanager
async def _over_sse(link: Link, login: httpx2.Auth | None) -> AsyncIterator[tuple[Any, Any]]:
    def ours(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:
        return _client(link, login)

    async with sse_client(link.launch.url, httpx_client_factory=ours) as streams:
        yield streams


def _client(link: Link, auth: httpx2.Auth | None) -> httpx2.AsyncClient:
    async def look(response: httpx2.Response) -> None:
        _note(link, response)
        _bound(link, response)

    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity", **link.launch.headers},
        auth=auth,
        timeout=httpx2.Timeout(link.launch.connect_seconds, read=max(_SILENCE, link.launch.call_seconds)),
        event_hooks={"response": [look]},
    )


def _note(link: Link, response: httpx2.Response) -> None:
    """Remember what went wrong, with this server and not with those that give out tokens."""
    asked, ours = response.request.url, httpx2.URL(link.launch.url)
    if (asked.host, asked.port, asked.path) == (ours.host, ours.port, ours.path):
        link.status = response.status_code if response.status_code >= 400 else None


def _bound(link: Link, response: httpx2.Response) -> None:
    """Read no more than is allowed; events have a limit each, as their stream may last for days."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _given_up(link, response.request, "it sent a packed answer, which was not asked for")
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream, response.request, link)


def _given_up(link: Link, request: httpx2.Request, why: str) -> httpx2.ReadError:
    """What ends the connection; whoever was waiting is told why."""
    link.problem = why
    return httpx2.ReadError(why, request=request)


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of an answer, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, link: Link) -> None:
        self._stream, self._request, self._link = stream, request, link

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST:
                why = f"it sent an answer of more than {LARGEST // 1_000_000} MB"
                raise _given_up(self._link, self._request, why)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()

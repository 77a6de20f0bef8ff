"""HTTP and SSE transports, with limits on sizes and times."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from athand.tools.gateway.diagnostics import Diagnostics

LARGEST = 16_000_000  # bytes of one response
_SILENCE = 300.0  # seconds a stream may be silent; calls have their own limits


def remote_server(
    diagnostics: Diagnostics, transport: str, auth: httpx2.Auth | None
) -> AbstractAsyncContextManager[Any]:
    """The message streams of a remote server."""
    return _over_sse(diagnostics, auth) if transport == "sse" else _over_http(diagnostics, auth)


@asynccontextmanager
async def _over_http(diagnostics: Diagnostics, auth: httpx2.Auth | None) -> AsyncIterator[tuple[Any, Any]]:
    async with (
        _client(diagnostics, auth) as client,
        streamable_http_client(diagnostics.launch.url, http_client=client, max_sse_event_size=LARGEST) as streams,
    ):
        yield streams


@asynccontextmanager
async def _over_sse(diagnostics: Diagnostics, login: httpx2.Auth | None) -> AsyncIterator[tuple[Any, Any]]:
    def client_factory(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:
        return _client(diagnostics, login)

    async with sse_client(diagnostics.launch.url, httpx_client_factory=client_factory) as streams:
        yield streams


def _client(diagnostics: Diagnostics, auth: httpx2.Auth | None) -> httpx2.AsyncClient:
    async def on_response(response: httpx2.Response) -> None:
        _record_status(diagnostics, response)
        _limit_size(diagnostics, response)

    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity", **diagnostics.launch.headers},
        auth=auth,
        timeout=httpx2.Timeout(diagnostics.launch.connect_seconds, read=max(_SILENCE, diagnostics.launch.call_seconds)),
        event_hooks={"response": [on_response]},
    )


def _record_status(diagnostics: Diagnostics, response: httpx2.Response) -> None:
    """Record an error status of the server itself, not of its authorization server."""
    requested, own = response.request.url, httpx2.URL(diagnostics.launch.url)
    if (requested.host, requested.port, requested.path) == (own.host, own.port, own.path):
        diagnostics.status = response.status_code if response.status_code >= 400 else None


def _limit_size(diagnostics: Diagnostics, response: httpx2.Response) -> None:
    """Limit the size of a response; SSE streams are exempt, since each event has its own limit."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _abort(diagnostics, response.request, "it sent a compressed response, which was not requested")
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _LimitedStream(response.stream, response.request, diagnostics)


def _abort(diagnostics: Diagnostics, request: httpx2.Request, why: str) -> httpx2.ReadError:
    """Record the problem; returns the error that closes the connection."""
    diagnostics.problem = why
    return httpx2.ReadError(why, request=request)


class _LimitedStream(httpx2.AsyncByteStream):
    """The bytes of a response, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, diagnostics: Diagnostics) -> None:
        self._stream, self._request, self._diagnostics = stream, request, diagnostics

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST:
                why = f"it sent a response of more than {LARGEST // 1_000_000} MB"
                raise _abort(self._diagnostics, self._request, why)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()

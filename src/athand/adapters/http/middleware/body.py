"""Limits the query string, and reads the body before the route does: limits of size, time and nesting depth."""

import asyncio
import re
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from athand.adapters.http.middleware import CLOSE_CONNECTION, Limits, get_headers
from athand.adapters.http.responses import ProblemResponse

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_OPENING = b"[{"


class BodyLimitMiddleware:
    """Answers 400, 408, 413 and 415 for bodies that are too deep, too slow, too large or not JSON; 414 for queries."""

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if len(scope["query_string"]) > self._limits.query_bytes:
            return await self._query_too_long()(scope, receive, send)
        if not _has_body(scope):
            return await self._app(scope, receive, send)
        body = await self._read(scope, receive)
        if body is None:
            return
        if isinstance(body, ProblemResponse):
            return await body(scope, receive, send)
        whole = {"type": "http.request", "body": body, "more_body": False}
        await self._app(scope, replay(whole, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | ProblemResponse | None:
        """The body; None if the client has disconnected."""
        declared = get_headers(scope, b"content-length")
        if declared and declared[0].isdigit() and int(declared[0][:18]) > self._limits.body_bytes:
            return self._too_large()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await self._collect(receive)
        except TimeoutError:
            detail = f"The body did not arrive within {self._limits.body_seconds:.0f} s."
            return ProblemResponse(HTTPStatus.REQUEST_TIMEOUT, detail, headers=CLOSE_CONNECTION)
        return body if not isinstance(body, bytes) else self._check(scope, body) or body

    def _check(self, scope: Scope, body: bytes) -> ProblemResponse | None:
        if exceeds_depth(body, self._limits.depth):
            return ProblemResponse(HTTPStatus.BAD_REQUEST, f"The JSON has more than {self._limits.depth} levels.")
        content_type = (get_headers(scope, b"content-type") or [""])[0].partition(";")[0].strip().lower()
        if body and content_type != "application/json":
            detail = f"The body is sent as {content_type or 'nothing'!r}. Send JSON as: Content-Type: application/json"
            return ProblemResponse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
        return None

    async def _collect(self, receive: Receive) -> bytes | ProblemResponse | None:
        chunks, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self._limits.body_bytes:
                return self._too_large()
            if not message.get("more_body"):
                return b"".join(chunks)

    def _query_too_long(self) -> ProblemResponse:
        detail = (
            f"The query string is longer than {self._limits.query_bytes:,} bytes. Use POST where the route takes it."
        )
        return ProblemResponse(HTTPStatus.REQUEST_URI_TOO_LONG, detail, headers=CLOSE_CONNECTION)

    def _too_large(self) -> ProblemResponse:
        detail = f"The body is larger than {self._limits.body_bytes:,} bytes."
        return ProblemResponse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, headers=CLOSE_CONNECTION)


def exceeds_depth(data: bytes, depth: int) -> bool:
    """Whether JSON is nested deeper than `depth`; brackets within strings do not count."""
    if data.count(b"[") + data.count(b"{") <= depth:
        return False
    level = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", data)):
        level += 1 if bracket in _OPENING else -1
        if level > depth:
            return True
    return False


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def replay(first: Message, receive: Receive) -> Receive:
    """A `receive` that returns this message first, then whatever the connection sends."""
    messages = [first]

    async def receive_replayed() -> Message:
        return messages.pop() if messages else await receive()

    return receive_replayed

"""MCP over streamable HTTP: an ASGI app behind the authentication of the HTTP server."""

import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from athand.adapters.eviction import Most, choose_to_leave
from athand.adapters.http.middleware import IS_STILL_KNOWN
from athand.adapters.http.middleware.body import replay
from athand.adapters.mcp.http_sessions import HttpSession, HttpSessions
from athand.adapters.mcp.request_validation import has_wrong_id, wrong_id_error
from athand.adapters.mcp.server import CALLER, create_mcp_server
from athand.adapters.operations import AppContext
from athand.adapters.operations.threads import Threads
from athand.errors import AthandError

log = logging.getLogger("athand")

_IDLE_SECONDS = 1_800.0  # until an unused session is dropped
_SESSIONS = Most(of_one=100, of_all=1_000)
_STREAMS = Most(of_one=64, of_all=192)
_CHECK_SECONDS = 0.25  # between looks whether the tokens of the open streams are still good
_SESSION_HEADER = b"mcp-session-id"


@dataclass(eq=False, slots=True)
class _Stream:
    """An open event stream: its caller, and whether that caller's token is still good."""

    group: str
    is_still_known: Callable[[], bool]
    idle_since: float = field(default_factory=time.monotonic)  # it only listens
    ending: anyio.CancelScope = field(default_factory=anyio.CancelScope)


def _has_flows(ctx: AppContext) -> bool:
    """Whether the store has recorded flows; not if it cannot be read, which the requests then say."""
    try:
        return bool(ctx.athand.flows.sessions(1))
    except AthandError as error:
        log.warning("%s", error)
        return False


class McpEndpoint:
    """Serves MCP within the scopes of the caller; a session can only be used by the caller who opened it."""

    def __init__(
        self,
        ctx: AppContext,
        *,
        toolsets: Sequence[str] | None = None,
        profile: str | None = None,
        threads: Threads | None = None,
    ) -> None:
        # Without a caller in the ASGI scope nothing is allowed.
        self._server = create_mcp_server(
            ctx, toolsets=toolsets, profile=profile, scopes=(), threads=threads, has_flows=_has_flows(ctx)
        )
        self._manager: StreamableHTTPSessionManager | None = None
        self._sessions = HttpSessions(_SESSIONS)
        self._streams: list[_Stream] = []

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the context is open; event streams that are still open end with it."""
        # Its own limit counts requests that open no session, too.
        self._manager = StreamableHTTPSessionManager(
            self._server, session_idle_timeout=_IDLE_SECONDS, max_sessions=2 * _SESSIONS.of_all
        )
        async with self._manager.run(), anyio.create_task_group() as tasks:
            tasks.start_soon(self._end_unknown_streams)
            try:
                yield
            finally:
                self.end_streams()
                tasks.cancel_scope.cancel()

    def end_streams(self) -> None:
        """End the event streams of GET requests; other requests go on."""
        for stream in self._streams:
            stream.ending.cancel()

    async def _end_unknown_streams(self) -> None:
        """End the streams of tokens that were revoked or changed."""
        while True:
            await anyio.sleep(_CHECK_SECONDS)
            for stream in self._streams:
                if not stream.is_still_known():
                    stream.ending.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._manager is None:
            raise RuntimeError("The MCP endpoint is used before it runs.")
        caller = scope.get(CALLER)
        scope_with_user = {**scope, "user": None if caller is None else _sdk_user(caller.name)}
        if scope["method"] == "POST":
            request = await receive()  # the whole body: it has been read already
            if has_wrong_id(request.get("body", b"")):
                error = wrong_id_error().model_dump_json(by_alias=True, exclude_unset=True)
                return await Response(error, HTTPStatus.BAD_REQUEST, media_type="application/json")(
                    scope, receive, send
                )
            receive = replay(request, receive)
        if scope["method"] == "GET":
            await self._stream(self._manager, scope_with_user, receive, send)
        else:
            await self._answer(self._manager, scope_with_user, receive, send)

    async def _answer(self, manager: StreamableHTTPSessionManager, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that opens, uses or ends a session, or needs none."""
        caller = _find_name(scope)
        session_id = _find_session(scope["headers"])
        if session_id is not None:
            with self._sessions.get(session_id, caller).use():
                await manager.handle_request(scope, receive, send)
            if scope["method"] == "DELETE":
                self._sessions.forget(session_id, caller)
            return
        leaving: HttpSession | None = None

        async def send_and_note(message: Message) -> None:
            nonlocal leaving
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
                opened = _find_session(message["headers"])
                leaving = self._sessions.add(opened, caller) if opened is not None else None
            await send(message)

        await manager.handle_request(scope, receive, send_and_note)
        if leaving is not None:
            await _end_session(manager, leaving)

    async def _stream(self, manager: StreamableHTTPSessionManager, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an event stream until the client or the server ends it."""
        stream, has_started = _Stream(_find_name(scope), scope[IS_STILL_KNOWN]), False
        session = self._sessions.get(_find_session(scope["headers"]) or "", stream.group)

        async def send_and_note(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        self._streams.append(stream)
        leaving = choose_to_leave(self._streams, stream.group, _STREAMS)
        if leaving is not None:
            self._streams.remove(leaving)
            leaving.ending.cancel()
        with stream.ending:
            try:
                with session.use():
                    await manager.handle_request(scope, receive, send_and_note)
            finally:
                self._streams = [each for each in self._streams if each is not stream]
        if stream.ending.cancelled_caught and has_started:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _end_session(manager: StreamableHTTPSessionManager, session: HttpSession) -> None:
    """End a session as its client would."""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def drop(_: Message) -> None:
        """Nobody has asked."""

    headers = [(_SESSION_HEADER, session.id.encode("ascii"))]
    request: Scope = {"type": "http", "method": "DELETE", "path": "/", "query_string": b"", "headers": headers}
    await manager.handle_request({**request, "user": _sdk_user(session.group)}, receive, drop)


def _find_session(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    return next((value.decode("latin-1") for name, value in headers if name.lower() == _SESSION_HEADER), None)


def _find_name(scope: Scope) -> str:
    caller = scope.get(CALLER)
    return "" if caller is None else caller.name


def _sdk_user(caller: str) -> AuthenticatedUser:
    """The caller as the SDK's user, to whom it binds the session."""
    return AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))

"""MCP over streamable HTTP: an ASGI app behind the authentication of the HTTP server."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from athand.adapters.mcp.server import CALLER, create_mcp_server
from athand.adapters.operations import AppContext
from athand.adapters.operations.threads import Threads

_MAX_SESSIONS = 1_000
_IDLE_SECONDS = 1_800.0  # until an unused session is dropped
_MAX_STREAMS = 64  # event streams of one caller


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
        self._server = create_mcp_server(ctx, toolsets=toolsets, profile=profile, scopes=(), threads=threads)
        self._manager: StreamableHTTPSessionManager | None = None
        self._streams: dict[anyio.CancelScope, str] = {}  # the callers of the open event streams, oldest first

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the context is open; event streams that are still open end with it."""
        self._manager = StreamableHTTPSessionManager(
            self._server, session_idle_timeout=_IDLE_SECONDS, max_sessions=_MAX_SESSIONS
        )
        async with self._manager.run():
            try:
                yield
            finally:
                self.end_streams()

    def end_streams(self) -> None:
        """End the event streams of GET requests; other requests go on."""
        for stream in list(self._streams):
            stream.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._manager is None:
            raise RuntimeError("The MCP endpoint is used before it runs.")
        scope_with_user = {**scope, "user": _sdk_user(scope)}
        if scope["method"] == "GET":
            await self._stream(self._manager, scope_with_user, receive, send)
        else:
            await self._manager.handle_request(scope_with_user, receive, send)

    async def _stream(self, manager: StreamableHTTPSessionManager, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an event stream until the client or the server ends it."""
        caller, has_started = _find_name(scope), False
        self._make_room(caller)

        async def send_and_note(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        with anyio.CancelScope() as cancel_scope:
            self._streams[cancel_scope] = caller
            try:
                await manager.handle_request(scope, receive, send_and_note)
            finally:
                self._streams.pop(cancel_scope, None)
        if cancel_scope.cancelled_caught and has_started:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _make_room(self, caller: str) -> None:
        """End the oldest streams of a caller who has as many as one may have."""
        own = [stream for stream, owner in self._streams.items() if owner == caller]
        for stream in own[: max(0, len(own) - _MAX_STREAMS + 1)]:
            del self._streams[stream]
            stream.cancel()


def _find_name(scope: Scope) -> str:
    caller = scope.get(CALLER)
    return "" if caller is None else caller.name


def _sdk_user(scope: Scope) -> AuthenticatedUser | None:
    """The caller as the SDK's user, to whom it binds the session."""
    caller = scope.get(CALLER)
    if caller is None:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=sorted(caller.scopes)))

"""MCP over streamable HTTP: an ASGI app for the HTTP gateway, which has checked who is calling."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from athand.adapters.mcp.server import CALLER, mcp_server
from athand.adapters.operations import AppContext
from athand.adapters.operations.threads import Threads

_MOST_SESSIONS = 1_000
_IDLE = 1_800.0  # seconds until a session that nobody uses is forgotten


class McpEndpoint:
    """Serves MCP; what may be done is what the scopes of the caller allow, and a session belongs to its caller."""

    def __init__(
        self,
        workspace: AppContext,
        *,
        toolsets: Sequence[str] | None = None,
        profile: str | None = None,
        threads: Threads | None = None,
    ) -> None:
        # Without a caller there are no scopes: an app that forgets to say who calls opens nothing.
        self._server = mcp_server(workspace, toolsets=toolsets, profile=profile, scopes=(), threads=threads)
        self._manager: StreamableHTTPSessionManager | None = None
        self._open: set[anyio.CancelScope] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves as long as this is open; what still streams then is ended."""
        self._manager = StreamableHTTPSessionManager(
            self._server, session_idle_timeout=_IDLE, max_sessions=_MOST_SESSIONS
        )
        async with self._manager.run():
            try:
                yield
            finally:
                self.end_streams()

    def end_streams(self) -> None:
        """End the streams on which clients only listen; requests that are being answered go on."""
        for stream in list(self._open):
            stream.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._manager is None:
            raise RuntimeError("The MCP endpoint is used before it is running.")
        owned = {**scope, "user": _user(scope)}
        if scope["method"] == "GET":
            await self._listen(self._manager, owned, receive, send)
        else:
            await self._manager.handle_request(owned, receive, send)

    async def _listen(self, manager: StreamableHTTPSessionManager, scope: Scope, receive: Receive, send: Send) -> None:
        """A stream that lasts until the client or the server ends it."""
        began = False

        async def noting(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        with anyio.CancelScope() as listening:
            self._open.add(listening)
            try:
                await manager.handle_request(scope, receive, noting)
            finally:
                self._open.discard(listening)
        if listening.cancelled_caught and began:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _user(scope: Scope) -> AuthenticatedUser | None:
    """Whose session it is, in the words of the SDK: it lets nobody else use it."""
    caller = scope.get(CALLER)
    if caller is None:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=sorted(caller.scopes)))

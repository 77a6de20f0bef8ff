"""Servers on the loopback of this machine, for the time of a test."""

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from tests.waiting import PATIENCE

App = Callable[[Any, Any, Any], Awaitable[None]]


def free_socket(port: int = 0) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    return listener


@contextmanager
def serving(app: App, listener: socket.socket | None = None) -> Iterator[str]:
    """The address of a web application that runs in a thread."""
    listener = listener or free_socket()
    listener.listen(100)
    config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


def tool_server(name: str = "web", **options: Any) -> MCPServer:
    """A server with tools that tell what reaches it."""
    server = MCPServer(name, version="2.0", **options)

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def headers(context: Context) -> dict[str, str]:
        """All headers that came with the request."""
        return dict(context.headers or {})

    @server.tool()
    async def learn(context: Context) -> str:
        """Offer one more tool from now on."""
        server.add_tool(lambda: "new", name="new", description="A new tool.")
        if context.session.protocol_version == "2026-07-28":
            await context.notify_tools_changed()
        else:
            await context.session.send_tool_list_changed()
        return "learned"

    return server


class Older:
    """Makes a server one of the older kind: it knows nothing but the handshake."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if (b"mcp-method", b"server/discover") in scope.get("headers", []):
            await answer(send, 404)
        else:
            await self.app(scope, receive, send)


async def answer(send: Any, status: int, body: bytes = b"", *headers: tuple[bytes, bytes]) -> None:
    """A plain answer."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})

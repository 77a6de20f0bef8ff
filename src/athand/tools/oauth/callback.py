"""OAuth redirect listener: receives one authorization code on a local port."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from secrets import compare_digest
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

from athand.errors import Unavailable
from athand.tools.gateway.diagnostics import sanitize

_REQUEST_SECONDS = 10.0  # seconds for the browser to send its request
_PAGE = "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n{text}\r\n"


class Callback:
    """Accepts the redirect with the expected state and rejects all others."""

    def __init__(self, open_page: Callable[[str], None]) -> None:
        self.address = ""
        self._open_page = open_page
        self._state = ""
        self._answer = _new_future()

    async def open_login_page(self, url: str) -> None:
        """Open the authorization page for the user."""
        self._answer = _new_future()
        self._state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        shown = asyncio.wrap_future(_open_in_thread(self._open_page, url))
        either: set[asyncio.Future[Any]] = {shown, self._answer}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if shown.done():
            shown.result()

    async def wait_for_code(self) -> AuthorizationCodeResult:
        """Wait for the authorization code."""
        return await self._answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one HTTP request."""
        with suppress(TimeoutError, ConnectionError, ValueError):
            async with asyncio.timeout(_REQUEST_SECONDS):
                line = (await reader.readline()).decode("ascii", "replace").split(" ")
                status, text = (
                    self._handle_request(line[1]) if len(line) == 3 else ("400 Bad Request", "Not understood.")
                )
                writer.write(_PAGE.format(status=status, text=text).encode())
                await writer.drain()
        writer.close()

    def _handle_request(self, target: str) -> tuple[str, str]:
        parts = urlsplit(target)
        parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path != "/callback":
            return "404 Not Found", "There is nothing here."
        if not self._state or not compare_digest(parameters.get("state", "").encode(), self._state.encode()):
            return "400 Bad Request", "This answer does not belong to the login that was started."
        if not self._answer.done():
            self._resolve(parameters)
        return "200 OK", "Athand has the answer. You can close this page."

    def _resolve(self, parameters: dict[str, str]) -> None:
        if parameters.get("code"):
            self._answer.set_result(
                AuthorizationCodeResult(code=parameters["code"], state=parameters["state"], iss=parameters.get("iss"))
            )
        else:
            self._answer.set_exception(
                Unavailable(f"The login was refused: {sanitize(parameters.get('error', 'no reason'))}.")
            )


def _open_in_thread(open_page: Callable[[str], None], url: str) -> "Future[None]":
    """Open a page in a daemon thread: some browsers return only when they are closed."""
    shown: Future[None] = Future()
    shown.set_running_or_notify_cancel()

    def show() -> None:
        try:
            open_page(url)
            shown.set_result(None)
        except Exception as error:  # passed on through the future
            shown.set_exception(error)

    threading.Thread(target=show, name="athand-page", daemon=True).start()
    return shown


def _new_future() -> "asyncio.Future[AuthorizationCodeResult]":
    return asyncio.get_running_loop().create_future()


@asynccontextmanager
async def listen_for_callback(open_page: Callable[[str], None]) -> AsyncIterator[Callback]:
    """Listen on a free local port during a login."""
    callback = Callback(open_page)
    server = await asyncio.start_server(callback.serve, "127.0.0.1", 0)
    callback.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/callback"
    try:
        yield callback
    finally:
        server.close()
        await server.wait_closed()

"""Request timeout: answers 504 when a route exceeds its time, and ends a call of a tool when its client leaves."""

import asyncio
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from athand.adapters.http.middleware import ROUTE
from athand.adapters.http.middleware.body import replay
from athand.adapters.http.responses import ProblemResponse
from athand.adapters.http.route_table import RouteRule

_IS_STOPPED = "It is told to stop; what it has written stays, so look before you ask again."


class TimeoutMiddleware:
    """Answers 504 after the route's timeout. A worker thread ends between two pieces of its work."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._abandoned: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rule: RouteRule | None = scope.get(ROUTE)
        if rule is None or rule.timeout is None:
            await self._app(scope, receive, send)
        else:
            await self._run_with_timeout(rule.timeout, rule.scope == "call-tools", scope, receive, send)

    async def _run_with_timeout(
        self, seconds: float, ends_with_client: bool, scope: Scope, receive: Receive, send: Send
    ) -> None:
        response = _SwitchableSend(send)
        leaving: asyncio.Task[Message] | None = None
        if ends_with_client:
            receive, leaving = await _watch(receive)
        task = asyncio.create_task(self._run(scope, receive, response.send))
        status, reason = HTTPStatus.GATEWAY_TIMEOUT, f"This took longer than {seconds:g} s."
        try:
            waited = (task,) if leaving is None else (task, leaving)
            await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if leaving is not None and leaving.done():
                status, reason = HTTPStatus.REQUEST_TIMEOUT, "The client did not wait for the answer."
        except asyncio.CancelledError:  # by the server, after its grace period
            status, reason = HTTPStatus.SERVICE_UNAVAILABLE, "The server ends before this is done."
        finally:
            if leaving is not None:
                leaving.cancel()
        self._abandon(task)
        if task.done() and not task.cancelled():
            return task.result()
        if response.close():
            await ProblemResponse(status, f"{reason} {_IS_STOPPED}")(scope, receive, send)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def _abandon(self, task: asyncio.Task[None]) -> None:
        """Cancel a task that is not done; a reference is kept until it has ended."""
        if not task.done():
            self._abandoned.add(task)
            task.add_done_callback(self._discard)
            task.cancel()

    def _discard(self, task: asyncio.Task[None]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as retrieved


async def _watch(receive: Receive) -> tuple[Receive, asyncio.Task[Message]]:
    """A `receive` for the route, whose body is read already, and a task that ends when the client has left."""
    first = await receive()
    leaving = asyncio.ensure_future(receive())

    async def receive_then_wait() -> Message:
        return await asyncio.shield(leaving)

    return replay(first, receive_then_wait), leaving


class _SwitchableSend:
    """Passes a route's response on until it is closed."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_started = self._is_closed = False

    async def send(self, message: Message) -> None:
        if not self._is_closed:
            self._has_started = True
            await self._send(message)

    def close(self) -> bool:
        """Drop whatever the route sends from now on; true if it has sent nothing yet."""
        self._is_closed = True
        return not self._has_started

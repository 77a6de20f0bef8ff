"""No request lasts for ever: what takes too long is answered."""

import asyncio
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from athand.adapters.http.answers import Problem
from athand.adapters.http.guards import PLACE
from athand.adapters.http.places import Place

_UNSURE = "It may still be done; look before you ask again."


class Clock:
    """Answers 504 when the time of a place is over. Work in a thread cannot be cut off; it goes on unseen."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._late: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place: Place | None = scope.get(PLACE)
        if place is None or place.seconds is None:
            await self._app(scope, receive, send)
        else:
            await self._timed(place.seconds, scope, receive, send)

    async def _timed(self, seconds: float, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(send)
        task = asyncio.create_task(self._run(scope, receive, answer.send))
        status, said = HTTPStatus.GATEWAY_TIMEOUT, f"This took longer than {seconds:g} s."
        try:
            await asyncio.wait((task,), timeout=seconds)
        except asyncio.CancelledError:  # by the server, which has waited for us as long as it could
            status, said = HTTPStatus.SERVICE_UNAVAILABLE, "The server ends before this is done."
        self._leave(task)
        if task.done() and not task.cancelled():
            return task.result()
        if answer.take():
            await Problem(status, f"{said} {_UNSURE}")(scope, receive, send)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def _leave(self, task: asyncio.Task[None]) -> None:
        """Give up what is not done; it is kept in mind until it has ended."""
        if not task.done():
            self._late.add(task)
            task.add_done_callback(self._forget)
            task.cancel()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._late.discard(task)
        if not task.cancelled():
            task.exception()  # nobody is left to be told


class _Answer:
    """The answer of a route, until somebody else takes over."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = self._taken = False

    async def send(self, message: Message) -> None:
        if not self._taken:
            self._begun = True
            await self._send(message)

    def take(self) -> bool:
        """Silence the route; whether it has said nothing yet."""
        self._taken = True
        return not self._begun

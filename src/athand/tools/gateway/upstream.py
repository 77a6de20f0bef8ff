"""One server over time: started when somebody needs it, stopped when nobody does, left alone while it fails."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from athand.errors import Unavailable
from athand.tools.gateway.backoff import Backoff
from athand.tools.gateway.life import Life, Lost, SessionEnded
from athand.tools.gateway.model import Listing, ServerState
from athand.tools.gateway.timing import Turns, within
from athand.tools.launch import Launch, ServerKey

T = TypeVar("T")

_STOPPING = 4.0  # seconds for a server to stop before we insist


@dataclass(frozen=True, slots=True)
class Office:
    """What all servers share."""

    launch: Callable[[ServerKey], Awaitable[Launch]]
    deliver: Callable[[ServerKey, Listing], Awaitable[None]]
    auth: Callable[[ServerKey, Launch], Any]
    dice: Callable[[], float]
    turns: Turns
    idle_seconds: float


class Upstream:
    """Everything about one server. All of it runs in the thread of the gateway."""

    def __init__(self, key: ServerKey, office: Office) -> None:
        self.key, self.name, self._office = key, key[1], office
        self.state = ServerState()
        self.settled = asyncio.Event()  # a start has worked, and its tools were handed over; or it has failed
        self._backoff = Backoff(office.dice)
        self._life: Life | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight = 0
        self._is_wanted = self._is_stopped = False
        self._retry: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None

    def connect(self) -> None:
        """Have it connected, and try again until it is."""
        self._is_wanted = not self._is_stopped
        if self._life is None and self._backoff.is_open(_now()):
            self._try_later()
        elif self._life is None and self._is_wanted:
            self._begin(in_turn=True)

    async def call(
        self, tool: str, arguments: dict[str, Any], seconds: float | None, check: Callable[[], None]
    ) -> dict[str, Any]:
        """What a tool answers; the server is started if it must be, and then its tools are checked before the call."""
        until = None if seconds is None else _now() + seconds
        try:
            return await self._called(tool, arguments, until, check)
        except SessionEnded:
            return await self._called(tool, arguments, until, check)

    async def refresh(self, seconds: float | None) -> None:
        """List the tools again and hand them over; a server that had failed is tried at once."""
        until = None if seconds is None else _now() + seconds
        self._backoff.until = None
        has_lived = self._life is not None and self._life.delivered.done()
        life = await self._alive(until)
        await self._in_time(until, life.list_again() if has_lived else _waited(life.delivered))

    def begin_again(self) -> None:
        """Forget the failures and whatever lives now: something has changed for the better."""
        self._backoff.call_worked()
        if self._life is not None:
            self._let_go(self._life)
        self.connect()

    async def stop(self) -> None:
        """End it for good, within a few seconds."""
        self._is_stopped, self._is_wanted = True, False
        for timer in (self._retry, self._idle):
            if timer is not None:
                timer.cancel()
        for _ in range(2):  # a first time kindly; the second ends what hangs while it says goodbye
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_STOPPING)

    async def _alive(self, until: float | None) -> Life:
        """A life that is ready for calls."""
        if self._is_stopped:
            raise Unavailable(f"The server {self.name} was stopped.")
        if self._life is not None and self._life.is_lost:
            self._let_go(self._life)  # it has closed its side, and is only being cleared away
        if self._life is None and self._backoff.is_open(_now()):
            raise Unavailable(f"The server {self.name} does not work: {self.state.reason}. {self._next_try()}")
        life = self._life or self._begin()
        await self._in_time(until, _waited(life.ready))
        return life

    async def _in_time(self, until: float | None, work: Any) -> None:
        seconds = None if until is None else max(0.0, until - _now())
        try:
            await within(seconds, work)
        except TimeoutError:
            raise Unavailable(f"The server {self.name} was not ready in time. Ask again, or allow more time.") from None

    def _begin(self, in_turn: bool = False) -> Life:
        office, key = self._office, self.key
        life = Life(
            name=self.name,
            launching=self._launch_in_turn if in_turn else self._launch,
            auth=partial(office.auth, key),
            deliver=partial(office.deliver, key),
            on_up=self._is_up,
            on_end=self._has_ended,
        )
        life.delivered.add_done_callback(lambda _: self.settled.set())
        self._life = life
        self.state = ServerState("connecting", self.state.reason)
        task = asyncio.create_task(life.live())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return life

    async def _launch(self, life: Life) -> Launch:
        return await self._office.launch(self.key)

    async def _launch_in_turn(self, life: Life) -> Launch:
        give_back = await self._office.turns.take()
        life.ready.add_done_callback(lambda _: give_back())
        return await self._office.launch(self.key)

    async def _called(
        self, tool: str, arguments: dict[str, Any], until: float | None, check: Callable[[], None]
    ) -> dict[str, Any]:
        life = await self._alive(until)
        self._in_flight += 1
        try:
            await self._in_time(until, _waited(life.delivered))
            await self._in_time(until, life.listed_anew())
            await asyncio.to_thread(check)
            answer = await life.call(tool, arguments, until)
        except SessionEnded:
            self._let_go(life)
            raise
        except Lost as error:
            self._call_failed(life, error)
            raise
        finally:
            self._in_flight -= 1
            self._rest_later()
        self._backoff.call_worked()
        return answer

    def _call_failed(self, life: Life, error: Lost) -> None:
        """A few in a row, and the server is left alone for a while."""
        if self._backoff.call_failed(_now()):
            self._let_go(life)
            self._fails("failing", str(error).rstrip("."))

    def _let_go(self, life: Life) -> None:
        """End a life; the next call begins another."""
        life.over.set()
        if self._life is life:
            self._life = None

    def _is_up(self, life: Life) -> None:
        self._backoff.start_worked()
        self._is_wanted = False
        self.state = ServerState("connected", protocol=life.ready.result().protocol)
        self._rest_later()

    def _has_ended(self, life: Life, error: BaseException | None) -> None:
        """Its end, as soon as it is known: a start that failed, a server that was lost, or one that was let go."""
        if self._life is not life:
            return
        self._life = None
        kind = "needs login" if life.needs_login(error) else "failing"
        if not life.ready.done():
            self._backoff.start_failed(_now())
            self._fails(kind, life.why(error))
            self._try_later()
        elif kind == "needs login":
            self._fails(kind, life.why(error))
        else:
            is_lost = error is not None or (life.link is not None and life.link.is_closed)
            self.state = ServerState("idle", life.why(error) if is_lost else None, self.state.protocol)

    def _fails(self, kind: str, why: str) -> None:
        left = None if self._backoff.until is None else timedelta(seconds=max(0.0, self._backoff.until - _now()))
        self.state = ServerState(kind, why, retry_at=None if left is None else datetime.now(UTC) + left)

    def _next_try(self) -> str:
        at = self.state.retry_at
        return "" if at is None else f"The next try is at {at:%H:%M:%S} UTC; sooner: athand tools refresh {self.name}"

    def _try_later(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        if self._is_wanted and not self._is_stopped and self._backoff.until is not None:
            self._retry = asyncio.get_running_loop().call_later(self._backoff.until - _now(), self._try_again)

    def _try_again(self) -> None:
        if self._is_wanted and self._life is None:
            self._begin(in_turn=True)

    def _rest_later(self) -> None:
        """Stop when nobody has called for a while."""
        if self._idle is not None:
            self._idle.cancel()
        if self._in_flight == 0 and not self._is_stopped:
            self._idle = asyncio.get_running_loop().call_later(self._office.idle_seconds, self._rest)

    def _rest(self) -> None:
        life = self._life
        if life is not None and life.ready.done() and self._in_flight == 0:
            self._let_go(life)
            self.state = ServerState("idle", protocol=self.state.protocol)


async def _waited(future: "asyncio.Future[T]") -> T:
    """What a future brings; giving up waiting does not cancel it for the others."""
    return await asyncio.shield(future)


def _now() -> float:
    return asyncio.get_running_loop().time()

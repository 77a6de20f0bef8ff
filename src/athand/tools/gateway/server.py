"""One server over many sessions: started on demand, stopped when idle, retried with backoff when it fails."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from athand.errors import Unavailable
from athand.tools.gateway.diagnostics import split_reason
from athand.tools.gateway.session import ServerLost, ServerSession, SessionEnded, to_reason
from athand.tools.gateway.timing import Backoff, StartLimiter, run_with_timeout
from athand.tools.model import Launch, Listing, ServerKey, ServerState
from athand.tools.relay import Relay

T = TypeVar("T")

_STOP_SECONDS = 4.0  # seconds for a session to stop before it is cancelled again


@dataclass(frozen=True, slots=True)
class GatewayContext:
    """Dependencies that all servers share."""

    launch: Callable[[ServerKey], Awaitable[Launch]]
    deliver: Callable[[ServerKey, Listing], Awaitable[None]]
    auth: Callable[[ServerKey, Launch], Awaitable[Any]]
    jitter: Callable[[], float]
    start_limiter: StartLimiter
    idle_seconds: float


class UpstreamServer:
    """One server. All of its methods run in the thread of the gateway."""

    def __init__(self, key: ServerKey, context: GatewayContext) -> None:
        self.key, self.name, self._context = key, key[1], context
        self.state = ServerState()
        self.settled = asyncio.Event()  # set after the first listing was delivered or the first start failed
        self._backoff = Backoff(context.jitter)
        self._session: ServerSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight = 0
        self._is_wanted = self._is_stopped = False
        self._retry: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None

    def connect(self) -> None:
        """Connect in the background, and retry until it works."""
        self._is_wanted = not self._is_stopped
        if self._session is None and self._backoff.is_open(_now()):
            self._schedule_retry()
        elif self._session is None and self._is_wanted:
            self._start_session(is_limited=True)

    @property
    def shown_state(self) -> ServerState:
        """The state; while it is connected, with the tools that its list has lost."""
        diagnostics = self._session.diagnostics if self._session is not None else None
        if self.state.reason is not None or diagnostics is None:
            return self.state
        return replace(self.state, reason=diagnostics.describe_left_out())

    @property
    def is_starting(self) -> bool:
        """Whether it has neither been listed nor failed since it was requested, or since somebody logged in."""
        return not self.settled.is_set()

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        seconds: float | None,
        check: Callable[[], None],
        relay: Relay | None,
    ) -> dict[str, Any]:
        """The result of a tool; starts the server if necessary, and runs `check` after its tools were listed."""
        until = None if seconds is None else _now() + seconds
        try:
            return await self._call_once(tool, arguments, until, check, relay)
        except SessionEnded:
            return await self._call_once(tool, arguments, until, check, relay)

    async def refresh(self, seconds: float | None) -> None:
        """List the tools again and deliver them; ignores the backoff."""
        until = None if seconds is None else _now() + seconds
        self._backoff.until = None
        was_listed = self._session is not None and self._session.delivered.done()
        session = await self._get_session(until)
        await self._with_deadline(until, session.relist() if was_listed else _wait_for(session.delivered))

    def restart(self) -> None:
        """Reset the backoff, drop the current session and connect again; until then it is not settled."""
        self.settled.clear()
        self._backoff.record_call()
        if self._session is not None:
            self._drop_session(self._session)
        self.connect()

    async def stop(self) -> None:
        """Stop for good, within a few seconds."""
        self._is_stopped, self._is_wanted = True, False
        for timer in (self._retry, self._idle):
            if timer is not None:
                timer.cancel()
        for _ in range(2):  # the second cancellation ends what hangs during cleanup
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_STOP_SECONDS)

    async def _get_session(self, until: float | None) -> ServerSession:
        """A session that is ready for calls, started if necessary."""
        if self._is_stopped:
            raise Unavailable(f"The server {self.name} was stopped.")
        if self._session is not None and self._session.is_lost:
            self._drop_session(self._session)  # the server has closed its side, and the session is only cleaning up
        if self._session is None and self._backoff.is_open(_now()):
            own, said = split_reason(self.state.reason)
            raise Unavailable(f"The server {self.name} does not work: {own}. {self._retry_hint()}", quote=said)
        session = self._session or self._start_session()
        await self._with_deadline(until, _wait_for(session.ready))
        return session

    async def _with_deadline(self, until: float | None, work: Any) -> None:
        seconds = None if until is None else max(0.0, until - _now())
        try:
            await run_with_timeout(seconds, work)
        except TimeoutError:
            raise Unavailable(f"The server {self.name} was not ready in time. Ask again, or allow more time.") from None

    def _start_session(self, is_limited: bool = False) -> ServerSession:
        context, key = self._context, self.key
        session = ServerSession(
            name=self.name,
            get_launch=self._launch_when_free if is_limited else self._launch,
            auth=partial(context.auth, key),
            deliver=partial(context.deliver, key),
            on_connected=self._on_connected,
            on_end=self._on_ended,
        )
        session.delivered.add_done_callback(lambda _: self._settle(session))
        self._session = session
        self.state = ServerState("connecting", self.state.reason)
        task = asyncio.create_task(session.run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return session

    def _settle(self, session: ServerSession) -> None:
        if self._session in (session, None):  # one that was replaced says nothing about the present one
            self.settled.set()

    async def _launch(self, session: ServerSession) -> Launch:
        return await self._context.launch(self.key)

    async def _launch_when_free(self, session: ServerSession) -> Launch:
        release = await self._context.start_limiter.acquire()
        session.ready.add_done_callback(lambda _: release())
        return await self._context.launch(self.key)

    async def _call_once(
        self,
        tool: str,
        arguments: dict[str, Any],
        until: float | None,
        check: Callable[[], None],
        relay: Relay | None,
    ) -> dict[str, Any]:
        session = await self._get_session(until)
        self._in_flight += 1
        try:
            await self._with_deadline(until, _wait_for(session.delivered))
            await self._with_deadline(until, session.relist_on_change())
            await asyncio.to_thread(check)
            answer = await session.call(tool, arguments, until, relay)
        except SessionEnded:
            self._drop_session(session)
            raise
        except ServerLost as error:
            self._on_call_failed(session, error)
            raise
        finally:
            self._in_flight -= 1
            self._schedule_idle_stop()
        self._backoff.record_call()
        return answer

    def _on_call_failed(self, session: ServerSession, error: ServerLost) -> None:
        """Count a failed call; after several in a row the session is dropped until the backoff ends."""
        if self._backoff.record_failed_call(_now()):
            self._drop_session(session)
            self._record_failure("failing", to_reason(error))

    def _drop_session(self, session: ServerSession) -> None:
        """End a session; the next call starts a new one."""
        session.ended.set()
        if self._session is session:
            self._session = None

    def _on_connected(self, session: ServerSession) -> None:
        self._backoff.record_start()
        self._is_wanted = False
        self.state = ServerState("connected", protocol=session.ready.result().protocol)
        self._schedule_idle_stop()

    def _on_ended(self, session: ServerSession, error: BaseException | None) -> None:
        """Handle the end of a session: a failed start, a lost server, or one that was dropped."""
        if self._session is not session:
            return
        self._session = None
        kind = "needs login" if session.needs_login(error) else "failing"
        if not session.ready.done():
            self._backoff.record_failed_start(_now())
            self._record_failure(kind, session.describe_failure(error))
            self._schedule_retry()
        elif kind == "needs login":
            self._record_failure(kind, session.describe_failure(error))
        else:
            is_lost = error is not None or (session.diagnostics is not None and session.diagnostics.is_closed)
            self.state = ServerState("idle", session.describe_failure(error) if is_lost else None, self.state.protocol)

    def _record_failure(self, kind: str, why: str) -> None:
        left = None if self._backoff.until is None else timedelta(seconds=max(0.0, self._backoff.until - _now()))
        self.state = ServerState(kind, why, retry_at=None if left is None else datetime.now(UTC) + left)

    def _retry_hint(self) -> str:
        at = self.state.retry_at
        return "" if at is None else f"The next try is at {at:%H:%M:%S} UTC; sooner: athand tools refresh {self.name}"

    def _schedule_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        if self._is_wanted and not self._is_stopped and self._backoff.until is not None:
            self._retry = asyncio.get_running_loop().call_later(self._backoff.until - _now(), self._retry_now)

    def _retry_now(self) -> None:
        if self._is_wanted and self._session is None:
            self._start_session(is_limited=True)

    def _schedule_idle_stop(self) -> None:
        """Stop the server after a while without calls."""
        if self._idle is not None:
            self._idle.cancel()
        if self._in_flight == 0 and not self._is_stopped:
            self._idle = asyncio.get_running_loop().call_later(self._context.idle_seconds, self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        session = self._session
        if session is not None and session.ready.done() and self._in_flight == 0:
            self._drop_session(session)
            self.state = ServerState("idle", protocol=self.state.protocol)


async def _wait_for(future: "asyncio.Future[T]") -> T:
    """Await a future without cancelling it for others."""
    return await asyncio.shield(future)


def _now() -> float:
    return asyncio.get_running_loop().time()

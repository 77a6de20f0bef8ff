"""One MCP session with a server, from connect to shutdown; re-lists tools on list_changed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from athand.errors import AthandError, InvalidInput, Unavailable
from athand.tools.gateway.connection import (
    Connection,
    can_try_next,
    connection_attempts,
    is_invalid_params,
    is_server_error,
    is_session_expired,
    open_connection,
)
from athand.tools.gateway.diagnostics import Diagnostics, error_text, is_login_error, split_reason
from athand.tools.gateway.requests import UpstreamCall
from athand.tools.gateway.timing import run_with_timeout
from athand.tools.model import Launch, Listing
from athand.tools.relay import ClientCannot, Relay

log = logging.getLogger("athand")

_DEBOUNCE = 0.3  # seconds to wait after list_changed before listing again,
_REST_FACTOR = 10  # at least this many times as long as the last listing took
_FAILURE_COST = 3.0  # seconds that a failed listing counts as
_RESUBSCRIBE = 30.0  # seconds before subscribing again after the stream broke
_EXIT_WAIT = 1.5  # seconds to wait for the exit code of a lost server
_HINT = "See: athand tools servers"


class ServerLost(Unavailable):
    """The server ended or did not answer during a call; counts as a failed call."""


class SessionEnded(ServerLost):
    """The session expired before the call was executed: the call can be repeated."""


@dataclass(slots=True)
class ServerSession:
    """The state of one session. Everything runs in the thread of the gateway."""

    name: str
    get_launch: Callable[["ServerSession"], Awaitable[Launch]]
    auth: Callable[[Launch], Awaitable[Any]]
    deliver: Callable[[Listing], Awaitable[None]]
    on_connected: Callable[["ServerSession"], None]
    on_end: Callable[["ServerSession", BaseException | None], None]  # called once, as soon as the end is known
    ready: "asyncio.Future[Connection]" = field(default_factory=lambda: _silent_future())
    delivered: "asyncio.Future[None]" = field(default_factory=lambda: _silent_future())
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    launch: Launch | None = None
    diagnostics: Diagnostics | None = None
    _changes: asyncio.Event = field(default_factory=asyncio.Event)
    _listing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _has_ended: bool = False

    async def run(self) -> None:
        """Run the session until it ends; cancel this task to stop it."""
        error: BaseException | None = None
        timer: asyncio.TimerHandle | None = None
        try:
            self.launch = await self.get_launch(self)
            host = asyncio.current_task()
            timer = asyncio.get_running_loop().call_later(self.launch.connect_seconds, self._on_connect_timeout, host)
            await self._try_attempts(self.launch)
        except Exception as broken:  # any error of a server or library becomes the reason that is shown
            log.debug("The server %s failed.", self.name, exc_info=True)
            error = broken
        except asyncio.CancelledError as stopped:
            error = stopped
            raise
        finally:
            if timer is not None:
                timer.cancel()
            self._finish(error)

    async def call(
        self, tool: str, arguments: dict[str, Any], until: float | None, relay: Relay | None
    ) -> dict[str, Any]:
        """The result of a tool; ServerLost if there is no answer. While its caller is asked, no time passes."""
        connection = self.ready.result()
        limit = connection.diagnostics.launch.call_seconds if until is None else max(0.0, until - _now())
        call = UpstreamCall(relay)
        try:
            return await run_with_timeout(limit, connection.call(tool, arguments, call), paused=call.pause_seconds)
        except TimeoutError:
            raise ServerLost(f"The server {self.name}: {tool} gave no answer within {limit:.3g} s. {_HINT}") from None
        except Exception as error:
            if call.refusals:
                raise ClientCannot(f"{tool} was not finished. {call.refusals[-1]}") from error
            raise await self._to_error(connection.diagnostics, tool, error, until) from error

    async def relist_on_change(self) -> None:
        """List the tools again if list_changed was received since the last listing."""
        async with self._listing:
            if not self._changes.is_set():
                return
            self._changes.clear()
            try:
                await self.relist()
            except Unavailable:
                self._changes.set()  # the new list was not delivered
                raise

    async def relist(self) -> None:
        """List the tools and deliver them."""
        connection = self.ready.result()
        limit = connection.diagnostics.launch.connect_seconds
        try:
            listing = await run_with_timeout(limit, connection.list_tools())
        except TimeoutError:
            why = f"no answer within {limit:.3g} s"
            raise Unavailable(f"The server {self.name} did not list its tools: {why}.") from None
        except Exception as error:
            own, said = split_reason(self.describe_failure(error))
            raise Unavailable(f"The server {self.name} did not list its tools: {own}.", quote=said) from error
        await self.deliver(listing)

    @property
    def is_lost(self) -> bool:
        """Whether it was connected and has ended."""
        return self.ready.done() and self.ended.is_set()

    def describe_failure(self, error: BaseException | None) -> str:
        """Why the session does not work, as half a sentence."""
        if isinstance(error, asyncio.CancelledError) and (self.diagnostics is None or self.diagnostics.problem is None):
            return "it was stopped"
        if isinstance(error, AthandError) or self.diagnostics is None:
            return to_reason(error) if error is not None else "it was stopped"
        return self.diagnostics.describe_failure(error)

    def needs_login(self, error: BaseException | None) -> bool:
        """Whether only a login is missing."""
        return (error is not None and is_login_error(error)) or (
            self.diagnostics is not None and self.diagnostics.needs_login
        )

    async def _try_attempts(self, launch: Launch) -> None:
        """Try transports and modes in order until one works."""
        *others, last = connection_attempts(launch.transport)
        for attempt in (*others, last):
            self.ended.clear()
            self.diagnostics = Diagnostics(launch, on_end=self.ended.set)
            try:
                return await self._run_connection(self.diagnostics, attempt)
            except Exception:
                if attempt == last or self.ready.done() or not can_try_next(self.diagnostics):
                    raise

    async def _run_connection(self, diagnostics: Diagnostics, attempt: tuple[str, str]) -> None:
        auth = await self.auth(diagnostics.launch)
        async with open_connection(diagnostics, auth, attempt, self._changes.set) as connection:
            listing = await connection.list_tools()
            settle(self.ready, connection)
            self.on_connected(self)
            helpers = [asyncio.create_task(self._deliver_listings(listing))]
            if connection.needs_subscription:
                helpers.append(asyncio.create_task(self._subscribe_to_changes(connection)))
            try:
                await self.ended.wait()
            finally:
                for helper in helpers:
                    helper.cancel()
                await asyncio.gather(*helpers, return_exceptions=True)

    async def _deliver_listings(self, listing: Listing) -> None:
        """Deliver the first listing, then a new one after every change."""
        took = 0.0
        try:
            await self.deliver(listing)
        except Unavailable as error:
            log.warning("%s", error)
            self._changes.set()
            took = _FAILURE_COST
        settle(self.delivered, None)
        while True:
            await self._changes.wait()
            await asyncio.sleep(max(_DEBOUNCE, _REST_FACTOR * took))
            began = _now()
            try:
                await self.relist_on_change()
                took = _now() - began
            except Unavailable as error:
                log.warning("%s", error)
                took = _FAILURE_COST

    async def _subscribe_to_changes(self, connection: Connection) -> None:
        while True:
            try:
                await connection.listen(self._changes.set)
            except Exception as error:  # calls still work: only the subscription is opened again, later
                log.debug("The server %s does not tell its changes: %s", self.name, error_text(error))
            await asyncio.sleep(_RESUBSCRIBE)
            self._changes.set()

    async def _to_error(
        self, diagnostics: Diagnostics, tool: str, error: Exception, until: float | None
    ) -> AthandError:
        """The error for the caller: the response of the server, or why it was lost."""
        if is_session_expired(error, diagnostics):
            return SessionEnded(f"The server {self.name} ended the session.")
        if is_server_error(error, diagnostics):
            kind = InvalidInput if is_invalid_params(error) else Unavailable
            return kind(f"The server {self.name} refused to run {tool}: {diagnostics.describe_error(error)}.")
        left = _EXIT_WAIT if until is None else min(_EXIT_WAIT, max(0.0, until - _now()))
        with suppress(TimeoutError):  # then the reason may be incomplete
            await run_with_timeout(left, self.ended.wait())
        own, said = split_reason(self.describe_failure(error))
        return ServerLost(f"The server {self.name} was lost while it ran {tool}: {own}. {_HINT}", quote=said)

    def _on_connect_timeout(self, host: "asyncio.Task[Any] | None") -> None:
        """Fail those who wait first; stopping a hanging server may take longer."""
        if self.ready.done() or self.launch is None:
            return
        if self.diagnostics is not None:
            self.diagnostics.problem = (
                self.diagnostics.problem or f"it was not ready within {self.launch.connect_seconds:g} s"
            )
        self._finish(None)
        if host is not None:
            host.cancel()

    def _finish(self, error: BaseException | None) -> None:
        self.ended.set()
        if self._has_ended:
            return
        self._has_ended = True
        self.on_end(self, error)
        failure = error if isinstance(error, AthandError) else self._to_failure(error)
        for future in (self.ready, self.delivered):
            settle(future, failure)

    def _to_failure(self, error: BaseException | None) -> Unavailable:
        own, said = split_reason(self.describe_failure(error))
        return Unavailable(f"The server {self.name} does not work: {own}. {_HINT}", quote=said)


def settle(future: "asyncio.Future[Any]", outcome: Any) -> None:
    """Set the result or exception of a future unless it is already done."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def to_reason(error: BaseException) -> str:
    """The reason why a server does not work, of an error that says it."""
    quote = getattr(error, "quote", "")
    return str(error).rstrip(".") + (f"\n{quote}" if quote else "")


def _silent_future() -> "asyncio.Future[Any]":
    """A future whose exception is never reported as unretrieved."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


def _now() -> float:
    return asyncio.get_running_loop().time()

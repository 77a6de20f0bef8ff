"""One life of a server: started or reached, listed, called, looked after while its tools change, and ended."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from athand.errors import AthandError, InvalidInput, Unavailable
from athand.tools.gateway import connection as dialect
from athand.tools.gateway.connection import Connection
from athand.tools.gateway.link import Link, in_words, is_about_login
from athand.tools.gateway.model import Listing
from athand.tools.gateway.timing import within
from athand.tools.launch import Launch

log = logging.getLogger("athand")

_CALM = 0.3  # seconds after a notice of change before the tools are listed again,
_SHARE = 10  # and resting so many times as long as that took
_FAILED = 3.0  # seconds that a listing counts for that failed
_ASK_AGAIN = 30.0  # seconds after the stream of changes broke
_VERDICT = 1.5  # seconds to learn why a server was lost
_WHAT_NOW = "See: athand tools servers"


class Lost(Unavailable):
    """The server went away or kept silent during a call: that counts against it."""


class SessionEnded(Lost):
    """The server forgot us before it did anything: the call can be made again."""


@dataclass(slots=True)
class Life:
    """What is known of a server while it lives. Everything runs in the thread of the gateway."""

    name: str
    launching: Callable[["Life"], Awaitable[Launch]]
    auth: Callable[[Launch], Any]
    deliver: Callable[[Listing], Awaitable[None]]
    on_up: Callable[["Life"], None]
    on_end: Callable[["Life", BaseException | None], None]  # called once, as soon as it is known
    ready: "asyncio.Future[Connection]" = field(default_factory=lambda: _unseen())
    delivered: "asyncio.Future[None]" = field(default_factory=lambda: _unseen())
    over: asyncio.Event = field(default_factory=asyncio.Event)
    launch: Launch | None = None
    link: Link | None = None
    _changes: asyncio.Event = field(default_factory=asyncio.Event)
    _listing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _has_ended: bool = False

    async def live(self) -> None:
        """From the start to the end; whoever cancels this ends it."""
        error: BaseException | None = None
        timer: asyncio.TimerHandle | None = None
        try:
            self.launch = await self.launching(self)
            host = asyncio.current_task()
            timer = asyncio.get_running_loop().call_later(self.launch.connect_seconds, self._too_slow, host)
            await self._in_any_way(self.launch)
        except Exception as broken:  # whatever a server or a library raises becomes the reason that is shown
            log.debug("The server %s failed.", self.name, exc_info=True)
            error = broken
        except asyncio.CancelledError as stopped:
            error = stopped
            raise
        finally:
            if timer is not None:
                timer.cancel()
            self._end(error)

    async def call(self, tool: str, arguments: dict[str, Any], until: float | None) -> dict[str, Any]:
        """What a tool answers; Lost when there is no answer."""
        connection = self.ready.result()
        limit = connection.link.launch.call_seconds if until is None else max(0.0, until - _now())
        try:
            return await within(limit, connection.call(tool, arguments))
        except TimeoutError:
            raise Lost(f"The server {self.name}: {tool} gave no answer within {limit:.3g} s. {_WHAT_NOW}") from None
        except Exception as error:
            raise await self._failure(connection.link, tool, error, until) from error

    async def listed_anew(self) -> None:
        """List the tools again if the server has said that they changed: what was known of them holds no more."""
        async with self._listing:
            if not self._changes.is_set():
                return
            self._changes.clear()
            try:
                await self.list_again()
            except Unavailable:
                self._changes.set()  # nobody has looked at what it offers now
                raise

    async def list_again(self) -> None:
        """Ask for the tools once more and hand them over."""
        connection = self.ready.result()
        limit = connection.link.launch.connect_seconds
        try:
            listing = await within(limit, connection.listing())
        except TimeoutError:
            why = f"no answer within {limit:.3g} s"
            raise Unavailable(f"The server {self.name} did not list its tools: {why}.") from None
        except Exception as error:
            raise Unavailable(f"The server {self.name} did not list its tools: {self.why(error)}.") from error
        await self.deliver(listing)

    @property
    def is_lost(self) -> bool:
        """Whether it was there, and is no more."""
        return self.ready.done() and self.over.is_set()

    def why(self, error: BaseException | None) -> str:
        """Why it does not work, in half a sentence."""
        if isinstance(error, asyncio.CancelledError) and (self.link is None or self.link.problem is None):
            return "it was stopped"
        if isinstance(error, AthandError) or self.link is None:
            return str(error).rstrip(".") if error is not None else "it was stopped"
        return self.link.why(error)

    def needs_login(self, error: BaseException | None) -> bool:
        """Whether a login is all that is missing."""
        return (error is not None and is_about_login(error)) or (self.link is not None and self.link.wants_login)

    async def _in_any_way(self, launch: Launch) -> None:
        """Try the ways a server may be spoken to until one works."""
        *others, last = dialect.ways(launch.transport)
        for way in (*others, last):
            self.over.clear()
            self.link = Link(launch, on_end=self.over.set)
            try:
                return await self._in_one_way(self.link, way)
            except Exception:
                if way == last or self.ready.done() or not dialect.is_worth_another_way(self.link):
                    raise

    async def _in_one_way(self, link: Link, way: tuple[str, str]) -> None:
        async with dialect.opened(link, self.auth(link.launch), way, self._changes.set) as connection:
            listing = await connection.listing()
            settle(self.ready, connection)
            self.on_up(self)
            helpers = [asyncio.create_task(self._look_after(listing))]
            if connection.must_be_asked_for_changes:
                helpers.append(asyncio.create_task(self._ask_for_changes(connection)))
            try:
                await self.over.wait()
            finally:
                for helper in helpers:
                    helper.cancel()
                await asyncio.gather(*helpers, return_exceptions=True)

    async def _look_after(self, listing: Listing) -> None:
        """Hand the first listing over, then a new one after every change."""
        took = 0.0
        try:
            await self.deliver(listing)
        except Unavailable as error:
            log.warning("%s", error)
            self._changes.set()
            took = _FAILED
        settle(self.delivered, None)
        while True:
            await self._changes.wait()
            await asyncio.sleep(max(_CALM, _SHARE * took))
            began = _now()
            try:
                await self.listed_anew()
                took = _now() - began
            except Unavailable as error:
                log.warning("%s", error)
                took = _FAILED

    async def _ask_for_changes(self, connection: Connection) -> None:
        while True:
            try:
                await connection.listen(self._changes.set)
            except Exception as error:  # calls still work: the stream is only opened again, later
                log.debug("The server %s does not tell its changes: %s", self.name, in_words(error))
            await asyncio.sleep(_ASK_AGAIN)
            self._changes.set()

    async def _failure(self, link: Link, tool: str, error: Exception, until: float | None) -> AthandError:
        """What to tell the caller: the server's own answer, or why it was lost."""
        if dialect.is_end_of_session(error, link):
            return SessionEnded(f"The server {self.name} ended the session.")
        if dialect.is_answer(error, link):
            kind = InvalidInput if dialect.is_about_arguments(error) else Unavailable
            return kind(f"The server {self.name} refused to run {tool}: {link.said(error)}.")
        left = _VERDICT if until is None else min(_VERDICT, max(0.0, until - _now()))
        with suppress(TimeoutError):  # then we say what we know
            await within(left, self.over.wait())
        return Lost(f"The server {self.name} was lost while it ran {tool}: {self.why(error)}. {_WHAT_NOW}")

    def _too_slow(self, host: "asyncio.Task[Any] | None") -> None:
        """Those who wait are told first; stopping what hangs may take longer."""
        if self.ready.done() or self.launch is None:
            return
        if self.link is not None:
            self.link.problem = self.link.problem or f"it was not ready within {self.launch.connect_seconds:g} s"
        self._end(None)
        if host is not None:
            host.cancel()

    def _end(self, error: BaseException | None) -> None:
        self.over.set()
        if self._has_ended:
            return
        self._has_ended = True
        self.on_end(self, error)
        told = error if isinstance(error, AthandError) else Unavailable(self._said(error))
        for future in (self.ready, self.delivered):
            settle(future, told)

    def _said(self, error: BaseException | None) -> str:
        return f"The server {self.name} does not work: {self.why(error)}. {_WHAT_NOW}"


def settle(future: "asyncio.Future[Any]", outcome: Any) -> None:
    """Set the result or the exception of a future that may be set already."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _unseen() -> "asyncio.Future[Any]":
    """A future whose failure nobody need look at."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


def _now() -> float:
    return asyncio.get_running_loop().time()

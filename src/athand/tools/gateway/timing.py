"""Timeouts, the limit on simultaneous starts, and exponential backoff."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

_abandoned: set["asyncio.Task[Any]"] = set()  # cancelled tasks that nobody awaits, kept until they end


async def run_with_timeout(
    seconds: float | None, work: Coroutine[Any, Any, T], *, paused: Callable[[], float] = lambda: 0.0
) -> T:
    """The result of a coroutine; TimeoutError at once when the time is over, even if the task ends later.

    The time that was `paused` meanwhile, in seconds, does not count.
    """
    began = asyncio.get_running_loop().time()
    task, left = asyncio.create_task(work), seconds
    try:
        while not task.done() and (left is None or left > 0):
            await asyncio.wait({task}, timeout=left)
            left = None if seconds is None else seconds + paused() - (asyncio.get_running_loop().time() - began)
    except asyncio.CancelledError:
        _abandon(task)
        raise
    if not task.done():
        _abandon(task)
        raise TimeoutError
    return task.result()


async def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end even if the caller is cancelled; it must have limits of its own."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as again:
            cancelled = again
    task.result()
    if cancelled is not None:
        raise cancelled


def _abandon(task: "asyncio.Task[Any]") -> None:
    _abandoned.add(task)
    task.add_done_callback(_abandoned.discard)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    task.cancel()


class StartLimiter:
    """Semaphore for server starts; a slow start gives up its slot after a while."""

    def __init__(self, at_once: int, patience: float = 1.0) -> None:
        self._slots, self._patience = asyncio.Semaphore(at_once), patience

    async def acquire(self) -> Callable[[], None]:
        """Wait for a slot; returns a function that releases it, at most once."""
        await self._slots.acquire()
        is_taken = [True]

        def release() -> None:
            if is_taken and is_taken.pop():
                self._slots.release()

        asyncio.get_running_loop().call_later(self._patience, release)
        return release


FIRST, LONGEST = 1.0, 300.0  # seconds
PATIENCE = 3  # failed calls in a row that open the circuit


@dataclass(slots=True)
class Backoff:
    """Exponential backoff with jitter for starts, and a circuit breaker for calls; times are of one clock."""

    jitter: Callable[[], float] = random.random
    starts: int = 0
    calls: int = 0
    until: float | None = None

    def is_open(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return self.until is not None and now < self.until

    def record_failed_start(self, now: float) -> None:
        """Count a failed start, and wait longer each time."""
        self.starts += 1
        self._wait(now, self.starts)

    def record_start(self) -> None:
        """Reset the failed starts; failed calls still count."""
        self.starts, self.until = 0, None

    def record_failed_call(self, now: float) -> bool:
        """Count a call that timed out or lost its server; True if the circuit is now open."""
        self.calls += 1
        if self.calls < PATIENCE:
            return False
        self._wait(now, self.calls - PATIENCE + 1)
        return True

    def record_call(self) -> None:
        """Reset everything after a successful call."""
        self.starts, self.calls, self.until = 0, 0, None

    def _wait(self, now: float, times: int) -> None:
        """Set the next time to try, with 10 % jitter."""
        seconds = min(LONGEST, FIRST * 2.0 ** min(times - 1, 30))
        self.until = now + seconds * (0.9 + 0.2 * self.jitter())

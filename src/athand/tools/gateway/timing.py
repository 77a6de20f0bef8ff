"""Limits that hold: whoever waits gets an answer in time, whatever happens to the work."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

_abandoned: set["asyncio.Task[Any]"] = set()  # work nobody waits for any more, until it has noticed


async def run_with_timeout(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """What the work brings; TimeoutError as soon as the time is over, though the work may need longer to give up."""
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        _abandon(task)
        raise
    if not done:
        _abandon(task)
        raise TimeoutError
    return task.result()


async def run_uncancelled(work: Coroutine[Any, Any, None]) -> None:
    """Work that comes to its end though we are cancelled, as often as it may be; it must have limits of its own."""
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
    """Lets a few servers start at the same time; a slow one gives its place to the next."""

    def __init__(self, at_once: int, patience: float = 1.0) -> None:
        self._slots, self._patience = asyncio.Semaphore(at_once), patience

    async def acquire(self) -> Callable[[], None]:
        """Wait for a place; the answer gives it back, once."""
        await self._slots.acquire()
        is_taken = [True]

        def release() -> None:
            if is_taken and is_taken.pop():
                self._slots.release()

        asyncio.get_running_loop().call_later(self._patience, release)
        return release


FIRST, LONGEST = 1.0, 300.0  # seconds
PATIENCE = 3  # calls in a row that may fail before we stop asking


@dataclass(slots=True)
class Backoff:
    """Counts failures and says until when to leave a server alone; times are those of one clock."""

    jitter: Callable[[], float] = random.random
    starts: int = 0
    calls: int = 0
    until: float | None = None

    def is_open(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return self.until is not None and now < self.until

    def record_failed_start(self, now: float) -> None:
        """The server could not be reached."""
        self.starts += 1
        self._wait(now, self.starts)

    def record_start(self) -> None:
        """It is there again; whether its calls work is still to be seen."""
        self.starts, self.until = 0, None

    def record_failed_call(self, now: float) -> bool:
        """A call timed out or lost its server; True when that was once too often."""
        self.calls += 1
        if self.calls < PATIENCE:
            return False
        self._wait(now, self.calls - PATIENCE + 1)
        return True

    def record_call(self) -> None:
        """All is forgiven."""
        self.starts, self.calls, self.until = 0, 0, None

    def _wait(self, now: float, times: int) -> None:
        """Not all at the same moment: a tenth more or less."""
        seconds = min(LONGEST, FIRST * 2.0 ** min(times - 1, 30))
        self.until = now + seconds * (0.9 + 0.2 * self.jitter())

"""Thread pools that operations run in; their size limits how many run at once, also of those that were given up."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from statistics import median
from threading import Event, Lock
from typing import TypeVar

from athand.cancellation import run_until
from athand.errors import Overloaded

T = TypeVar("T")
_QUICK_THREADS = 4  # one thread runs Python at a time: more of them only slow each other down
_SLOW_THREADS = 64  # these mostly wait
_PATIENCE = 30.0  # seconds that work may wait for a thread
_LONGEST_WAIT = 5.0  # work that would wait longer, by how long the last pieces of work took, is refused at once
_MEASURED = 31  # pieces of work; of their times the median counts, as one long piece says nothing about the others


class Threads:
    """Two pools: slow operations, which wait for servers and browsers, do not delay searches."""

    def __init__(self, patience: float = _PATIENCE, longest_wait: float = _LONGEST_WAIT) -> None:
        self._patience = patience
        self._quick = _Pool(_QUICK_THREADS, "athand-quick", longest_wait)
        self._slow = _Pool(_SLOW_THREADS, "athand-slow", longest_wait)

    async def run(self, work: Callable[[], T], *, slow: bool = False) -> T:
        """The result of the work. If the caller gives up, the work keeps its thread until it looks whether it did."""
        given_up = Event()
        guarded = partial(copy_context().run, run_until, given_up, work)
        submitted = (self._slow if slow else self._quick).submit(guarded)
        answer = asyncio.wrap_future(submitted)
        try:
            await asyncio.wait((answer,), timeout=self._patience)
            if not answer.done() and submitted.cancel():  # only work that has not started can be cancelled
                raise _refusal(1)
            return await answer
        finally:
            given_up.set()
            answer.cancel()

    def close(self) -> None:
        """Accept no more work; running work ends by itself."""
        for pool in (self._quick, self._slow):
            pool.close()


class _Pool:
    """Threads that refuse work which would wait too long for one of them."""

    def __init__(self, threads: int, name: str, longest_wait: float) -> None:
        self._executor = ThreadPoolExecutor(threads, name)
        self._threads, self._longest_wait = threads, longest_wait
        self._unfinished = 0
        self._seconds: deque[float] = deque(maxlen=_MEASURED)
        self._lock = Lock()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """The work's result to come; an error if it would wait too long."""
        with self._lock:
            if (wait := self._expected_wait()) > self._longest_wait:
                raise _refusal(math.ceil(wait))
            self._unfinished += 1
        submitted = self._executor.submit(self._measure, work)
        submitted.add_done_callback(self._count_end)
        return submitted

    def close(self) -> None:
        """Accept no more work."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _expected_wait(self) -> float:
        """Seconds until a thread is free for work that comes now."""
        before = self._unfinished - self._threads + 1
        return before * median(self._seconds) / self._threads if before > 0 and self._seconds else 0.0

    def _measure(self, work: Callable[[], T]) -> T:
        started = time.monotonic()
        try:
            return work()
        finally:
            with self._lock:
                self._seconds.append(time.monotonic() - started)

    def _count_end(self, _: object) -> None:
        """Called when work is done, failed or was cancelled before it began."""
        with self._lock:
            self._unfinished -= 1


def _refusal(seconds: int) -> Overloaded:
    reason = "Too many operations are running; this one was not started."
    return Overloaded(f"{reason} Try again in {seconds} s.", seconds)

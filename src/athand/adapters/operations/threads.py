"""Thread pools that operations run in; their size limits how many run at once, also of those that were given up."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import Event
from typing import TypeVar

from athand.cancellation import run_until
from athand.errors import Unavailable

T = TypeVar("T")
_QUICK_THREADS = 4  # one thread runs Python at a time: more of them only slow each other down
_SLOW_THREADS = 64  # these mostly wait
_PATIENCE = 30.0  # seconds that work may wait for a thread


class Threads:
    """Two pools: slow operations, which wait for servers and browsers, do not delay searches."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._quick = ThreadPoolExecutor(_QUICK_THREADS, "athand-quick")
        self._slow = ThreadPoolExecutor(_SLOW_THREADS, "athand-slow")

    async def run(self, work: Callable[[], T], *, slow: bool = False) -> T:
        """The result of the work. If the caller gives up, the work keeps its thread until it looks whether it did."""
        given_up = Event()
        guarded = partial(copy_context().run, run_until, given_up, work)
        submitted = (self._slow if slow else self._quick).submit(guarded)
        answer = asyncio.wrap_future(submitted)
        try:
            await asyncio.wait((answer,), timeout=self._patience)
            if not answer.done() and submitted.cancel():  # only work that has not started can be cancelled
                raise Unavailable("Too many operations are running; this one was not started. Try again later.")
            return await answer
        finally:
            given_up.set()
            answer.cancel()

    def close(self) -> None:
        """Accept no more work; running work ends by itself."""
        for pool in (self._quick, self._slow):
            pool.shutdown(wait=False, cancel_futures=True)

"""Operations run in threads, which are never more than a certain number, whoever asks and whoever gives up."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from athand.adapters.operations.model import Operation
from athand.errors import Unavailable

T = TypeVar("T")
_QUICK_AT_ONCE = 4  # Python gives the processor to one thread at a time: more of them only get in the way
_SLOW_AT_ONCE = 64  # these mostly wait
_PATIENCE = 30.0  # seconds that work may wait for a thread


class Threads:
    """What waits for servers and browsers has threads of its own, so that it holds up no search."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._quick = ThreadPoolExecutor(_QUICK_AT_ONCE, "athand-quick")
        self._slow = ThreadPoolExecutor(_SLOW_AT_ONCE, "athand-slow")

    async def run(self, work: Callable[[], T], *, slow: bool = False) -> T:
        """What the work answers. If the caller gives up, it goes on unseen, and keeps its thread until it ends."""
        submitted = (self._slow if slow else self._quick).submit(copy_context().run, work)
        answer = asyncio.wrap_future(submitted)
        try:
            await asyncio.wait((answer,), timeout=self._patience)
            if not answer.done() and submitted.cancel():  # only what has not begun can be cancelled
                raise Unavailable("Too much is being done at once; this was not begun. Try again later.")
            return await answer
        finally:
            answer.cancel()

    def close(self) -> None:
        """Take no more work; what is under way ends by itself."""
        for pool in (self._quick, self._slow):
            pool.shutdown(wait=False, cancel_futures=True)


def is_slow(operation: Operation) -> bool:
    """Whether it waits for something open_world, or works through much."""
    return operation.open_world or operation.has_progress or operation.scope in ("call-tools", "admin")

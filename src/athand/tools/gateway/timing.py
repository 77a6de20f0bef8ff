"""Limits that hold: whoever waits gets an answer in time, whatever happens to the work."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_left: set["asyncio.Task[Any]"] = set()  # work nobody waits for any more, until it has noticed


async def within(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """What the work brings; TimeoutError as soon as the time is over, though the work may need longer to give up."""
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        _leave(task)
        raise
    if not done:
        _leave(task)
        raise TimeoutError
    return task.result()


async def undisturbed(work: Coroutine[Any, Any, None]) -> None:
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


def _leave(task: "asyncio.Task[Any]") -> None:
    _left.add(task)
    task.add_done_callback(_left.discard)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    task.cancel()


class Turns:
    """Lets a few servers start at the same time; a slow one gives its place to the next."""

    def __init__(self, at_once: int, patience: float = 1.0) -> None:
        self._places, self._patience = asyncio.Semaphore(at_once), patience

    async def take(self) -> Callable[[], None]:
        """Wait for a place; the answer gives it back, once."""
        await self._places.acquire()
        is_taken = [True]

        def give_back() -> None:
            if is_taken and is_taken.pop():
                self._places.release()

        asyncio.get_running_loop().call_later(self._patience, give_back)
        return give_back

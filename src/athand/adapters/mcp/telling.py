"""News from the thread of a request to its client, as long as somebody waits for the answer."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any


class Telling:
    """Made where the request is taken; the thread that works on it tells, and waits until it is told."""

    def __init__(self) -> None:
        self._loop, self._own_thread = asyncio.get_running_loop(), threading.get_ident()
        self._telling: Future[Any] | None = None
        self._is_over = False

    def tell(self, send: Callable[..., Coroutine[Any, Any, Any]], *given: Any) -> None:
        """Send something; nothing once it is over, and nothing where waiting would stop the loop that sends."""
        if self._is_over or threading.get_ident() == self._own_thread:
            return
        self._telling = asyncio.run_coroutine_threadsafe(send(*given), self._loop)
        if self._is_over:  # by now: nobody else would free this thread
            self._telling.cancel()
        try:
            self._telling.result()
        except (CancelledError, RuntimeError):
            return  # nobody waits for the answer any more

    def end(self) -> None:
        """Nobody waits any more: what is being told is given up, also where the client does not read it."""
        self._is_over = True
        if self._telling is not None:
            self._telling.cancel()

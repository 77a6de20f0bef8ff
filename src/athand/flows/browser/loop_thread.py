"""A thread that owns the browser's event loop: any thread may call into it, with a time limit on every call."""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import Any, TypeVar

from athand.errors import ActionFailed

T = TypeVar("T")
log = logging.getLogger("athand")
_GRACE_S = 5.0
_POLL_S = 0.01


class LoopThread:
    """Runs coroutines in the event loop of its own thread, until it is stopped."""

    def __init__(self, temp_dir: Path) -> None:
        self._loop = _SubprocessLoop(temp_dir)
        self._thread = threading.Thread(target=self._run, name="athand-browser", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it accepts calls."""
        return self._thread.is_alive()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return threading.current_thread() is self._thread

    def call(self, work: Callable[[], Awaitable[T]], limit_s: float) -> T:
        """Runs a coroutine and returns its result; one that exceeds the limit is cancelled and raises TIMEOUT."""
        future = asyncio.run_coroutine_threadsafe(self._run_with_timeout(work, limit_s), self._loop)
        try:
            return future.result(limit_s + 2 * _GRACE_S)
        except (FutureTimeout, TimeoutError) as error:
            raise ActionFailed(
                f"The browser did not answer within {limit_s:g} s; the page may be busy or hang. "
                "Try again, navigate elsewhere, or clean up and launch again.",
                code="TIMEOUT",
            ) from error
        finally:
            future.cancel()  # no effect once it is done; an interrupted call must not go on beside the next one

    def stop(self) -> None:
        """Ends the thread and cancels what still runs in it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_GRACE_S)

    async def _run_with_timeout(self, work: Callable[[], Awaitable[T]], limit_s: float) -> T:
        async with asyncio.timeout(limit_s):
            return await work()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.kill_processes())
        self._loop.close()


class _SubprocessLoop(asyncio.SelectorEventLoop):
    """Starts subprocesses with TMPDIR in one folder and in their own session, so that Ctrl-C does not reach them."""

    def __init__(self, temp_dir: Path) -> None:
        super().__init__()
        self._temp_dir = str(temp_dir)
        self._transports: list[asyncio.SubprocessTransport] = []
        self.set_exception_handler(_log_exception)

    async def subprocess_exec(self, *arguments: Any, **options: Any) -> Any:
        options["env"] = {**(options.get("env") or os.environ), "TMPDIR": self._temp_dir}
        transport, protocol = await super().subprocess_exec(*arguments, start_new_session=True, **options)
        self._transports.append(transport)
        return transport, protocol

    async def kill_processes(self) -> None:
        """Kills the subprocesses that still run and waits for them, which nobody does once the loop is closed."""
        for process in self._transports:
            process.close()
        try:
            async with asyncio.timeout(_GRACE_S):
                while any(process.get_returncode() is None for process in self._transports):
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            log.warning("A process of the browser does not end, though it was killed.")


def _log_exception(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Logs what fails outside of a call; the next call reports it, so nothing is printed."""
    log.debug("in the browser: %s", context.get("exception") or context.get("message"))

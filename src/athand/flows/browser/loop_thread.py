"""One thread that owns the browser's event loop, so that any thread may use it, with a limit on every wait."""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import TimeoutError as TookTooLong
from pathlib import Path
from typing import Any, TypeVar

from athand.errors import ActionFailed

T = TypeVar("T")
log = logging.getLogger("athand")
_GRACE_S = 5.0
_POLL_S = 0.01


class _Loop(asyncio.SelectorEventLoop):
    """Starts processes that leave nothing outside a folder, and that do not hear Ctrl-C: they are ended in order."""

    def __init__(self, temporary: Path) -> None:
        super().__init__()
        self._temporary = str(temporary)
        self._started: list[asyncio.SubprocessTransport] = []
        self.set_exception_handler(_noted)

    async def subprocess_exec(self, *arguments: Any, **options: Any) -> Any:
        options["env"] = {**(options.get("env") or os.environ), "TMPDIR": self._temporary}
        transport, protocol = await super().subprocess_exec(*arguments, start_new_session=True, **options)
        self._started.append(transport)
        return transport, protocol

    async def end_processes(self) -> None:
        """Kill the processes that are still running, and wait for them: once the loop is closed, nobody does."""
        for process in self._started:
            process.close()
        try:
            async with asyncio.timeout(_GRACE_S):
                while any(process.get_returncode() is None for process in self._started):
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            log.warning("A process of the browser does not end, though it was killed.")


class LoopThread:
    """Runs coroutines one after the other in a thread of its own, until it is stopped."""

    def __init__(self, temporary: Path) -> None:
        self._loop = _Loop(temporary)
        self._thread = threading.Thread(target=self._run, name="athand-browser", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it takes more work."""
        return self._thread.is_alive()

    @property
    def is_current(self) -> bool:
        """Whether this is called from its own thread."""
        return threading.current_thread() is self._thread

    def call(self, work: Callable[[], Awaitable[T]], limit_s: float) -> T:
        """The result of the work; what takes longer than the limit is given up, and the caller told."""
        future = asyncio.run_coroutine_threadsafe(self._limited(work, limit_s), self._loop)
        try:
            return future.result(limit_s + 2 * _GRACE_S)
        except (TookTooLong, TimeoutError) as error:
            raise ActionFailed(
                f"The browser did not answer within {limit_s:g} s; the page may be busy or hang. "
                "Try again, navigate elsewhere, or clean up and launch again.",
                code="TIMEOUT",
            ) from error
        finally:
            future.cancel()  # does nothing to what is done; what was interrupted must not go on beside the next call

    def stop(self) -> None:
        """End the thread; what still runs in it is given up."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_GRACE_S)

    async def _limited(self, work: Callable[[], Awaitable[T]], limit_s: float) -> T:
        async with asyncio.timeout(limit_s):
            return await work()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.end_processes())
        self._loop.close()


def _noted(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What goes wrong beside a call: the next call fails and says so, nothing is to be printed."""
    log.debug("in the browser: %s", context.get("exception") or context.get("message"))

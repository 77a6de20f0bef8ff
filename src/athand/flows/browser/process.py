"""A browser together with the thread it lives in: runs work in it, tells what went wrong, and ends without a trace."""

import os
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from athand.errors import AthandError
from athand.flows.browser import folders
from athand.flows.browser.actions import translated
from athand.flows.browser.context import PageContext
from athand.flows.browser.loop_thread import LoopThread
from athand.flows.browser.options import LaunchOptions
from athand.flows.profiles import Profile

T = TypeVar("T")
_OVERHEAD_S = 5.0  # for what surrounds an action: looking before and after
_START_S, _STOP_S, _PING_S = 90.0, 15.0, 5.0


class BrowserProcess:
    """A context and its worker, from launch to close."""

    def __init__(self, options: LaunchOptions, profile: Profile) -> None:
        folders.sweep()
        self._folder = folders.ProfileFolder()
        self.context = PageContext(options, profile, self._folder.profile)
        self._loop_thread = LoopThread(self._folder.path)

    def start(self) -> None:
        """Start the browser."""
        self._loop_thread.call(self.context.start, _START_S)

    def run(self, work: Callable[[PageContext], Awaitable[T]], timeout_s: float) -> T:
        """Do something in the browser; its errors are ours."""
        return self._loop_thread.call(lambda: self._guarded(work), timeout_s + _OVERHEAD_S)

    def is_alive(self) -> bool:
        """Whether the browser answers at all."""
        if self.context.is_gone:
            return False
        try:
            self.run(lambda context: context.ping(), _PING_S)
        except AthandError:
            return False
        return True

    def close(self) -> None:
        """End browser and thread, and take the profile away; again is no harm."""
        if self._loop_thread.is_current:  # the garbage collector may come by here, where nothing can be waited for
            threading.Thread(target=self.close, name="athand-browser-end").start()
            return
        if not self._loop_thread.is_running:
            return
        process = self._process()
        try:
            self._loop_thread.call(self.context.stop, _STOP_S)
        except AthandError:
            if process is not None:
                with suppress(ProcessLookupError):  # it has ended after all
                    os.kill(process, signal.SIGTERM)
        self._loop_thread.stop()
        self._folder.remove()

    def _process(self) -> int | None:
        """The number of the browser's process, which it writes into its profile."""
        lock = self.context.folder / "SingletonLock"
        number = str(lock.readlink()).rpartition("-")[2] if lock.is_symlink() else ""
        return int(number) if number.isdigit() else None

    async def _guarded(self, work: Callable[[PageContext], Awaitable[T]]) -> T:
        from playwright.async_api import Error

        try:
            return await work(self.context)
        except Error as error:
            raise translated(error, self.context) from error

"""A browser together with the thread it lives in: runs work in it, tells what went wrong, and ends without a trace."""

import os
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from athand.errors import AthandError
from athand.flows.browser import folders
from athand.flows.browser.acting import translated
from athand.flows.browser.options import LaunchOptions
from athand.flows.browser.window import Window
from athand.flows.browser.worker import Worker
from athand.flows.profiles import Profile

T = TypeVar("T")
_MORE_S = 5.0  # for what surrounds an action: looking before and after
_START_S, _STOP_S, _PING_S = 90.0, 15.0, 5.0


class Running:
    """A window and its worker, from launch to close."""

    def __init__(self, options: LaunchOptions, profile: Profile) -> None:
        folders.sweep()
        self._folder = folders.Folder()
        self.window = Window(options, profile, self._folder.profile)
        self._worker = Worker(self._folder.path)

    def start(self) -> None:
        """Start the browser."""
        self._worker.call(self.window.start, _START_S)

    def run(self, work: Callable[[Window], Awaitable[T]], timeout_s: float) -> T:
        """Do something in the browser; its errors are ours."""
        return self._worker.call(lambda: self._guarded(work), timeout_s + _MORE_S)

    def is_alive(self) -> bool:
        """Whether the browser answers at all."""
        if self.window.is_gone:
            return False
        try:
            self.run(lambda window: window.ping(), _PING_S)
        except AthandError:
            return False
        return True

    def close(self) -> None:
        """End browser and thread, and take the profile away; again is no harm."""
        if self._worker.is_current:  # the garbage collector may come by here, where nothing can be waited for
            threading.Thread(target=self.close, name="athand-browser-end").start()
            return
        if not self._worker.is_running:
            return
        process = self._process()
        try:
            self._worker.call(self.window.stop, _STOP_S)
        except AthandError:
            if process is not None:
                with suppress(ProcessLookupError):  # it has ended after all
                    os.kill(process, signal.SIGTERM)
        self._worker.stop()
        self._folder.remove()

    def _process(self) -> int | None:
        """The number of the browser's process, which it writes into its profile."""
        lock = self.window.folder / "SingletonLock"
        number = str(lock.readlink()).rpartition("-")[2] if lock.is_symlink() else ""
        return int(number) if number.isdigit() else None

    async def _guarded(self, work: Callable[[Window], Awaitable[T]]) -> T:
        from playwright.async_api import Error

        try:
            return await work(self.window)
        except Error as error:
            raise translated(error, self.window) from error

"""One Chromium for all tests of a process: every browser they open is a context of it that knows nothing of the others.

What is shared is what costs: Playwright's process, the browser's, and the thread they are used from. Tests of the life
of a browser start one of their own.
"""

import os
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from tests.waiting import PATIENCE

from athand.flows.browser import chromium, process
from athand.flows.browser.loop_thread import LoopThread
from athand.flows.service import Flows


class Chromium:
    """A browser that runs from its first use until it is closed, and is started again should it have died."""

    def __init__(self):
        from playwright.async_api import async_playwright

        self._folder = tempfile.TemporaryDirectory(prefix="r-")  # a short name, for there are sockets in it
        self._browser = None
        self.worker = LoopThread(Path(self._folder.name))
        self.playwright = self.worker.call(lambda: async_playwright().start(), PATIENCE)

    async def context(self, **options):
        """A new context with one empty tab, as a browser with a profile of its own would have it."""
        if self._browser is None or not self._browser.is_connected():
            self._browser = await self._started()
        opened = await self._browser.new_context(**options)
        await opened.new_page()
        return opened

    async def _started(self):
        own = self.playwright.chromium
        return await own.launch(
            executable_path=chromium.find_executable(None, own.executable_path),
            args=chromium.launch_flags(),
            env={**os.environ, "HOME": self._folder.name, "TMPDIR": self._folder.name},
            timeout=PATIENCE * 1000,
        )

    def close(self):
        self.worker.call(self.playwright.stop, PATIENCE)  # which ends the browser too
        self.worker.stop()
        self._folder.cleanup()


class Guest(LoopThread):
    """A worker in the thread of the one Chromium, which goes on when this one is stopped."""

    def __init__(self, host):
        self._loop, self._thread, self._is_stopped = host._loop, host._thread, False

    @property
    def is_running(self):
        return super().is_running and not self._is_stopped

    def stop(self):
        self._is_stopped = True


class Lent:
    """Playwright, as far as a window uses it to start a browser."""

    def __init__(self, shared):
        self._shared = shared
        self.executable_path = shared.playwright.chromium.executable_path
        self.chromium = self

    async def start(self):
        return self

    async def launch_persistent_context(self, _, *, headless, ignore_default_args, viewport, accept_downloads, **__):
        assert headless and not ignore_default_args, "a browser that is shared has no window and no extensions"
        return await self._shared.context(viewport=viewport, accept_downloads=accept_downloads)

    async def stop(self):
        pass


@cache
def chromium_of(config):
    """The one Chromium of the process, which ends with the tests."""
    shared = Chromium()
    config.add_cleanup(shared.close)
    return shared


@contextmanager
def shared_chromium(config):
    """While it lasts, browsers are opened in the one Chromium of the process, and wait long unless they are told."""
    shared, prepare = chromium_of(config), Flows.prepare_browser
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Flows, "prepare_browser", lambda flows, **given: prepare(flows, **{"timeout_s": PATIENCE, **given})
        )
        patch.setattr("playwright.async_api.async_playwright", lambda: Lent(shared))
        patch.setattr(process, "LoopThread", lambda _: Guest(shared.worker))
        patch.setattr(process, "_OVERHEAD_S", PATIENCE)
        yield

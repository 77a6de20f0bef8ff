"""The open browsers, by the session that each of them records."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, Conflict, InvalidInput

if TYPE_CHECKING:
    from athand.flows import Flows
    from athand.flows.browser import Browser
    from athand.flows.browser.model import CleanupResult, LaunchResult

_MAX_OPEN = 8


class Browsers:
    """Open browsers. Any thread may use them; they never open files of this machine."""

    def __init__(self, flows: "Flows") -> None:
        self._flows = flows
        self._open: dict[str, Browser] = {}
        self._lock = threading.Lock()  # of the dictionary
        self._launching = threading.Lock()  # one launch at a time: two may name the same session

    def launch(self, **options: Any) -> "LaunchResult":
        """Launch a browser and keep it open; refused while the browser of the same session is alive."""
        with self._launching:
            self._forget_dead(but=options.get("session"))
            own = self._list_open().get(options.get("session") or "")
            if own is None and len(self._list_open()) >= _MAX_OPEN:
                message = f"{_MAX_OPEN} browsers are open. Clean up one of them: {self._names()}."
                raise Conflict(message, code="TOO_MANY")
            browser = own or self._make_browser(options)
            launched = browser.launch(**options)
            with self._lock:
                self._open[launched.session_id] = browser
            return launched

    def get(self, session_id: str | None = None) -> "Browser":
        """The browser of a session; default: the only one that is open."""
        is_open = self._list_open()
        if not is_open:
            raise ActionFailed("No browser is running. Launch one first.", code="NOT_LAUNCHED")
        if session_id is None and len(is_open) > 1:
            raise InvalidInput(f"Which browser? Give a session_id: {self._names()}.", code="SEVERAL_BROWSERS")
        browser = next(iter(is_open.values())) if session_id is None else is_open.get(session_id)
        if browser is None:
            message = f"No browser is running for session {session_id}. Open: {self._names()}."
            raise ActionFailed(message, code="NOT_LAUNCHED")
        return browser

    def cleanup(self, session_id: str | None = None) -> "CleanupResult":
        """Close a browser."""
        return self._end(self.get(session_id))

    @contextmanager
    def open_or_launch(self, session_id: str | None, **options: Any) -> "Iterator[Browser]":
        """The open browser of a session; default: a new one, launched at its first use and closed at the end."""
        if session_id is not None:
            yield self.get(session_id)
            return
        browser = self._make_browser(options)
        try:
            yield browser
        finally:
            browser.cleanup()

    def close(self) -> None:
        """Close all browsers, also if closing one fails; waits for a launch that is under way."""
        with self._launching, ExitStack() as closing:
            for browser in self._list_open().values():
                closing.callback(self._end, browser)

    def _make_browser(self, options: dict[str, Any]) -> "Browser":
        return self._flows.prepare_browser(**options, local_files=False)

    def _forget_dead(self, but: str | None) -> None:
        """Forget browsers that have died, except the one to be launched again, which keeps its options."""
        for session_id, browser in self._list_open().items():
            if session_id != but and not browser.is_alive:
                self._end(browser)

    def _end(self, browser: "Browser") -> "CleanupResult":
        try:
            return browser.cleanup()
        finally:
            with self._lock:
                self._open = {key: each for key, each in self._open.items() if each is not browser}

    def _list_open(self) -> "dict[str, Browser]":
        with self._lock:
            return dict(self._open)

    def _names(self) -> str:
        return ", ".join(self._list_open())

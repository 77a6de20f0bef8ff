"""The browsers that callers have launched, by the session each of them records."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, Conflict, InvalidInput

if TYPE_CHECKING:
    from athand.flows import Flows
    from athand.flows.browser import Browser
    from athand.flows.browser.model import CleanupResult, LaunchResult

_MOST = 8  # at once


class Browsers:
    """Open browsers. Any thread may use them; they open no files of this machine, whoever asks."""

    def __init__(self, flows: "Flows") -> None:
        self._flows = flows
        self._open: dict[str, Browser] = {}
        self._lock = threading.Lock()  # of the dictionary
        self._launching = threading.Lock()  # one launch at a time: two may name the same session

    def launch(self, **options: Any) -> "LaunchResult":
        """Start a browser and keep it; one whose session is open is refused, unless it has died."""
        with self._launching:
            self._forget_dead(but=options.get("session"))
            own = self._known().get(options.get("session") or "")
            if own is None and len(self._known()) >= _MOST:
                raise Conflict(f"{_MOST} browsers are open. Clean up one of them: {self._names()}.", code="TOO_MANY")
            browser = own or self._prepared(options)
            launched = browser.launch(**options)
            with self._lock:
                self._open[launched.session_id] = browser
            return launched

    def get(self, session_id: str | None = None) -> "Browser":
        """The browser of a session; without a word, the only one that is open."""
        known = self._known()
        if not known:
            raise ActionFailed("No browser is running. Launch one first.", code="NOT_LAUNCHED")
        if session_id is None and len(known) > 1:
            raise InvalidInput(f"Which browser? Give a session_id: {self._names()}.", code="SEVERAL_BROWSERS")
        browser = next(iter(known.values())) if session_id is None else known.get(session_id)
        if browser is None:
            told = f"No browser is running for session {session_id}. Open are: {self._names()}."
            raise ActionFailed(told, code="NOT_LAUNCHED")
        return browser

    def cleanup(self, session_id: str | None = None) -> "CleanupResult":
        """Close a browser."""
        return self._ended(self.get(session_id))

    @contextmanager
    def borrowed(self, session_id: str | None, **options: Any) -> "Iterator[Browser]":
        """The open browser of a session; without one, a browser that is launched when it is used, and then closed."""
        if session_id is not None:
            yield self.get(session_id)
            return
        browser = self._prepared(options)
        try:
            yield browser
        finally:
            browser.cleanup()

    def close(self) -> None:
        """Close all of them, whatever one of them says; a launch is waited for."""
        with self._launching, ExitStack() as ending:
            for browser in self._known().values():
                ending.callback(self._ended, browser)

    def _prepared(self, options: dict[str, Any]) -> "Browser":
        return self._flows.prepare_browser(**options, local_files=False)

    def _forget_dead(self, but: str | None) -> None:
        """Those that have died are in nobody's way; one that is launched again keeps its options."""
        for session_id, browser in self._known().items():
            if session_id != but and not browser.is_alive:
                self._ended(browser)

    def _ended(self, browser: "Browser") -> "CleanupResult":
        try:
            return browser.cleanup()
        finally:
            with self._lock:
                self._open = {key: each for key, each in self._open.items() if each is not browser}

    def _known(self) -> "dict[str, Browser]":
        with self._lock:
            return dict(self._open)

    def _names(self) -> str:
        return ", ".join(self._known())

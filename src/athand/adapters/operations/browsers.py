"""The open browsers, by the session that each of them records; each belongs to the caller who launched it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from athand.adapters.operations.caller import AGENT, Caller
from athand.errors import ActionFailed, Conflict, InvalidInput, Refused

if TYPE_CHECKING:
    from athand.flows import Flows
    from athand.flows.browser import Browser
    from athand.flows.browser.model import CleanupResult, LaunchResult

_MAX_OPEN, _MAX_OWN = 8, 4  # browsers of all callers, and of one


@dataclass(frozen=True, slots=True)
class _OpenBrowser:
    browser: "Browser"
    owner: str  # the name of the caller who launched it


class Browsers:
    """Open browsers. Any thread may use them; they never open files of this machine."""

    def __init__(self, flows: "Flows") -> None:
        self._flows = flows
        self._open: dict[str, _OpenBrowser] = {}
        self._lock = threading.Lock()  # of the dictionary
        self._launching = threading.Lock()  # one launch at a time: two may name the same session

    def launch(self, caller: Caller = AGENT, **options: Any) -> "LaunchResult":
        """Launch a browser and keep it open; refused while the browser of the same session is alive."""
        self._check_extension(caller, options)
        session = options.get("session") or ""
        with self._launching:
            self._forget_dead(but=session)
            own = self._of(caller).get(session)
            if own is None:
                self._check_room(caller, session)
            browser = own or self._make_browser(options)
            launched = browser.launch(**options)
            with self._lock:
                self._open[launched.session_id] = _OpenBrowser(browser, caller.name)
            return launched

    def get(self, session_id: str | None = None, caller: Caller = AGENT) -> "Browser":
        """The browser of a session; default: the only one that the caller has open. Those of others are not there."""
        is_open = self._of(caller)
        if not is_open:
            raise ActionFailed("No browser is running. Launch one first.", code="NOT_LAUNCHED")
        if session_id is None and len(is_open) > 1:
            raise InvalidInput(f"Which browser? Give a session_id: {', '.join(is_open)}.", code="SEVERAL_BROWSERS")
        browser = next(iter(is_open.values())) if session_id is None else is_open.get(session_id)
        if browser is None:
            message = f"No browser is running for session {session_id}. Open: {', '.join(is_open)}."
            raise ActionFailed(message, code="NOT_LAUNCHED")
        return browser

    def cleanup(self, session_id: str | None = None, caller: Caller = AGENT) -> "CleanupResult":
        """Close a browser."""
        return self._end(self.get(session_id, caller))

    @contextmanager
    def open_or_launch(self, session_id: str | None, caller: Caller = AGENT, **options: Any) -> "Iterator[Browser]":
        """The open browser of a session; default: a new one, launched at its first use and closed at the end."""
        if session_id is not None:
            yield self.get(session_id, caller)
            return
        self._check_extension(caller, options)
        browser = self._make_browser(options)
        try:
            yield browser
        finally:
            browser.cleanup()

    def close(self) -> None:
        """Close all browsers, also if closing one fails; waits for a launch that is under way."""
        with self._launching, ExitStack() as closing:
            for each in self._list_open().values():
                closing.callback(self._end, each.browser)

    def _check_extension(self, caller: Caller, options: dict[str, Any]) -> None:
        """An extension may do anything in its browser, read files too: an agent starts only those of the settings."""
        folder = options.get("extension")
        if folder is None or caller.is_owner or self._flows.is_known_extension(folder):
            return
        message = "Only extensions that the owner has named may be loaded. The owner can add the folder to the setting "
        raise Refused(f"{message}extensions: athand config set extensions DIR", code="EXTENSION_REFUSED")

    def _check_room(self, caller: Caller, session: str) -> None:
        own, count = self._of(caller), len(self._list_open())
        if session in self._list_open():
            message = f"Another caller's browser records session {session} now. Name another session."
            raise Conflict(message, code="ALREADY_LAUNCHED")
        if len(own) >= _MAX_OWN:
            message = f"{_MAX_OWN} browsers are open. Clean up one of them: {', '.join(own)}."
            raise Conflict(message, code="TOO_MANY")
        if count >= _MAX_OPEN:
            message = f"{_MAX_OPEN} browsers of all callers are open, which is the limit. Try again later."
            raise Conflict(message, code="TOO_MANY")

    def _make_browser(self, options: dict[str, Any]) -> "Browser":
        return self._flows.prepare_browser(**options, local_files=False)

    def _forget_dead(self, but: str) -> None:
        """Forget browsers that have died, except the one to be launched again, which keeps its options."""
        for session_id, each in self._list_open().items():
            if session_id != but and not each.browser.is_alive:
                self._end(each.browser)

    def _end(self, browser: "Browser") -> "CleanupResult":
        try:
            return browser.cleanup()
        finally:
            with self._lock:
                self._open = {key: each for key, each in self._open.items() if each.browser is not browser}

    def _of(self, caller: Caller) -> "dict[str, Browser]":
        """The browsers that a caller has launched."""
        return {key: each.browser for key, each in self._list_open().items() if each.owner == caller.name}

    def _list_open(self) -> dict[str, _OpenBrowser]:
        with self._lock:
            return dict(self._open)

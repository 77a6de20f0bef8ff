"""MCP sessions over HTTP: how many there may be, and which one ends when a caller opens another."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from athand.adapters.eviction import Most, choose_to_leave


@dataclass(eq=False, slots=True)
class HttpSession:
    """A session: its id, the caller who opened it, and the requests of it that are being answered."""

    id: str
    group: str
    _in_use: int = 0
    _last_use: float = field(default_factory=time.monotonic)

    @property
    def idle_since(self) -> float | None:
        """Since when no request of it is being answered; None while one is."""
        return None if self._in_use else self._last_use

    @contextmanager
    def use(self) -> Iterator[None]:
        """While a request of it is being answered."""
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1
            self._last_use = time.monotonic()


class HttpSessions:
    """The sessions that are open, by id."""

    def __init__(self, most: Most) -> None:
        self._most = most
        self._open: dict[str, HttpSession] = {}

    def get(self, session_id: str, caller: str) -> HttpSession:
        """A session of this caller; one that is not known is one that nobody has."""
        known = self._open.get(session_id)
        return known if known is not None and known.group == caller else HttpSession(session_id, caller)

    def add(self, session_id: str, caller: str) -> HttpSession | None:
        """Note a new session; the one that has to end for it."""
        new = self._open[session_id] = HttpSession(session_id, caller)
        with new.use():
            leaving = choose_to_leave(self._open.values(), caller, self._most)
        if leaving is not None:
            del self._open[leaving.id]
        return leaving

    def forget(self, session_id: str, caller: str) -> None:
        """Forget a session that its caller has ended."""
        if self.get(session_id, caller) is self._open.get(session_id):
            del self._open[session_id]

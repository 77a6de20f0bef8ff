"""Servers that start for the first time: whoever finds nothing waits for them a little, and every answer names them."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from athand.errors import NotFound, Unavailable
from athand.store import Snapshot
from athand.tools.access import may_reach
from athand.tools.context import ToolContext
from athand.tools.servers import RunningServers, list_rows

T = TypeVar("T")
LONGEST_WAIT = 4.0  # seconds


class FirstStarts:
    """The servers whose tools are not known yet because they are still being started."""

    def __init__(self, context: ToolContext, running: RunningServers) -> None:
        self._context, self._running = context, running

    def notes(self, snapshot: Snapshot, spaces: Sequence[str] | None) -> tuple[str, ...]:
        """What to tell whoever searches meanwhile."""
        names = self._names(snapshot, spaces)
        return (f"{_are_starting(names)}, so their tools are not found yet. Ask again in a moment.",) if names else ()

    def wait_while_empty(self, spaces: Sequence[str] | None, ask: Callable[[], T]) -> T:
        """The answer of `ask`; while it is empty or NotFound, ask again whenever one of the servers is ready."""
        until = time.monotonic() + LONGEST_WAIT
        while True:
            with self._context.store.snapshot() as snapshot:
                names = self._names(snapshot, spaces)
            left = until - time.monotonic()
            try:
                if (answer := ask()) or not names or left <= 0:
                    return answer
            except NotFound as error:
                if not names:
                    raise
                if left <= 0:
                    raise Unavailable(f"{error} But {_are_starting(names)}: ask again in a moment.") from error
            self._running.wait_for_one(left)

    def _names(self, snapshot: Snapshot, spaces: Sequence[str] | None) -> list[str]:
        """The names of the servers of these catalogues that were never listed and are starting."""
        starting = self._running.list_starting()
        if not starting:
            return []
        rows = [row for row in list_rows(snapshot) if row.key in starting and row.listed_at is None]
        return [row.id for row in rows if (spaces is None or row.space in spaces) and may_reach(row.id)]


def _are_starting(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} still starting"

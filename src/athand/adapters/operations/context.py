"""What operations work with: Athand, opened when it is first needed, and the browsers that are open."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from athand.adapters.operations.browsers import Browsers
    from athand.app import Athand

Tally = Callable[[str, str], None]  # the name of an operation; ok, or the kind of its error


class AppContext:
    """What operations work with: Athand, opened when it is first needed, and the browsers that were launched."""

    def __init__(self, opener: "Callable[[], Athand]") -> None:
        self._opener = opener
        self._lock = threading.RLock()
        self._closing = ExitStack()
        self._athand: Athand | None = None
        self._browsers: Browsers | None = None
        self.tally: Tally = _ignore_outcome

    @property
    def athand(self) -> "Athand":
        """The one Athand of this process."""
        with self._lock:
            if self._athand is None:
                self._athand = self._closing.enter_context(self._opener())
            return self._athand

    @property
    def browsers(self) -> "Browsers":
        """The browsers that are open, by the session they record."""
        with self._lock:
            if self._browsers is None:
                from athand.adapters.operations.browsers import Browsers

                self._browsers = Browsers(self.athand.flows)
                self._closing.callback(self._browsers.close)
            return self._browsers

    def close(self) -> None:
        """Let go of everything: browsers first, then the store."""
        with self._lock:
            self._closing.close()


def _ignore_outcome(name: str, outcome: str) -> None:
    """Operations that are not counted."""

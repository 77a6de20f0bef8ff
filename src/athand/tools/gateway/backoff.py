"""When to try a server again: a failed start waits longer each time, and so do calls that keep failing."""

import random
from collections.abc import Callable
from dataclasses import dataclass

FIRST, LONGEST = 1.0, 300.0  # seconds
PATIENCE = 3  # calls in a row that may fail before we stop asking


@dataclass(slots=True)
class Backoff:
    """Counts failures and says until when to leave a server alone; times are those of one clock."""

    dice: Callable[[], float] = random.random
    starts: int = 0
    calls: int = 0
    until: float | None = None

    def is_open(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return self.until is not None and now < self.until

    def start_failed(self, now: float) -> None:
        """The server could not be reached."""
        self.starts += 1
        self._wait(now, self.starts)

    def start_worked(self) -> None:
        """It is there again; whether its calls work is still to be seen."""
        self.starts, self.until = 0, None

    def call_failed(self, now: float) -> bool:
        """A call timed out or lost its server; True when that was once too often."""
        self.calls += 1
        if self.calls < PATIENCE:
            return False
        self._wait(now, self.calls - PATIENCE + 1)
        return True

    def call_worked(self) -> None:
        """All is forgiven."""
        self.starts, self.calls, self.until = 0, 0, None

    def _wait(self, now: float, times: int) -> None:
        """Not all at the same moment: a tenth more or less."""
        seconds = min(LONGEST, FIRST * 2.0 ** min(times - 1, 30))
        self.until = now + seconds * (0.9 + 0.2 * self.dice())

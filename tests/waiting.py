"""Waiting for what the machine decides: for a condition, for as long as a busy machine may need."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0  # seconds; only what never comes takes so long


def eventually(check: Callable[[], Any], seconds: float = PATIENCE) -> bool:
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def until(check: Callable[[], Any]) -> None:
    """Wait until something is true."""
    assert eventually(check), "it did not happen in time"

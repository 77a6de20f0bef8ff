"""Waiting for what a machine decides: for a condition, and never for long if it comes."""

import time

PATIENCE = 60  # seconds; only what never comes takes so long


def until(check, limit=PATIENCE):
    """Wait until something holds."""
    end = time.monotonic() + limit
    while not check():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.01)

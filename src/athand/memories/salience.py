"""Salience, how much a memory matters: reinforced by use, fading with time.

Fading is computed whenever the salience is read and never written back: what is stored is the salience as of the last
access. `salience_now` and `SALIENCE_NOW_SQL` are the same formula; a test holds them together.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# The rates of fading per day, before importance slows them.
RATES = {"emotional": 0.003, "semantic": 0.005, "reflective": 0.008, "procedural": 0.01, "episodic": 0.02}
LEAST, MOST = 0.05, 1.0
# The part of what is missing to 1 that is given back: by `reinforce`, and by being found in a search.
BY_CALLER, BY_SEARCH = 0.1, 0.02
BY_DEEMPHASIZE = 0.2
_DAY = 86_400_000_000  # in the database's microseconds

_RATE = " ".join(f"WHEN sector = '{sector}' THEN {rate}" for sector, rate in RATES.items())
_LOSS = f"(CASE WHEN pinned = 1 THEN 0.0 {_RATE} END) / (importance + 0.1) * (:now - last_accessed) / {_DAY}.0"
# Beyond this nothing is left; PostgreSQL raises an error at an underflow or overflow.
_ALL = 100.0
_BOUND = f"CASE WHEN {_LOSS} > {_ALL} THEN {_ALL} WHEN {_LOSS} < -{_ALL} THEN -{_ALL} ELSE {_LOSS} END"
_FADED = f"salience * exp(-({_BOUND}))"
SALIENCE_NOW_SQL = f"(CASE WHEN {_FADED} < {LEAST} THEN {LEAST} WHEN {_FADED} > {MOST} THEN {MOST} ELSE {_FADED} END)"


def salience_now(
    salience: Sequence[float],
    importance: Sequence[float],
    sector: Sequence[str],
    pinned: Sequence[object],
    last_accessed: Sequence[int],
    now: int,
) -> npt.NDArray[np.float64]:
    """The faded salience of memories; times in microseconds."""
    rates = np.array([0.0 if fixed else RATES[kind] for kind, fixed in zip(sector, pinned, strict=True)])
    loss = rates / (np.array(importance) + 0.1) * (now - np.array(last_accessed, np.int64)) / _DAY
    faded: npt.NDArray[np.float64] = np.array(salience) * np.exp(-np.clip(loss, -_ALL, _ALL))
    return faded.clip(LEAST, MOST)


def reinforce_salience(current: float, amount: float) -> float:
    """The salience after a use or `reinforce`."""
    return current + amount * (1 - current)


def lower_salience(current: float, amount: float) -> float:
    """The salience after `deemphasize`."""
    return max(LEAST, current - amount)

"""How much a memory matters: reinforced by use, fading with time.

Fading is computed whenever the salience is read and never written back: what is stored is the salience as of the last
access. `effective` and `SALIENCE_NOW_SQL` are the same formula; a test holds them together.
"""

import math

# What is lost per day, before importance slows it.
RATES = {"emotional": 0.003, "semantic": 0.005, "reflective": 0.008, "procedural": 0.01, "episodic": 0.02}
LEAST, MOST = 0.05, 1.0
# How much of what is missing to 1 comes back: when someone says so, and for being returned by a search.
BY_CALLER, BY_SEARCH = 0.1, 0.02
BY_DEEMPHASIZE = 0.2
_DAY = 86_400_000_000  # in the database's microseconds

_RATE = " ".join(f"WHEN sector = '{sector}' THEN {rate}" for sector, rate in RATES.items())
_LOSS = f"(CASE WHEN pinned = 1 THEN 0.0 {_RATE} END) / (importance + 0.1) * (:now - last_accessed) / {_DAY}.0"
# Beyond this nothing is left; PostgreSQL refuses to compute what is too small, or too large, for a number.
_ALL = 100.0
_BOUND = f"CASE WHEN {_LOSS} > {_ALL} THEN {_ALL} WHEN {_LOSS} < -{_ALL} THEN -{_ALL} ELSE {_LOSS} END"
_FADED = f"salience * exp(-({_BOUND}))"
SALIENCE_NOW_SQL = f"(CASE WHEN {_FADED} < {LEAST} THEN {LEAST} WHEN {_FADED} > {MOST} THEN {MOST} ELSE {_FADED} END)"


def salience_now(salience: float, importance: float, sector: str, pinned: object, microseconds: int) -> float:
    """The salience now, so long after the last access."""
    rate = 0.0 if pinned else RATES[sector]
    loss = rate / (importance + 0.1) * microseconds / _DAY
    faded = salience * math.exp(-min(_ALL, max(-_ALL, loss)))
    return min(MOST, max(LEAST, faded))


def reinforce_salience(current: float, amount: float) -> float:
    """The salience after a use."""
    return current + amount * (1 - current)


def lower_salience(current: float, amount: float) -> float:
    """The salience after someone said that it matters less."""
    return max(LEAST, current - amount)

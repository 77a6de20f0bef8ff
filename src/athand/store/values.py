"""Values that both engines store alike: ids, times, and a digest over rows."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing that reads as something else
_LETTERS = 18
_RANDOM_BITS = 40


def new_id(now: datetime) -> str:
    """A short id that sorts by time: ten characters of milliseconds, eight random ones."""
    number = int(now.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (_LETTERS - 1), -1, -5))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(time: datetime) -> int:
    """Microseconds since 1970, UTC, of an aware time: they sort, compare and round-trip exactly."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def to_datetime(microseconds: int) -> datetime:
    """The aware UTC time of such microseconds."""
    return _EPOCH + timedelta(microseconds=microseconds)


def to_datetimes(column: Iterable[int | None]) -> list[datetime | None]:
    """The aware UTC times of a column of such microseconds; None stays None."""
    return [None if each is None else _EPOCH + timedelta(microseconds=each) for each in column]


def digest(*groups: Iterable[tuple[Any, ...]]) -> str:
    """SHA-256 over rows, equal for the same rows in the same order on either engine."""
    hashed = hashlib.sha256()
    for rows in groups:
        for row in rows:
            hashed.update(repr(row).encode())
    return hashed.hexdigest()

"""Times in the database are whole microseconds since 1970, UTC: they sort, compare and round-trip exactly."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(time: datetime) -> int:
    """How the database keeps an aware time."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def to_datetime(microseconds: int) -> datetime:
    """The aware UTC time again."""
    return _EPOCH + timedelta(microseconds=microseconds)

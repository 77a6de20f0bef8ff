import secrets
from datetime import datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing that reads as something else
_TIME_LETTERS = 10
_RANDOM_LETTERS = 8


def new_id(now: datetime) -> str:
    """A short id that sorts by time: ten letters of milliseconds, eight of chance."""
    milliseconds = int(now.timestamp() * 1000)
    when = "".join(_ALPHABET[milliseconds >> shift & 31] for shift in range(5 * (_TIME_LETTERS - 1), -1, -5))
    return when + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LETTERS))

import secrets
from datetime import datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing that reads as something else
_LETTERS = 18
_RANDOM_BITS = 40


def new_id(now: datetime) -> str:
    """A short id that sorts by time: ten letters of milliseconds, eight of chance."""
    number = int(now.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (_LETTERS - 1), -1, -5))

"""Checks of what callers hand in: each returns the clean value, or says what is wrong with it."""

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from recollect.errors import InvalidInput

LONGEST_TEXT = 1_000_000
LONGEST_NAME = 256
MOST_HITS = 1000


def check_text(what: str, value: object, *, longest: int = LONGEST_TEXT) -> str:
    """A text with something in it, that fits and can be stored."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}.")
    if not value.strip():
        raise InvalidInput(f"{what} is empty. Give it some text.")
    if "\0" in value:
        raise InvalidInput(f"{what} has a NUL character at position {value.index(chr(0))}. Leave it out.")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is not valid Unicode at position {error.start}. Decode it before.") from error
    if size > longest:
        raise InvalidInput(f"{what} has {size:,} bytes; at most {longest:,} fit. Split it, or keep it as a document.")
    return value


def is_text(value: object) -> bool:
    """Whether this can be looked for at all: what is no text, or no valid Unicode, is nowhere."""
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode("utf-8") == value


def check_name(what: str, value: object) -> str:
    """A short name of visible characters: an id, a project, a tag."""
    name = check_text(what, value, longest=LONGEST_NAME)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise InvalidInput(f"{what} {name!r} has control characters in it. Leave them out.")
    return name


def check_limit(value: object, most: int = MOST_HITS) -> int:
    """How many answers: at least one."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InvalidInput(f"limit must be a whole number from 1 to {most:,}, not {value!r}.")
    return value


def check_choice(what: str, value: object, choices: Sequence[str]) -> str:
    """One of the known words."""
    if value not in choices:
        raise InvalidInput(f"No {what} {value!r}. Choose one of: {', '.join(choices)}.")
    return str(value)


def check_names(what: str, values: object) -> tuple[str, ...]:
    """Several names, each once."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list of names, not {values!r}.")
    return tuple(dict.fromkeys(check_name(what, each) for each in values))


def check_count(what: str, value: object, most: int = MOST_HITS) -> int:
    """How many: none is allowed."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise InvalidInput(f"{what} must be a whole number from 0 to {most:,}, not {value!r}.")
    return value


def check_fraction(what: str, value: object) -> float:
    """A number from 0 to 1."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InvalidInput(f"{what} must be a number from 0 to 1, not {value!r}.")
    return float(value)


def check_time(what: str, value: object) -> datetime:
    """An aware UTC time from a `datetime` or ISO text; without a zone it is taken as UTC."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(time, datetime):
            raise TypeError
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput(f"{what} {value!r} is not a time. Write it like 2026-03-31T14:05:00+00:00.") from error


def check_past(what: str, value: object, now: datetime) -> datetime:
    """A time that has come already; a clock may go a minute ahead of ours."""
    time = check_time(what, value)
    if time > now + timedelta(minutes=1):
        raise InvalidInput(f"{what} {time.isoformat()} lies in the future; now it is {now.isoformat()}.")
    return time

"""Argument checks: each returns the valid value, or raises InvalidInput that says what is wrong."""

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from athand.errors import InvalidInput
from athand.text_length import shorten

LONGEST_TEXT = 1_000_000
LONGEST_NAME = 256
LONGEST_QUERY = 10_000  # characters
MOST_HITS = 1000
_LONGEST_FILE_NAME = 255  # bytes, on all usual file systems
_SHOWN = 80
_AGE = re.compile(r"([0-9]{1,4})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def show_value(value: object) -> str:
    """The repr of a wrong value for an error message, shortened."""
    return shorten(repr(value), _SHOWN)


def suggest(name: object, known: Iterable[str]) -> str:
    """The question whether the nearest of these names was meant; empty if none is near."""
    from rapidfuzz.distance import OSA

    wanted = str(name)[:LONGEST_NAME].casefold()
    most = max(1, len(wanted) // 3)
    near = [(OSA.distance(wanted, each.casefold(), score_cutoff=most), each) for each in map(str, known)]
    edits, best = min(near, default=(most + 1, ""))
    return f" Did you mean {best}?" if edits <= most else ""


def check_text(what: str, value: object, *, longest: int = LONGEST_TEXT) -> str:
    """A text that is not empty, not too long, and can be stored."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}.")
    if not value.strip():
        raise InvalidInput(f"{what} is empty. Give it some text.")
    if "\0" in value:
        raise InvalidInput(f"{what} has a NUL character at position {value.index(chr(0))}. Leave it out.")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is not valid Unicode at position {error.start}. Decode it first.") from error
    if size > longest:
        raise InvalidInput(f"{what} has {size:,} bytes; at most {longest:,} fit. Split it, or keep it as a document.")
    return value


def check_query(value: object) -> str:
    """Any text; cut to its first characters if it is very long."""
    text = value if isinstance(value, str) else check_text("query", value)
    return text[:LONGEST_QUERY]


def is_text(value: object) -> bool:
    """Whether a value is a string of valid Unicode."""
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode("utf-8") == value


def check_name(what: str, value: object) -> str:
    """A short name of visible characters: an id, a project, a tag."""
    name = check_text(what, value, longest=LONGEST_NAME)
    if not name.isprintable() and any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise InvalidInput(f"{what} {name!r} has control characters in it. Leave them out.")
    return name


def check_limit(value: object, most: int = MOST_HITS) -> int:
    """A limit of at least one."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InvalidInput(f"limit must be a whole number from 1 to {most:,}, not {show_value(value)}.")
    return value


def check_choice(what: str, value: object, choices: Sequence[str]) -> str:
    """One of the choices."""
    if value not in choices:
        raise InvalidInput(f"No {what} {show_value(value)}. Choose one of: {', '.join(choices)}.")
    return str(value)


def check_names(what: str, values: object) -> tuple[str, ...]:
    """Several names, each once."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list of names, not {show_value(values)}.")
    return tuple(dict.fromkeys(check_name(what, each) for each in values))


def check_count(what: str, value: object, most: int = MOST_HITS) -> int:
    """A whole number from 0 on."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise InvalidInput(f"{what} must be a whole number from 0 to {most:,}, not {show_value(value)}.")
    return value


def check_fraction(what: str, value: object) -> float:
    """A number from 0 to 1."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InvalidInput(f"{what} must be a number from 0 to 1, not {show_value(value)}.")
    return float(value)


def check_time(what: str, value: object) -> datetime:
    """An aware UTC time from a `datetime` or ISO text; without a zone it is taken as UTC."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(time, datetime):
            raise TypeError
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput(
            f"{what} {show_value(value)} is not a time. Write it like 2026-03-31T14:05:00+00:00."
        ) from error


def check_time_or_age(what: str, value: object, now: datetime) -> datetime:
    """A time, or one so long before now: 12h, 7d, 2w."""
    age = _AGE.fullmatch(value.strip()) if isinstance(value, str) else None
    return now - int(age[1]) * _UNITS[age[2]] if age else check_time(what, value)


def check_past(what: str, value: object, now: datetime) -> datetime:
    """A time in the past; a minute is allowed for clocks that differ."""
    time = check_time(what, value)
    if time > now + timedelta(minutes=1):
        raise InvalidInput(f"{what} {time.isoformat()} lies in the future; now it is {now.isoformat()}.")
    return time


def check_path(what: str, value: object) -> Path:
    """An absolute path with valid file names; whether it exists is not checked."""
    text = check_text(what, os.fspath(value) if isinstance(value, os.PathLike) else value)
    try:
        path = Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInput(f"{what} {show_value(text)} cannot be expanded: {error}.") from error
    if any(len(os.fsencode(part)) > _LONGEST_FILE_NAME for part in path.parts):
        raise InvalidInput(f"{what} {show_value(text)} has a name of more than {_LONGEST_FILE_NAME} bytes in it.")
    return path

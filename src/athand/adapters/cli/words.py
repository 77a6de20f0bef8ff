"""Names, numbers and times as plain text."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from athand.memories import Memory, Related
    from athand.memories import Session as MemorySession

WITHIN = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
HIDDEN = "•••"
_PASSWORD = re.compile(r"(?<=://)([^:/@]*:).+(?=@)|([?&](?:ssl)?password=)[^&]+")
_BAR = 9
_STEPS = ((60, "second"), (60, "minute"), (24, "hour"), (30, "day"), (12, "month"))
# Stored text must not steer the terminal: control characters are shown as pictures of themselves.
_PICTURES = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}


def escape_controls(text: str) -> str:
    """The text with control characters replaced by visible ones."""
    return text.translate(_PICTURES)


def abbreviate_home(text: str) -> str:
    """The text with `~` for the user's home in paths."""
    return re.sub(rf"(?<![^\s“(]){re.escape(str(Path.home()))}(?=/)", "~", text)


def hide_password(address: str) -> str:
    """The address with its password hidden."""
    return _PASSWORD.sub(rf"\1\2{HIDDEN}", address)


def to_one_line(text: str) -> str:
    """The text in one line: white space is a single blank, control characters are replaced."""
    return escape_controls(" ".join(text.split()))


def label_memory(memory: "Memory") -> str:
    """The memory's id and title."""
    return f"{click.style(memory.id, fg='cyan')}  {to_one_line(memory.title)}"


def describe_session(session: "MemorySession") -> str:
    """The session's summary, else its id."""
    return f"“{to_one_line(session.summary)}”" if session.summary else session.id


def label_session(session: "MemorySession") -> str:
    """The session's id and summary."""
    return f"{session.id} {describe_session(session)}" if session.summary else session.id


def pluralize(number: int, one: str, many: str | None = None) -> str:
    """The number and its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def format_age(time: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit."""
    amount = ((now or datetime.now(UTC)) - time).total_seconds()
    if amount < 0:
        return time.strftime("%-d %b %Y")
    if amount < 45:
        return "just now"
    for size, unit in _STEPS:
        if amount < size:
            return f"{pluralize(int(amount), unit)} ago"
        amount /= size
    return f"{pluralize(int(amount), 'year')} ago"


def format_short_age(time: datetime) -> str:
    """How long ago, without the word "ago": for a column."""
    return format_age(time).removeprefix("just ").removesuffix(" ago")


def format_time(time: datetime) -> str:
    """A time to the minute, and how long ago it was."""
    return f"{time:%Y-%m-%d %H:%M} UTC" + (f" ({format_age(time)})" if time <= datetime.now(UTC) else "")


def format_duration(seconds: float) -> str:
    """A duration in one unit."""
    return (
        f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
    )


def format_size(number: int) -> str:
    """Bytes, in one unit."""
    size = float(number)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def draw_bar(value: float, width: int = _BAR) -> str:
    """A value from 0 to 1 as blocks."""
    full = round(min(1.0, max(0.0, value)) * width)
    return "█" * full + "░" * (width - full)


def format_fraction(value: float) -> str:
    """A value from 0 to 1 with two digits: .35."""
    return f"{value:.2f}".removeprefix("0")


def has_ended(memory: "Memory") -> bool:
    """Whether the memory is superseded or expired."""
    return memory.valid_until is not None and memory.valid_until <= datetime.now(UTC)


def find_successor(memory: "Memory", related: Sequence["Related"]) -> "Memory | None":
    """The memory that supersedes a memory, among its relations."""
    wanted = ("SUPERSEDES", memory.id)
    return next((each.memory for each in related if (each.relation.type, each.relation.target_id) == wanted), None)

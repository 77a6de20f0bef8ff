"""Names, numbers and times as plain text."""

import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.plain_writer import lacks_characters

if TYPE_CHECKING:
    from athand.memories import Memory, Related
    from athand.memories import Session as MemorySession

WITHIN = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
HIDDEN = "•••"
_PASSWORD = re.compile(r"(?<=://)([^:/@]*:).+(?=@)|([?&](?:ssl)?password=)[^&]+")
_BAR = 9
_STEPS = ((60, "second"), (60, "minute"), (24, "hour"), (30, "day"), (12, "month"))
# Stored text must not steer the terminal, nor show in another order than it has: control characters are shown as
# pictures of themselves, and what is not seen by its number. The joiners of letters and of emoji stay.
_PICTURES: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}
_UNSEEN = (
    0x61C,
    0x200B,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xE0000, 0xE0080),
)
_PICTURES |= {code: f"<U+{code:04X}>" for code in _UNSEEN}
_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")
_ESCAPED_IN_JSON = re.compile(f"[\x7f-\x9f{''.join(map(chr, _UNSEEN))}]")


def escape_controls(text: str) -> str:
    """The text with what steers a terminal, and what is not seen on it, replaced by something visible."""
    return text.translate(_PICTURES)


def echo(text: object = "", *, err: bool = False, nl: bool = True, color: bool | None = None) -> None:
    """Print a text that may have colours of `click.style`; whatever else would steer the terminal is escaped."""
    pieces = _STYLE.split(str(text))  # every second one is a colour
    shown = "".join(piece if at % 2 else escape_controls(piece) for at, piece in enumerate(pieces))
    click.echo(shown, err=err, nl=nl, color=color)


def echo_data(text: str, *, nl: bool = True) -> None:
    """Print what may be for a program: unchanged, unless a person sees it."""
    (echo if sys.stdout.isatty() else click.echo)(text, nl=nl)


def to_json(value: object, indent: int | None = None) -> str:
    """The value as JSON, in which what steers a terminal is escaped."""
    text = json.dumps(value, ensure_ascii=lacks_characters(sys.stdout), indent=indent)
    return _ESCAPED_IN_JSON.sub(_escape_in_json, text)


def _escape_in_json(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


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

"""What readers make of a transcript: turns, each a prompt and what the agent did about it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from athand.redaction import clean
from athand.text_length import shorten

Record = Mapping[str, Any]
LONGEST_CALL = 120  # characters that tell which call it was
MOST_ERRORS, LONGEST_ERROR = 3, 300
_LOOKED_AT = 4_000  # characters


@dataclass(slots=True)
class Turn:
    """A prompt, and what came of it until the next one."""

    key: str  # equal whenever the same turn is read
    prompt: str
    at: datetime | None
    offset: int  # of the line in the file where it begins
    session: str
    folder: str | None = None  # that the agent worked in
    branch: str | None = None
    last_at: datetime | None = None
    answers: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    files: dict[str, None] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add_call(self, tool: str, about: str = "") -> None:
        """A call of a tool, and what tells which call it was. Secrets are removed first: a part of one is none."""
        words = clean(f"{tool} {about[:_LOOKED_AT]}")
        self.calls[shorten(" ".join(words.split()), LONGEST_CALL)] += 1

    def add_error(self, text: str) -> None:
        """What a tool said when it failed: its end, where the reason stands."""
        if len(self.errors) < MOST_ERRORS and (line := " ".join(clean(text[-_LOOKED_AT:]).split())):
            self.errors.append(line if len(line) <= LONGEST_ERROR else f"…{line[-LONGEST_ERROR:]}")


@dataclass(slots=True)
class SessionFacts:
    """What a transcript says about the whole session."""

    title: str | None = None
    session: str | None = None
    folder: str | None = None
    branch: str | None = None


def text_of(content: object) -> str:
    """The text of a message: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (each.get("text") for each in content if isinstance(each, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def parse_time(value: object) -> datetime | None:
    """A time of a record; None if it is none."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def text_or_none(value: object) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value.strip() else None

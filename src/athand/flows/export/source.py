"""The plan of an exported test, as both languages write it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from athand.types import Noun

CHROMIUM = "ATHAND_CHROMIUM"  # the environment variable that names the browser's program
EXTENSION = "An extension was used: run this in a browser that has it loaded, with its address as BASE_URL."


@dataclass(frozen=True, slots=True)
class Value(Noun):
    """A text, or the environment variable that has it."""

    text: str = ""
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Place(Noun):
    """Where an element is: `kind` is testId, selector, role or text; frames are selectors from the page down."""

    kind: str
    value: str
    name: str = ""
    frames: tuple[str, ...] = ()
    only_visible: bool = False  # there are others like it that cannot be seen


@dataclass(frozen=True, slots=True)
class Deed(Noun):
    """One action, and what is to be seen after it."""

    position: int
    words: str
    verb: str
    place: Place | None = None
    argument: str = ""  # what the value is: text, key, value, label or url
    value: Value | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    url: str | None = None  # a pattern
    shown: Place | None = None


@dataclass(frozen=True, slots=True)
class Script(Noun):
    """A test: what it is called, where it begins, and what it does."""

    title: str
    name: str  # an identifier
    base: str  # the origin of its addresses; empty where they have none
    start: Value | None
    attribute: str
    deeds: tuple[Deed, ...]

    def below_base(self, url: str) -> str | None:
        """The rest of an address that is under the base; None for others."""
        rest = url.removeprefix(self.base)
        return rest if self.base and rest != url and rest[:1] in ("", "/", "?", "#") else None

    @property
    def needs_tabs(self) -> bool:
        """Whether it goes from tab to tab."""
        return any(deed.verb in ("switch_tab", "close_tab") for deed in self.deeds)

    @property
    def needs_variables(self) -> bool:
        """Whether something must be told to it."""
        values = (self.start, *(deed.value for deed in self.deeds))
        return any(value is not None and value.variable for value in values)


def inert(text: str, escape: Callable[[str], str]) -> str:
    """A text in which nothing ends a line or hides: what cannot be printed is escaped."""
    return "".join(each if each.isprintable() else escape(each) for each in text)

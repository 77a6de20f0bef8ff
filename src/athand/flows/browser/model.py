"""What the tools of the browser answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from athand.flows.model import Observation, PriorKnowledge
from athand.types import Noun


@dataclass(frozen=True, slots=True)
class ActionResult(Noun):
    """What came of an action: where it led, and what should be known about it."""

    ok: bool
    screen: str
    url: str
    step_id: str
    duration_ms: float
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Launched(Noun):
    """A browser that is running, and the session its steps are recorded in."""

    session_id: str
    app: str
    screen: str
    url: str
    step_id: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Closed(Noun):
    """The end of a session."""

    session_id: str | None
    was_running: bool
    step_id: str | None = None


@dataclass(frozen=True, slots=True)
class Tab(Noun):
    """One tab of the browser."""

    index: int
    url: str
    title: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class State(Noun):
    """Where the browser is."""

    session_id: str
    app: str
    screen: str
    url: str
    title: str
    tabs: tuple[Tab, ...] = ()
    dialogs: tuple[str, ...] = ()  # since the state was last asked for
    step_id: str | None = None


@dataclass(frozen=True, slots=True)
class TestIds(Noun):
    """The test ids of a page; `total` counts those that were not listed too."""

    __test__ = False  # pytest takes every Test… for one of its own

    screen: str
    url: str
    test_ids: tuple[Mapping[str, Any], ...]
    total: int
    step_id: str


@dataclass(frozen=True, slots=True)
class Accessibility(Noun):
    """The accessibility nodes of a page, with refs that can be used until the next snapshot."""

    screen: str
    url: str
    nodes: tuple[Mapping[str, Any], ...]
    step_id: str


@dataclass(frozen=True, slots=True)
class Screenshot(Noun):
    """A picture of the page, in a file that only the user can read."""

    path: str
    step_id: str


@dataclass(frozen=True, slots=True)
class Described(Noun):
    """A screen: what is on it, where the browser is, and what earlier sessions know about it."""

    state: State
    observation: Observation
    total_test_ids: int
    step_id: str
    prior_knowledge: PriorKnowledge | None = None
    screenshot: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The description as plain JSON values; prior knowledge has the names that agents know."""
        seen = self.observation
        shown: dict[str, Any] = {
            "screen": seen.screen,
            "url": seen.url,
            "state": self.state.to_dict(),
            "test_ids": [dict(each) for each in seen.test_ids],
            "total_test_ids": self.total_test_ids,
            "a11y": [dict(each) for each in seen.a11y],
            "step_id": self.step_id,
        }
        if self.screenshot is not None:
            shown["screenshot"] = self.screenshot
        if self.prior_knowledge is not None:
            shown["priorKnowledge"] = self.prior_knowledge.to_dict()
        return shown


@dataclass(frozen=True, slots=True)
class Batch(Noun):
    """The results of several steps, in order; each has `tool`, `ok`, and what the tool said or the error."""

    ok: bool
    results: tuple[Mapping[str, Any], ...]
    not_run: int = 0
    step_id: str = field(default="")

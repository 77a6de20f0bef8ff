"""The data types of flows: sessions, steps, observations, search hits and prior knowledge."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from athand.types import Hit, Noun, plain

UNKNOWN = "unknown"
DEFAULT_APP = "default"
TITLE = "title: "  # before the title of a page, among the texts that appeared
MAX_BRIEF = 600  # characters of what a description of a screen adds to it
SCHEMA = 1  # of prior knowledge, and of exported sessions and steps
LABELS = ("discovery", "navigation", "interaction", "confirmation", "error-recovery")
TARGETS = ("testId", "selector", "a11yRef", "role", "name")

Target = Mapping[str, str]  # some of TARGETS; role and name go together


@dataclass(frozen=True, slots=True)
class FlowSession(Noun):
    """A recorded session with an app: its goal, origin and number of steps."""

    id: str
    app: str
    created_at: datetime
    goal: str | None = None
    flow_tags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    git: Mapping[str, Any] | None = None  # branch, commit, dirty
    app_version: str | None = None
    launch: Mapping[str, Any] = field(default_factory=dict)
    has_metadata: bool = True  # False for an imported folder without session.json
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Observation(Noun):
    """What was seen on a page. Without a screen, it is detected from the URL and the elements.

    test_ids: {"testId", "tag"?, "text"?, "visible"?}; a11y: {"ref", "role", "name", …state, "path"?}
    """

    screen: str | None = None
    url: str = ""
    test_ids: tuple[Mapping[str, Any], ...] = ()
    a11y: tuple[Mapping[str, Any], ...] = ()

    @property
    def visible_test_ids(self) -> tuple[str, ...]:
        """The visible test ids, each once; visible is the default."""
        return tuple(dict.fromkeys(each["testId"] for each in self.test_ids if each.get("visible", True)))


@dataclass(frozen=True, slots=True)
class Step(Noun):
    """A recorded tool call without secrets: what was done to which element, on which screen, and the outcome."""

    id: str
    session_id: str
    app: str
    position: int  # in its session, from 1
    timestamp: datetime
    tool: str
    verb: str  # the tool without a prefix: click, type, describe_screen …
    input: Mapping[str, Any]
    target: Target  # how the element was located, and its role and name then
    ok: bool
    error: Mapping[str, Any] | None  # code and message
    labels: tuple[str, ...]
    screen: str  # the screen it was done on
    before: Observation | None
    after_screen: str | None = None
    screenshot: str | None = None
    duration_ms: float | None = None
    prior_knowledge: Mapping[str, Any] | None = None  # as it was shown to the agent
    origin: str = ""  # of the page or frame that it was done in: scheme, host and port; empty if unknown
    appeared: tuple[str, ...] = ()  # texts that became visible after it: messages, the new title


@dataclass(frozen=True, slots=True)
class FlowHit(Hit):
    """A step found by a search, with its session."""

    tool: str = ""
    screen: str = UNKNOWN
    session_id: str = ""
    session_goal: str | None = None
    matched_fields: tuple[str, ...] = ()
    snippet: str = ""
    timestamp: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hint(Noun):
    """A locator: `testId` or `selector` with a text, `a11yHint` with role and name."""

    type: str
    value: str | Mapping[str, str]


class CamelCaseNoun(Noun):
    """Nouns whose JSON has camel case keys and leaves out None."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The noun as plain JSON values."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {_to_camel_case(name): _to_plain(value) for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class RelatedSession(CamelCaseNoun):
    """A session with a similar goal, or that was on this screen."""

    session_id: str
    created_at: datetime
    goal: str | None
    flow_tags: tuple[str, ...]
    similarity: float


@dataclass(frozen=True, slots=True)
class SimilarStep(CamelCaseNoun):
    """A step done on a similar page."""

    session_id: str
    timestamp: datetime
    tool: str
    screen: str
    snippet: str
    labels: tuple[str, ...]
    target: Target | None
    a11y_hint: Mapping[str, str] | None
    confidence: float


@dataclass(frozen=True, slots=True)
class SuggestedAction(CamelCaseNoun):
    """A probable next action; `input` has the values that the goal names for it."""

    rank: int
    action: str
    rationale: str
    confidence: float
    preferred_target: Hint | None
    fallback_targets: tuple[Hint, ...] = ()
    input: Mapping[str, Any] | None = None
    last_time: str | None = None  # what became visible when it was done last


@dataclass(frozen=True, slots=True)
class Avoid(CamelCaseNoun):
    """An action that has failed here more than once."""

    rationale: str
    target: Target | None
    error_code: str
    frequency: int
    action: str = ""


@dataclass(frozen=True, slots=True)
class PriorKnowledge(CamelCaseNoun):
    """What earlier sessions know about a screen."""

    schema_version: int
    generated_at: datetime
    query: Mapping[str, Any]
    related_sessions: tuple[RelatedSession, ...] = ()
    similar_steps: tuple[SimilarStep, ...] = ()
    suggested_next_actions: tuple[SuggestedAction, ...] = ()
    avoid: tuple[Avoid, ...] = ()

    def brief(self) -> dict[str, Any]:
        """The most probable actions and what to avoid, as JSON values of at most MAX_BRIEF characters."""
        suggested = [
            _without(each.to_dict(), "rank", "rationale", "fallbackTargets") for each in self.suggested_next_actions
        ]
        failed = [_without(each.to_dict(), "rationale") for each in self.avoid]
        actions = [("suggestedNextActions", each) for each in suggested]
        brief: dict[str, Any] = {}
        for key, entry in [*actions[:1], *(("avoid", each) for each in failed), *actions[1:]]:
            longer = {**brief, key: [*brief.get(key, ()), entry]}
            if len(json.dumps(longer, ensure_ascii=False)) <= MAX_BRIEF:
                brief = longer
        return brief


@dataclass(frozen=True, slots=True)
class SessionSummary(Noun):
    """Counts, screens, errors and actions of a session."""

    session: FlowSession
    steps: int
    ok: int
    failed: int
    seconds: float
    screens: tuple[str, ...]  # in the order they were first seen
    labels: Mapping[str, int]
    errors: Mapping[str, int]  # by code
    actions: tuple[str, ...]  # what was done, in words


@dataclass(frozen=True, slots=True)
class OpenedSession(Noun):
    """A session with its steps in words, and which of them was asked for."""

    session: FlowSession
    steps: tuple[str, ...]
    position: int | None = None  # of the step, from 1


def _without(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in names}


def _to_camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _to_plain(value: Any) -> Any:
    if isinstance(value, Noun):
        return value.to_dict()
    return [_to_plain(each) for each in value] if isinstance(value, tuple) else plain(value)

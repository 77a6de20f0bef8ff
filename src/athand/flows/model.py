"""The nouns of flows: sessions, steps, what was seen on a screen, and what is known about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from athand.types import Hit, Noun, plain

UNKNOWN = "unknown"
DEFAULT_APP = "default"
SCHEMA = 1  # of prior knowledge, and of exported sessions and steps
LABELS = ("discovery", "navigation", "interaction", "confirmation", "error-recovery")
TARGETS = ("testId", "selector", "a11yRef", "role", "name")

Target = Mapping[str, str]  # some of TARGETS; role and name go together


@dataclass(frozen=True, slots=True)
class FlowSession(Noun):
    """One walk through an app: what it was for, where it came from, and how many steps it has."""

    id: str
    app: str
    created_at: datetime
    goal: str | None = None
    flow_tags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    git: Mapping[str, Any] | None = None  # branch, commit, dirty
    app_version: str | None = None
    launch: Mapping[str, Any] = field(default_factory=dict)
    has_metadata: bool = True  # a session of a folder may come without
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Observation(Noun):
    """What was seen on a screen. Without a screen, it is worked out from the address and the test ids.

    test_ids: {"testId", "tag"?, "text"?, "visible"?}; a11y: {"ref", "role", "name", …state, "path"?}
    """

    screen: str | None = None
    url: str = ""
    test_ids: tuple[Mapping[str, Any], ...] = ()
    a11y: tuple[Mapping[str, Any], ...] = ()

    @property
    def visible_test_ids(self) -> tuple[str, ...]:
        """The test ids that are to be seen, each once; where nobody said, they are."""
        return tuple(dict.fromkeys(each["testId"] for each in self.test_ids if each.get("visible", True)))


@dataclass(frozen=True, slots=True)
class Step(Noun):
    """One call of a tool: what was done to what, on which screen, and what came of it. Secrets are not in it."""

    id: str
    session_id: str
    app: str
    position: int  # in its session, from 1
    timestamp: datetime
    tool: str
    verb: str  # the tool without a prefix: click, type, describe_screen …
    input: Mapping[str, Any]
    target: Target  # what was used, and the role and name it had at that moment
    ok: bool
    error: Mapping[str, Any] | None  # code and message
    labels: tuple[str, ...]
    screen: str  # on which it was done
    before: Observation | None
    after_screen: str | None = None
    screenshot: str | None = None
    duration_ms: float | None = None
    prior_knowledge: Mapping[str, Any] | None = None  # as it was shown


@dataclass(frozen=True, slots=True)
class FlowHit(Hit):
    """A step that was found, with the session it belongs to."""

    tool: str = ""
    screen: str = UNKNOWN
    session_id: str = ""
    session_goal: str | None = None
    matched_fields: tuple[str, ...] = ()
    snippet: str = ""
    timestamp: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hint(Noun):
    """How to find a target again: `testId` or `selector` with a text, `a11yHint` with role and name."""

    type: str
    value: str | Mapping[str, str]


class CamelCased(Noun):
    """Nouns whose JSON has the names that agents know: camel case, without what is not there."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The noun as plain JSON values."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {_camel(name): _shown(value) for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class RelatedSession(CamelCased):
    """A session that may have been here before, for a like goal."""

    session_id: str
    created_at: datetime
    goal: str | None
    flow_tags: tuple[str, ...]
    similarity: float


@dataclass(frozen=True, slots=True)
class SimilarStep(CamelCased):
    """A step that was done in a like place."""

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
class SuggestedAction(CamelCased):
    """What probably comes next; `input` has the values that the goal names for it."""

    rank: int
    action: str
    rationale: str
    confidence: float
    preferred_target: Hint | None
    fallback_targets: tuple[Hint, ...] = ()
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Avoid(CamelCased):
    """What has failed here more than once."""

    rationale: str
    target: Target | None
    error_code: str
    frequency: int
    action: str = ""


@dataclass(frozen=True, slots=True)
class PriorKnowledge(CamelCased):
    """What earlier sessions know about a screen."""

    schema_version: int
    generated_at: datetime
    query: Mapping[str, Any]
    related_sessions: tuple[RelatedSession, ...] = ()
    similar_steps: tuple[SimilarStep, ...] = ()
    suggested_next_actions: tuple[SuggestedAction, ...] = ()
    avoid: tuple[Avoid, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionSummary(Noun):
    """A session at a glance."""

    session: FlowSession
    steps: int
    ok: int
    failed: int
    seconds: float
    screens: tuple[str, ...]  # in the order they were first seen
    labels: Mapping[str, int]
    errors: Mapping[str, int]  # by code
    actions: tuple[str, ...]  # what was done, in words


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _shown(value: Any) -> Any:
    if isinstance(value, Noun):
        return value.to_dict()
    return [_shown(each) for each in value] if isinstance(value, tuple) else plain(value)

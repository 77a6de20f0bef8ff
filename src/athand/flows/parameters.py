"""Parameters of operations on flows and of the browser: what is said of sessions, screens and elements."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from athand.parameters import Choice, Help, Keys, Name, Range

SessionId = Annotated[Name, Help("The id of a session")]
OfSession = Annotated[Name | None, Help("Only this session; default: all sessions")]
App = Annotated[str, Help("The app; the profile of that name tells its screens apart")]
Goal = Annotated[str | None, Help("The goal of the session; searches and predictions compare goals")]
FlowTags = Annotated[Iterable[str], Help("What kind of session it is: send, swap, checkout …")]
FreeTags = Annotated[Iterable[str], Help("Words to find it by")]
Version = Annotated[str | None, Help("The version of the app")]
Git = Annotated[Mapping[str, Any] | None, Help("Where the app's code is: branch, commit, dirty")]
Extension = Annotated[str | None, Help("The folder of an unpacked browser extension, on the machine of this server")]
Headless = Annotated[bool, Help("Without a visible window")]


class TargetKeys(TypedDict, total=False):
    """What something was done to."""

    testId: str
    selector: str
    a11yRef: str
    role: str
    name: str


class ObservationKeys(TypedDict, total=False):
    """What is on a screen."""

    screen: str
    url: str
    test_ids: Annotated[Sequence[Mapping[str, Any]], Help("Each with testId; also tag, text, visible")]
    a11y: Annotated[Sequence[Mapping[str, Any]], Help("Accessibility nodes: ref, role, name, states")]


class ErrorKeys(TypedDict, total=False):
    """Why a step failed."""

    code: Annotated[str, Help("A word for programs: TARGET_NOT_FOUND")]
    message: str


class FilterKeys(TypedDict, total=False):
    """Which sessions and steps are searched."""

    flow_tag: str
    tag: str
    screen: str
    since_hours: Annotated[float, Range(0)]
    git_branch: str
    app: str
    app_version: str
    outcome: Annotated[str, Choice(("ok", "error"))]
    session: str


Filters = Annotated[
    Annotated[Mapping[str, Any], Keys(FilterKeys)] | None, Help("Only sessions and steps with all of these")
]
Target = Annotated[
    Annotated[Mapping[str, Any], Keys(TargetKeys)] | None,
    Help("The element it was done to: what was used, and what it resolved to. A role goes with a name"),
]
Failure = Annotated[Annotated[Mapping[str, Any], Keys(ErrorKeys)] | None, Help("Why the step failed")]
Seen = Annotated[Mapping[str, Any], Keys(ObservationKeys)]

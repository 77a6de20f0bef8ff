"""Parameters of operations on flows: what is said of sessions, steps, screens and elements."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Annotated, Any, TypedDict

from athand.flows.export import LANGUAGES
from athand.flows.filters import FilterKeys
from athand.flows.model import Observation, PriorKnowledge
from athand.parameters import Choice, Help, Keys, Name, PythonOnly, Range

SessionId = Annotated[Name, Help("The id of a session")]
OfSession = Annotated[Name | None, Help("Only this session; default: all sessions")]

# A new session, and the browser that it is recorded in
App = Annotated[str, Help("The app; the profile of that name tells its screens apart")]
Goal = Annotated[str | None, Help("The goal of the session; searches and predictions compare goals")]
FlowTags = Annotated[Iterable[str], Help("What kind of session it is: send, swap, checkout …")]
FreeTags = Annotated[Iterable[str], Help("Words to find it by")]
Version = Annotated[str | None, Help("The version of the app")]
Git = Annotated[Mapping[str, Any] | None, Help("Where the app's code is: branch, commit, dirty")]
Launch = Annotated[Mapping[str, Any] | None, Help("How the app was started")]
NewSessionId = Annotated[str | None, Help("An id of your own; default: a new one")]
CreatedAt = Annotated[datetime | str | None, Help("When it began, ISO 8601; default: now")]
Extension = Annotated[
    str | None,
    Help("The folder of an unpacked browser extension that the owner has allowed, on the machine of this server"),
]
Headless = Annotated[bool, Help("Without a visible window")]


class TargetKeys(TypedDict, total=False):
    """The element that something was done to."""

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


# A step
Seen = Annotated[Observation, PythonOnly()] | Annotated[Mapping[str, Any], Keys(ObservationKeys)]
Tool = Annotated[str, Help("The tool that was called: click, type, navigate …, with or without a prefix")]
Target = Annotated[
    Annotated[Mapping[str, Any], Keys(TargetKeys)] | None,
    Help("The element: how it was located, and the role and name that it had. A role needs a name too"),
]
Input = Annotated[Mapping[str, Any] | None, Help("The arguments of the tool; secrets in them are removed")]
Ok = Annotated[bool, Help("Whether it succeeded")]
Failure = Annotated[Annotated[Mapping[str, Any], Keys(ErrorKeys)] | None, Help("Why the step failed")]
Before = Annotated[Seen | None, Help("What was on the screen before it")]
AfterScreen = Annotated[str | None, Help("The screen it led to")]
Appeared = Annotated[Iterable[str], Help("The texts that became visible after it: a message, the new title")]
PicturePath = Annotated[
    str | Annotated[PathLike[str], PythonOnly()] | None, Help("The path of a picture; it is stored, and never opened")
]
Milliseconds = Annotated[float | None, Range(0), Help("How long it took, in milliseconds")]
ShownKnowledge = Annotated[
    Annotated[PriorKnowledge, PythonOnly()] | Mapping[str, Any] | None,
    Help("The prior knowledge that was shown at that screen"),
]
Timestamp = Annotated[datetime | str | None, Help("When it was done, ISO 8601; default: now")]


# Finding
Filters = Annotated[
    Annotated[Mapping[str, Any], Keys(FilterKeys)] | None, Help("Only sessions and steps with all of these")
]
Scope = Annotated[
    Annotated[str, Choice(("all", "current"))] | Mapping[str, str],
    Help('Search all sessions, the one of the open browser, or one: {"session": id}'),
]
CurrentSession = Annotated[str | None, Help("The session that is current; default: that of the open browser")]

# Using again
Language = Annotated[Annotated[str, Choice(LANGUAGES)], Help("The language of the test")]
ImportApp = Annotated[str, Help("The app of sessions that do not name one")]

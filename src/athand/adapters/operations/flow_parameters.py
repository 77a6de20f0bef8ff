"""Parameters of flows and of the browser: what is said of sessions, screens and elements."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from athand.adapters.operations.parameters import Name

SessionId = Annotated[Name, Field(description="The id of a session")]
OfSession = Annotated[Name | None, Field(description="Only of this session")]
App = Annotated[str, Field(description="Which app it is; the profile of that name tells its screens apart")]
Goal = Annotated[str | None, Field(description="What it is for: it is found by that, and compared with other goals")]
FlowTags = Annotated[tuple[str, ...], Field(description="What kind of walk it is: send, swap, checkout …")]
FreeTags = Annotated[tuple[str, ...], Field(description="Words to find it by")]
Version = Annotated[str | None, Field(description="Of the app")]
Git = Annotated[dict[str, Any] | None, Field(description="Where the app's code is: branch, commit, dirty")]
Extension = Annotated[
    str | None, Field(description="The folder of an unpacked browser extension, on the machine of this server")
]
Headless = Annotated[bool, Field(description="Without a window that can be seen")]


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


class Target(_Object):
    """What something was done to: what was used, and what it resolved to. A role goes with a name."""

    testId: str | None = None
    selector: str | None = None
    a11yRef: str | None = None
    role: str | None = None
    name: str | None = None


class Seen(_Object):
    """What is on a screen. Without a screen, it is worked out from the address and the test ids."""

    screen: str | None = None
    url: str = ""
    test_ids: tuple[dict[str, Any], ...] = Field((), description="Each with testId; also tag, text, visible")
    a11y: tuple[dict[str, Any], ...] = Field((), description="Accessibility nodes: ref, role, name, states")


class Failure(_Object):
    """Why a step failed."""

    code: str | None = Field(None, description="A word for programs: TARGET_NOT_FOUND")
    message: str = ""


class Filters(_Object):
    """Which sessions and steps are meant; all of it must hold."""

    flow_tag: str | None = None
    tag: str | None = None
    screen: str | None = None
    since_hours: float | None = Field(None, ge=0)
    git_branch: str | None = None
    app: str | None = None
    app_version: str | None = None
    outcome: Literal["ok", "error"] | None = None
    session: str | None = None


def told(given: _Object | None) -> dict[str, Any] | None:
    """What was said, without what was not."""
    return None if given is None else given.model_dump(exclude_none=True)

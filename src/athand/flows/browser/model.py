"""Launch options of a browser, checked before anything is started, and the answers of its tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from athand.errors import InvalidInput
from athand.flows.model import DEFAULT_APP, Observation, PriorKnowledge
from athand.inputs import check_choice, check_text
from athand.types import Noun

SCHEMES = ("http", "https", "file", "chrome-extension", "about", "data")
_LOCAL_SCHEMES = ("file", "filesystem", "view-source", "chrome", "devtools")
DIALOGS = ("dismiss", "accept")
_MAX_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """The options of a launch: the first half describes the session, the second the browser."""

    goal: str | None = None
    flow_tags: Sequence[str] = ()
    tags: Sequence[str] = ()
    app: str = DEFAULT_APP
    app_version: str | None = None
    git: Mapping[str, Any] | None = None  # default: read from the working folder
    session: str | None = None  # continued if it exists
    notes: Mapping[str, Any] | None = None  # kept with the session's launch options
    url: str | None = None
    headless: bool = True
    executable: str | None = None
    extension: str | Path | None = None  # the folder of an unpacked extension
    viewport: tuple[int, int] = (1280, 720)
    timeout_s: float = 10.0
    dialogs: str = "dismiss"  # the answer to alert, confirm and prompt
    screenshots: str | Path | None = None  # the folder for screenshots
    local_files: bool = True  # whether file: addresses are allowed

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> "LaunchOptions":
        """Checks options given by name; raises InvalidInput that says what is wrong."""
        known = [each.name for each in fields(cls)]
        if unknown := sorted(set(given) - set(known)):
            raise InvalidInput(f"launch has no option {', '.join(unknown)}. Known: {', '.join(known)}.")
        options = cls(**given)
        if options.url is not None:
            check_url(options.url, local_files=options.local_files)
        check_choice("dialogs", options.dialogs, DIALOGS)
        check_seconds("timeout_s", options.timeout_s)
        _check_viewport(options.viewport)
        _check_extension(options.extension)
        return options

    @property
    def launch_record(self) -> dict[str, Any]:
        """The options that are stored with the session."""
        kept = {"url": self.url, "headless": self.headless, "extension": self.extension and Path(self.extension).name}
        return {key: value for key, value in kept.items() if value is not None} | dict(self.notes or {})


@dataclass(frozen=True, slots=True)
class ActionResult(Noun):
    """The result of an action: the screen and address after it, and a note about side effects."""

    ok: bool
    screen: str
    url: str
    step_id: str
    duration_ms: float
    note: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchResult(Noun):
    """The session that a launched browser records, and the first page."""

    session_id: str
    app: str
    screen: str
    url: str
    step_id: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class CleanupResult(Noun):
    """The result of closing a browser."""

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
class BrowserState(Noun):
    """Session, screen, address, tabs and dialogs of a browser."""

    session_id: str
    app: str
    screen: str
    url: str
    title: str
    tabs: tuple[Tab, ...] = ()
    dialogs: tuple[str, ...] = ()  # the newest messages of dialogs and crashes
    step_id: str | None = None


@dataclass(frozen=True, slots=True)
class TestIds(Noun):
    """The test ids of a page; `total` also counts those that are not listed."""

    __test__ = False  # pytest would collect a class named Test…

    screen: str
    url: str
    test_ids: tuple[Mapping[str, Any], ...]
    total: int
    step_id: str


@dataclass(frozen=True, slots=True)
class AccessibilitySnapshot(Noun):
    """The accessibility nodes of a page, with refs that are valid until the next snapshot."""

    screen: str
    url: str
    nodes: tuple[Mapping[str, Any], ...]
    step_id: str


@dataclass(frozen=True, slots=True)
class Screenshot(Noun):
    """A screenshot of the page, in a file that only the user can read."""

    path: str
    step_id: str


@dataclass(frozen=True, slots=True)
class ScreenDescription(Noun):
    """A screen: its elements, the page as a tree, the state of the browser, and what earlier sessions know of it."""

    state: BrowserState
    observation: Observation
    page: str  # the tree that agents read: one line for an element, `[e1]` is its ref
    step_id: str
    prior_knowledge: PriorKnowledge | None = None
    screenshot: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """What an agent needs of it, as plain JSON values: the tree instead of all lists, and knowledge in brief."""
        state = self.state
        described: dict[str, Any] = {
            "screen": state.screen,
            "url": state.url,
            "title": state.title,
            "session_id": state.session_id,
            "tabs": [each.to_dict() for each in state.tabs] if len(state.tabs) > 1 else [],
            "dialogs": list(state.dialogs),
            "page": self.page,
            "screenshot": self.screenshot,
            "priorKnowledge": self.prior_knowledge and self.prior_knowledge.brief(),
            "step_id": self.step_id,
        }
        return {key: value for key, value in described.items() if value not in (None, [], {})}


@dataclass(frozen=True, slots=True)
class BatchResult(Noun):
    """The results of several steps, in order; each has `tool`, `ok`, and `result` or `error`."""

    ok: bool
    results: tuple[Mapping[str, Any], ...]
    not_run: int = 0
    step_id: str = field(default="")


def check_url(value: object, *, local_files: bool = True) -> str:
    """Returns an address that the browser may open."""
    url = check_text("url", value, longest=100_000)
    scheme = urlsplit(url.strip()).scheme.lower()
    if scheme not in SCHEMES:
        raise InvalidInput(
            f"{url[:100]!r} is not an address that a browser opens. It must begin with one of: {', '.join(SCHEMES)}.",
            code="BAD_URL",
        )
    if not local_files and is_local(url.strip()):
        raise InvalidInput(
            "This browser does not open local files, and no settings of its own. Serve files over http.", code="BAD_URL"
        )
    return url.strip()


def is_local(url: str) -> bool:
    """Whether an address shows files of this machine, or settings of the browser."""
    scheme, _, rest = url.partition(":")
    if scheme.lower() == "about":
        return rest.partition("?")[0].partition("#")[0].lower() not in ("blank", "srcdoc")
    return scheme.lower() in _LOCAL_SCHEMES


def check_seconds(what: str, value: object) -> float:
    """Returns a timeout in seconds, above 0 and limited."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= _MAX_TIMEOUT_S:
        raise InvalidInput(f"{what} must be a number above 0 and up to {_MAX_TIMEOUT_S}, not {value!r}.")
    return float(value)


def _check_viewport(value: object) -> None:
    sizes = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(sizes) != 2 or not all(isinstance(each, int) and 1 <= each <= 10_000 for each in sizes):
        raise InvalidInput(f"viewport must be a width and a height in pixels, such as (1280, 720), not {value!r}.")


def _check_extension(value: str | Path | None) -> None:
    if value is not None and not (Path(value) / "manifest.json").is_file():
        raise InvalidInput(f"{str(value)!r} is not the folder of an unpacked extension: it has no manifest.json.")

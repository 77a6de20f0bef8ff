"""Operations on a real browser: each use of it is recorded as a step of a session."""

from typing import Annotated, Any, Literal

from athand.adapters.operations.caller import AGENT, ByCaller
from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import Operation, OwnBrowser, row
from athand.flows.browser import Browser
from athand.flows.browser.model import CleanupResult, LaunchResult
from athand.flows.model import DEFAULT_APP
from athand.flows.parameters import App, Extension, FlowTags, FreeTags, Git, Goal, Headless, Version
from athand.parameters import Help, Range


def ui_launch(
    ctx: AppContext,
    url: Annotated[str | None, Help("The address to open first; files of the machine are not opened")] = None,
    goal: Goal = None,
    flow_tags: FlowTags = (),
    tags: FreeTags = (),
    app: App = DEFAULT_APP,
    app_version: Version = None,
    git: Git = None,
    session: Annotated[str | None, Help("Continue this session, or begin it with this id")] = None,
    headless: Headless = True,
    extension: Extension = None,
    viewport: Annotated[tuple[int, int], Help("Width and height of the page, in pixels")] = (1280, 720),
    timeout_s: Annotated[float, Range(0, 300, exclusive=True), Help("How long actions wait, in seconds")] = 10.0,
    dialogs: Annotated[Literal["dismiss", "accept"], Help("How dialogs of the page are answered")] = "dismiss",
    caller: ByCaller = AGENT,
) -> LaunchResult:
    """Start a real browser and a session; every later call is recorded in it. Ends with ui_cleanup.

    A goal makes what earlier sessions know more useful.
    """
    return ctx.browsers.launch(**{name: value for name, value in locals().items() if name != "ctx"})


def ui_cleanup(ctx: AppContext, session_id: OwnBrowser = None, caller: ByCaller = AGENT) -> CleanupResult:
    """Close a browser and end its session. What was recorded stays."""
    return ctx.browsers.cleanup(session_id, caller)


def _look(name: str, run: Any, title: str, **options: Any) -> Operation:
    """What looks at the page."""
    return row(name, run, title, **{"toolset": "flows", "scope": "call-tools", "open_world": True, **options})


def _act(name: str, run: Any, title: str, **options: Any) -> Operation:
    """What changes the page or the browser."""
    return _look(name, run, title, kind="write", **options)


OPERATIONS = (
    _act("ui_launch", ui_launch, "Launch a browser", path="browser/launch"),
    _act("ui_cleanup", ui_cleanup, "Close a browser", path="browser/cleanup"),
    _look("ui_get_state", Browser.get_state, "Where the browser is"),
    _look("ui_list_testids", Browser.list_testids, "Test ids of the page"),
    _look("ui_accessibility_snapshot", Browser.accessibility_snapshot, "Accessibility tree of the page"),
    _look("ui_describe_screen", Browser.describe_screen, "Describe the screen"),
    _look("ui_screenshot", Browser.screenshot, "Take a picture"),
    _look("ui_wait_for", Browser.wait_for, "Wait for something"),
    _act("ui_navigate", Browser.navigate, "Go to an address"),
    _act("ui_back", Browser.back, "Go back"),
    _act("ui_forward", Browser.forward, "Go forward"),
    _act("ui_hover", Browser.hover, "Move the mouse over"),
    _act("ui_click", Browser.click, "Click"),
    _act("ui_type", Browser.type, "Type"),
    _act("ui_press", Browser.press, "Press a key"),
    _act("ui_select", Browser.select, "Choose in a list"),
    _act("ui_switch_tab", Browser.switch_tab, "Go to another tab"),
    _act("ui_close_tab", Browser.close_tab, "Close a tab"),
    _act("ui_run_steps", Browser.run_steps, "Several steps at once"),
)

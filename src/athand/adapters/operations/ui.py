"""A real browser to drive: every use of it is a step of a session, and each look tells what worked here before."""

from typing import Annotated, Any, Literal

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import operation
from athand.flows.browser.model import (
    AccessibilitySnapshot,
    ActionResult,
    BatchResult,
    BrowserState,
    CleanupResult,
    LaunchResult,
    ScreenDescription,
    Screenshot,
    TestIds,
)
from athand.flows.browser.snapshot import DEFAULT_TEST_IDS, MAX_TEST_IDS
from athand.flows.model import DEFAULT_APP
from athand.flows.parameters import (
    App,
    Extension,
    FlowTags,
    FreeTags,
    Git,
    Goal,
    Headless,
    Version,
)
from athand.parameters import Help, Length, Range

_LOOK: dict[str, Any] = {"toolset": "flows", "scope": "call-tools", "open_world": True}
_ACT: dict[str, Any] = {**_LOOK, "kind": "write"}

Own = Annotated[str | None, Help("Whose browser: the session of its launch, if several are open")]
TestId = Annotated[str | None, Help("The element with this test id. Give exactly one kind of target")]
Selector = Annotated[str | None, Help("The element of this CSS selector")]
Ref = Annotated[str | None, Help("The element with this ref (e1, e2 …) of the newest snapshot")]
Role = Annotated[str | None, Help("The element with this accessible role; with a name")]
Name = Annotated[str | None, Help("The accessible name, beside a role")]
Timeout = Annotated[float | None, Range(0, 300, exclusive=True), Help("How many seconds to wait at most")]
Most = Annotated[int, Range(1, MAX_TEST_IDS), Help("How many test ids at most")]
Tab = Annotated[int | None, Range(0), Help("The number of a tab, as ui_get_state has it")]


@operation("browser/launch", **_ACT, title="Launch a browser")
def ui_launch(
    ctx: AppContext,
    url: Annotated[str | None, Help("Where to begin; files of the machine are not opened")] = None,
    goal: Goal = None,
    flow_tags: FlowTags = (),
    tags: FreeTags = (),
    app: App = DEFAULT_APP,
    app_version: Version = None,
    git: Git = None,
    session: Annotated[str | None, Help("Go on with this session, or begin it with this id")] = None,
    headless: Headless = True,
    extension: Extension = None,
    viewport: Annotated[tuple[int, int], Help("Width and height in pixels")] = (1280, 720),
    timeout_s: Annotated[float, Range(0, 300, exclusive=True), Help("How long to wait for a target")] = 10.0,
    dialogs: Annotated[Literal["dismiss", "accept"], Help("What dialogs are answered")] = "dismiss",
) -> LaunchResult:
    """Start a real browser and a session; every later call is recorded in it. Ends with ui_cleanup.

    Saying the goal makes what earlier sessions know more useful.
    """
    return ctx.browsers.launch(
        url=url,
        goal=goal,
        flow_tags=flow_tags,
        tags=tags,
        app=app,
        app_version=app_version,
        git=git,
        session=session,
        headless=headless,
        extension=extension,
        viewport=viewport,
        timeout_s=timeout_s,
        dialogs=dialogs,
    )


@operation("browser/cleanup", **_ACT, title="Close a browser")
def ui_cleanup(ctx: AppContext, session_id: Own = None) -> CleanupResult:
    """Close a browser and end its session. What was recorded stays."""
    return ctx.browsers.cleanup(session_id)


# Looking


@operation("browser/get_state", **_LOOK, title="Where the browser is")
def ui_get_state(ctx: AppContext, session_id: Own = None) -> BrowserState:
    """Tell the screen, the address and the tabs of the browser, and what dialogs said."""
    return ctx.browsers.get(session_id).get_state()


@operation("browser/list_testids", **_LOOK, title="Test ids of the page")
def ui_list_testids(ctx: AppContext, limit: Most = DEFAULT_TEST_IDS, session_id: Own = None) -> TestIds:
    """List the test ids of the page with tag, text, visibility, role and name."""
    return ctx.browsers.get(session_id).list_testids(limit)


@operation("browser/accessibility_snapshot", **_LOOK, title="Accessibility tree of the page")
def ui_accessibility_snapshot(
    ctx: AppContext,
    root: Annotated[str | None, Help("Only what is inside the element with this test id")] = None,
    session_id: Own = None,
) -> AccessibilitySnapshot:
    """List the accessibility nodes of the page. Their refs can be used as targets until the next snapshot."""
    return ctx.browsers.get(session_id).accessibility_snapshot(root)


@operation("browser/describe_screen", **_LOOK, title="Describe the screen")
def ui_describe_screen(
    ctx: AppContext,
    limit: Most = DEFAULT_TEST_IDS,
    screenshot: Annotated[bool, Help("With a picture")] = False,
    session_id: Own = None,
) -> ScreenDescription:
    """Tell all there is to see, and under `priorKnowledge` what worked on this screen before: what to do next, how sure
    that is, and what to avoid. Begin with this on every new screen.
    """  # noqa: D205 - one sentence that is too long for a line
    return ctx.browsers.get(session_id).describe_screen(limit, screenshot)


@operation("browser/screenshot", **_LOOK, title="Take a picture")
def ui_screenshot(
    ctx: AppContext,
    name: Annotated[str | None, Help("A plain file name")] = None,
    full_page: Annotated[bool, Help("Also what one would have to scroll to")] = False,
    session_id: Own = None,
) -> Screenshot:
    """Save a picture of the page, and tell where it is."""
    return ctx.browsers.get(session_id).screenshot(name, full_page)


@operation("browser/wait_for", **_LOOK, title="Wait for something")
def ui_wait_for(
    ctx: AppContext,
    text: Annotated[str | None, Help("A text that is to be seen")] = None,
    url: Annotated[str | None, Help("An address: a part of it, or with *")] = None,
    screen: Annotated[str | None, Help("A screen by its name")] = None,
    state: Annotated[Literal["visible", "hidden"], Help("There, or no longer there")] = "visible",
    timeout_s: Timeout = None,
    test_id: TestId = None,
    selector: Selector = None,
    ref: Ref = None,
    role: Role = None,
    name: Name = None,
    session_id: Own = None,
) -> ActionResult:
    """Wait until one thing is there, or is hidden: an element, a text, an address or a screen."""
    target = _target(test_id, selector, ref, role, name)
    browser = ctx.browsers.get(session_id)
    return browser.wait_for(text=text, url=url, screen=screen, state=state, timeout_s=timeout_s, target=target)


# Acting


@operation("browser/navigate", **_ACT, title="Go to an address")
def ui_navigate(
    ctx: AppContext,
    url: Annotated[str, Help("With its scheme; files of the machine are not opened")],
    timeout_s: Timeout = None,
    session_id: Own = None,
) -> ActionResult:
    """Go to an address."""
    return ctx.browsers.get(session_id).navigate(url, timeout_s=timeout_s)


@operation("browser/click", **_ACT, title="Click")
def ui_click(
    ctx: AppContext,
    test_id: TestId = None,
    selector: Selector = None,
    ref: Ref = None,
    role: Role = None,
    name: Name = None,
    timeout_s: Timeout = None,
    session_id: Own = None,
) -> ActionResult:
    """Click an element: exactly one of test_id, selector, ref, or role with name."""
    target = _target(test_id, selector, ref, role, name)
    return ctx.browsers.get(session_id).click(target=target, timeout_s=timeout_s)


@operation("browser/type", **_ACT, title="Type")
def ui_type(
    ctx: AppContext,
    text: Annotated[str, Help("What to type")],
    test_id: TestId = None,
    selector: Selector = None,
    ref: Ref = None,
    role: Role = None,
    name: Name = None,
    clear: Annotated[bool, Help("Over what is in it")] = True,
    submit: Annotated[bool, Help("Press Enter at the end")] = False,
    secret: Annotated[
        bool | None, Help("Keep it out of all records; fields that look like passwords always are")
    ] = None,
    timeout_s: Timeout = None,
    session_id: Own = None,
) -> ActionResult:
    """Type into an element: exactly one of test_id, selector, ref, or role with name."""
    target = _target(test_id, selector, ref, role, name)
    browser = ctx.browsers.get(session_id)
    return browser.type(text, clear=clear, submit=submit, secret=secret, timeout_s=timeout_s, target=target)


@operation("browser/press", **_ACT, title="Press a key")
def ui_press(
    ctx: AppContext,
    key: Annotated[str, Help("Such as Enter, Escape or Control+a")],
    test_id: TestId = None,
    selector: Selector = None,
    ref: Ref = None,
    role: Role = None,
    name: Name = None,
    timeout_s: Timeout = None,
    session_id: Own = None,
) -> ActionResult:
    """Press a key, on an element or where the focus is."""
    target = _target(test_id, selector, ref, role, name)
    return ctx.browsers.get(session_id).press(key, target=target, timeout_s=timeout_s)


@operation("browser/select", **_ACT, title="Choose in a list")
def ui_select(
    ctx: AppContext,
    value: Annotated[str | None, Help("The value to choose")] = None,
    label: Annotated[str | None, Help("Or what is to be read there")] = None,
    test_id: TestId = None,
    selector: Selector = None,
    ref: Ref = None,
    role: Role = None,
    name: Name = None,
    timeout_s: Timeout = None,
    session_id: Own = None,
) -> ActionResult:
    """Choose in a list, by value or label."""
    target = _target(test_id, selector, ref, role, name)
    return ctx.browsers.get(session_id).select(value, label=label, target=target, timeout_s=timeout_s)


@operation("browser/switch_tab", **_ACT, title="Go to another tab")
def ui_switch_tab(
    ctx: AppContext,
    index: Tab = None,
    url: Annotated[str | None, Help("Or a part of its address")] = None,
    title: Annotated[str | None, Help("Or a part of its title")] = None,
    session_id: Own = None,
) -> ActionResult:
    """Go on in another tab: by its number, or by a part of its address or title."""
    return ctx.browsers.get(session_id).switch_tab(index, url=url, title=title)


@operation("browser/close_tab", **_ACT, title="Close a tab")
def ui_close_tab(ctx: AppContext, index: Tab = None, session_id: Own = None) -> ActionResult:
    """Close a tab, the one that is used if none is named."""
    return ctx.browsers.get(session_id).close_tab(index)


@operation("browser/run_steps", **_ACT, title="Several steps at once")
def ui_run_steps(
    ctx: AppContext,
    steps: Annotated[
        tuple[dict[str, Any], ...],
        Length(1, 100),
        Help('Each such as {"tool": "click", "test_id": "send"}'),
    ],
    stop_on_error: Annotated[bool, Help("End at the first that fails")] = True,
    session_id: Own = None,
) -> BatchResult:
    """Do several steps one after the other, each with the tool's name and its arguments; all are recorded."""
    return ctx.browsers.get(session_id).run_steps(steps, stop_on_error)


def _target(
    test_id: str | None, selector: str | None, ref: str | None, role: str | None, name: str | None
) -> dict[str, str]:
    """What was said of the element; the browser checks that it is one."""
    said = {"testId": test_id, "selector": selector, "a11yRef": ref, "role": role, "name": name}
    return {key: value for key, value in said.items() if value is not None}

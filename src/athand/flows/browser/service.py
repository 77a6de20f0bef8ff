"""The browser and its tools: looking, acting, tabs, several steps in one call, and prior knowledge."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from athand.errors import AthandError, InvalidInput
from athand.flows.actions import ACTIONS, READ_VERBS, verb_of
from athand.flows.browser import actions
from athand.flows.browser.actions import WAIT_STATES, WaitCondition
from athand.flows.browser.context import PageContext
from athand.flows.browser.lifecycle import BrowserLifecycle
from athand.flows.browser.model import (
    AccessibilitySnapshot,
    ActionResult,
    BatchResult,
    BrowserState,
    ScreenDescription,
    Screenshot,
    TestIds,
    check_url,
)
from athand.flows.browser.parameters import (
    MAX_STEPS,
    AwaitedScreen,
    AwaitedState,
    AwaitedText,
    AwaitedUrl,
    BatchSteps,
    Clear,
    ElementTarget,
    FileName,
    FullPage,
    Key,
    MaxTestIds,
    OptionLabel,
    OptionValue,
    PartRoot,
    PartText,
    Root,
    Secret,
    StopOnError,
    Submit,
    TabIndex,
    TabTitle,
    TabUrl,
    TimeoutS,
    TreeLength,
    TypedText,
    Url,
    WithScreenshot,
)
from athand.flows.browser.recorder import Attempt
from athand.flows.browser.render_tree import DEFAULT_LENGTH, MAX_LENGTH, find_part, render_tree
from athand.flows.browser.snapshot import DEFAULT_TEST_IDS, MAX_TEST_IDS, PageSnapshot
from athand.flows.browser.targets import LocatedElement, find_element, parse_target, target_fields
from athand.flows.model import FlowHit, FlowSession, SessionSummary, Step
from athand.flows.secrets import is_secret
from athand.inputs import check_choice, check_count, check_limit, check_text
from athand.types import Hits, plain

Use = Callable[[PageContext, LocatedElement], Awaitable[None]]
PreparedCall = tuple[str, Callable[[], Any]]  # verb and call
_MAX_DIALOGS = 10
_BATCH_TOOLS = (*ACTIONS, *READ_VERBS)
_ARGUMENT_KEYS = ("args", "input")  # the arguments of a step may be in one of these, or beside the tool
_ARGUMENT_NAMES = {"testId": "test_id", "a11yRef": "ref", "timeoutS": "timeout_s", "fullPage": "full_page"}


class Browser(BrowserLifecycle):
    """A real browser whose every use is recorded. Any thread may use it; calls are serialized.

    A target is one of test_id=, selector=, ref=, or role= and name=; also as target={"testId": …}.
    """

    def __enter__(self) -> "Browser":
        if not self.is_open:
            self.launch()
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    # Looking

    def get_state(self) -> BrowserState:
        """Tell the screen, the address and the tabs of the browser, and the newest messages of its dialogs."""
        attempt = Attempt("get_state")

        async def work(context: PageContext) -> BrowserState:
            return await self._read_state(context, await _take_snapshot(context, attempt))

        step, state = self._run(attempt, work)
        return replace(state, step_id=step.id)

    def list_testids(self, limit: MaxTestIds = DEFAULT_TEST_IDS) -> TestIds:
        """List the test ids of the page with tag, text, visibility, role and name."""
        attempt = Attempt("list_testids", {"limit": check_limit(limit, MAX_TEST_IDS)})
        step, snapshot = self._run(attempt, lambda context: _take_snapshot(context, attempt, limit=limit))
        return TestIds(*attempt.location, snapshot.observation.test_ids, snapshot.test_id_count, step.id)

    def accessibility_snapshot(self, root: Root = None) -> AccessibilitySnapshot:
        """List the accessibility nodes of the page. Their refs can be used as targets until the next snapshot."""
        given = {"testId": root} if isinstance(root, str) else root
        attempt = Attempt("accessibility_snapshot", {"root": given} if given else {})

        async def work(context: PageContext) -> tuple[Mapping[str, Any], ...]:
            snapshot = await _take_ref_snapshot(context, attempt)
            if given is None:
                return snapshot.observation.a11y
            located = await find_element(context, attempt, parse_target(given))
            return snapshot.nodes_inside(located.element)

        step, nodes = self._run(attempt, work)
        return AccessibilitySnapshot(*attempt.location, nodes, step.id)

    def describe_screen(
        self,
        root: PartRoot = None,
        text: PartText = None,
        length: TreeLength = DEFAULT_LENGTH,
        screenshot: WithScreenshot = False,
    ) -> ScreenDescription:
        """Describe the page as a tree with refs, and under `priorKnowledge` what worked here in earlier sessions.

        That is what to do next, how sure it is, and what to avoid. Begin with this on every new screen.
        """
        check_count("length", length, MAX_LENGTH)
        given = {"root": root, "text": text, "screenshot": screenshot or None}
        attempt = Attempt("describe_screen", {key: value for key, value in given.items() if value is not None})

        async def work(context: PageContext) -> tuple[PageSnapshot, BrowserState, str]:
            snapshot = await _take_ref_snapshot(context, attempt, keep_refs=root is not None)
            if screenshot:
                attempt.screenshot = str(await context.save_screenshot())
            tree = _describe_page(snapshot, root, text, length)
            return snapshot, await self._read_state(context, snapshot), tree

        step, (snapshot, state, tree) = self._run(
            attempt, work, before_recording=lambda recorder: recorder.add_prior_knowledge(attempt)
        )
        state, seen = replace(state, step_id=step.id), snapshot.observation
        return ScreenDescription(state, seen, tree, step.id, attempt.knowledge, attempt.screenshot)

    def screenshot(self, name: FileName = None, full_page: FullPage = False) -> Screenshot:
        """Save a picture of the page in the folder for screenshots; the answer has its path."""
        attempt = Attempt("screenshot", {"full_page": full_page})

        async def work(context: PageContext) -> str:
            if name is not None and self._recorder:
                self._recorder.refuse_secret("The name of the screenshot", name)
            await _take_snapshot(context, attempt)
            attempt.screenshot = str(await context.save_screenshot(name, full_page=full_page))
            return attempt.screenshot

        step, path = self._run(attempt, work)
        return Screenshot(path, step.id)

    def wait_for(
        self,
        *,
        text: AwaitedText = None,
        url: AwaitedUrl = None,
        screen: AwaitedScreen = None,
        state: AwaitedState = "visible",
        timeout_s: TimeoutS = None,
        **target: Unpack[ElementTarget],
    ) -> ActionResult:
        """Wait until one thing is visible, or is hidden: an element, a text, an address or a screen."""
        named = {"text": text, "url": url, "screen": screen}
        given = {key: value for key, value in named.items() if value is not None} | {"state": state}
        attempt = Attempt("wait_for", given, timeout_s=timeout_s)

        async def work(context: PageContext) -> None:
            check_choice("state", state, WAIT_STATES)
            await actions.wait_for(context, attempt, WaitCondition.parse(target, text, url, screen), state)

        return self._run_action(attempt, work)

    # Acting

    def click(self, *, timeout_s: TimeoutS = None, **target: Unpack[ElementTarget]) -> ActionResult:
        """Click an element: exactly one of test_id, selector, ref, or role with name."""
        return self._act(Attempt("click", timeout_s=timeout_s), target, actions.click)

    def type(
        self,
        text: TypedText,
        *,
        clear: Clear = True,
        submit: Submit = False,
        secret: Secret = None,
        timeout_s: TimeoutS = None,
        **target: Unpack[ElementTarget],
    ) -> ActionResult:
        """Type into an element: exactly one of test_id, selector, ref, or role with name."""
        given = {"text": text, "clear": clear, "submit": submit} | ({"secret": True} if secret else {})
        attempt = Attempt("type", given, timeout_s=timeout_s)

        async def use(context: PageContext, located: LocatedElement) -> None:
            if attempt.before and located.element and secret is not False:
                node = {"a11yRef": located.element.ref}
                if is_secret(node, attempt.before.observation, given, context.profile):
                    attempt.input["secret"] = True
            await actions.type_text(context, located, text, clear=clear, submit=submit)

        return self._act(attempt, target, use)

    def press(self, key: Key, *, timeout_s: TimeoutS = None, **target: Unpack[ElementTarget]) -> ActionResult:
        """Press a key, on an element or where the focus is."""
        attempt = Attempt("press", {"key": key}, timeout_s=timeout_s)
        return self._act(
            attempt, target, lambda context, located: actions.press(context, located, key), is_target_needed=False
        )

    def select(
        self,
        value: OptionValue = None,
        *,
        label: OptionLabel = None,
        timeout_s: TimeoutS = None,
        **target: Unpack[ElementTarget],
    ) -> ActionResult:
        """Choose an option of a list, by value or label."""
        chosen = {"value": value} if label is None else {"value": label, "by": "label"}
        attempt = Attempt("select", chosen, timeout_s=timeout_s)

        async def use(context: PageContext, located: LocatedElement) -> None:
            await actions.select(context, located, check_text("value", chosen["value"]), by_label=label is not None)

        return self._act(attempt, target, use)

    def hover(self, *, timeout_s: TimeoutS = None, **target: Unpack[ElementTarget]) -> ActionResult:
        """Move the mouse over an element, which opens menus and hints: exactly one of test_id, selector, ref, role."""
        return self._act(Attempt("hover", timeout_s=timeout_s), target, actions.hover)

    # Tabs

    def back(self, *, timeout_s: TimeoutS = None) -> ActionResult:
        """Go back to the page that the tab was on before."""
        return self._go_through_history(Attempt("back", timeout_s=timeout_s), is_forward=False)

    def forward(self, *, timeout_s: TimeoutS = None) -> ActionResult:
        """Go forward again, after going back."""
        return self._go_through_history(Attempt("forward", timeout_s=timeout_s), is_forward=True)

    def _go_through_history(self, attempt: Attempt, *, is_forward: bool) -> ActionResult:
        async def work(context: PageContext) -> None:
            await actions.go_through_history(context, attempt, is_forward=is_forward)

        return self._run_action(attempt, work)

    def navigate(self, url: Url, *, timeout_s: TimeoutS = None) -> ActionResult:
        """Open an address in the tab in use."""
        attempt = Attempt("navigate", {"url": url}, timeout_s=timeout_s)

        async def work(context: PageContext) -> None:
            await actions.navigate(context, attempt, check_url(url, local_files=context.options.local_files))

        return self._run_action(attempt, work)

    def switch_tab(self, index: TabIndex = None, *, url: TabUrl = None, title: TabTitle = None) -> ActionResult:
        """Continue in another tab: by its number, or by a part of its address or title."""
        named = {"index": index, "url": url, "title": title}
        attempt = Attempt("switch_tab", {key: value for key, value in named.items() if value is not None})
        return self._run_action(attempt, lambda context: actions.switch_tab(context, attempt, index, url, title))

    def close_tab(self, index: TabIndex = None) -> ActionResult:
        """Close a tab; default: the one in use."""
        attempt = Attempt("close_tab", {} if index is None else {"index": index})
        return self._run_action(attempt, lambda context: actions.close_tab(context, attempt, index))

    def run_steps(self, steps: BatchSteps, stop_on_error: StopOnError = True) -> BatchResult:
        """Run several tools in order, each with its arguments; each is recorded as a step of its own."""
        attempt = Attempt("run_steps", {"steps": list(steps), "stop_on_error": stop_on_error})
        with self._lock:
            _, recorder = self._require_open(attempt)
            try:
                calls = prepare_calls(self, steps, recorder.profile.prefix)
            except AthandError as error:
                raise self._record_failure(attempt, error) from None
            result, first_error = _run_calls(calls, stop_on_error=stop_on_error)
            return replace(result, step_id=recorder.record(attempt, first_error).id)

    # Knowledge

    def knowledge_search(
        self,
        query: str,
        *,
        limit: int = 20,
        scope: str | Mapping[str, str] = "all",
        filters: Mapping[str, Any] | None = None,
    ) -> Hits[FlowHit]:
        """The steps of earlier sessions that match; scope `current` is this session."""
        session = self.session_id if scope == "current" else None
        return self._flows.search(query, limit=limit, scope=scope, session=session, filters=filters)

    def knowledge_last(self, n: int = 20) -> list[Step]:
        """The newest steps of this session, or of all sessions before a launch."""
        return self._flows.last(n, session=self.session_id)

    def knowledge_sessions(self, limit: int = 10, filters: Mapping[str, Any] | None = None) -> list[FlowSession]:
        """The newest sessions."""
        return self._flows.sessions(limit, filters)

    def knowledge_summarize(self, session: str | None = None) -> SessionSummary:
        """The summary of a session; default: this one."""
        return self._flows.summarize(check_text("session", session or self.session_id))

    def _act(
        self, attempt: Attempt, target: Mapping[str, Any], use: Use, *, is_target_needed: bool = True
    ) -> ActionResult:
        async def work(context: PageContext) -> None:
            spec = parse_target(target) if is_target_needed or target_fields(target) else None
            await actions.act(context, attempt, spec, lambda located: use(context, located))

        return self._run_action(attempt, work)

    def _run_action(self, attempt: Attempt, work: Callable[[PageContext], Awaitable[None]]) -> ActionResult:
        step, _ = self._run(attempt, work)
        return ActionResult(True, *attempt.location, step.id, step.duration_ms or 0.0, attempt.note)

    async def _read_state(self, context: PageContext, snapshot: PageSnapshot) -> BrowserState:
        session = self._recorder.session if self._recorder else None
        return BrowserState(
            session_id=session.id if session else "",
            app=session.app if session else "",
            screen=snapshot.observation.screen or "",
            url=snapshot.observation.url,
            title=await context.title(context.page),
            tabs=await context.list_tabs(),
            dialogs=tuple(context.messages[-_MAX_DIALOGS:]),
        )


async def _take_snapshot(context: PageContext, attempt: Attempt, *, limit: int = DEFAULT_TEST_IDS) -> PageSnapshot:
    """Takes a snapshot and records it."""
    snapshot = attempt.before = attempt.after = await context.take_snapshot(limit=limit)
    return snapshot


async def _take_ref_snapshot(context: PageContext, attempt: Attempt, *, keep_refs: bool = False) -> PageSnapshot:
    """Takes a snapshot with refs for the caller and records it."""
    snapshot = attempt.before = attempt.after = await context.take_ref_snapshot(keep_refs=keep_refs)
    return snapshot


def _describe_page(snapshot: PageSnapshot, root: str | None, text: str | None, length: int) -> str:
    """The tree of the page, or of a part of it, as text."""
    tree = snapshot.tree if root is None else snapshot.part(root)
    if text is not None:
        tree = find_part(tree, check_text("text", text))
    return render_tree(tree, length=length, is_part=root is not None or text is not None)


def prepare_calls(tools: object, steps: Sequence[Mapping[str, Any]], prefix: str) -> list[PreparedCall]:
    """The calls of several steps, checked before any of them runs; raises InvalidInput that names the wrong step."""
    if isinstance(steps, (str, Mapping)) or not 1 <= len(steps) <= MAX_STEPS:
        raise InvalidInput(
            f"steps must be a list of 1 to {MAX_STEPS} steps such as {{'tool': 'click', 'testId': 'send'}}."
        )
    return [_prepare_call(tools, number, step, prefix) for number, step in enumerate(steps, 1)]


def _prepare_call(tools: object, number: int, step: Mapping[str, Any], prefix: str) -> PreparedCall:
    if not isinstance(step, Mapping):
        raise InvalidInput(f"Step {number} must be a dictionary with a tool, not {step!r}.")
    verb = verb_of(str(step.get("tool", step.get("action", ""))), prefix)
    if verb not in _BATCH_TOOLS:
        raise InvalidInput(f"Step {number} has no tool that can run in a batch. Known: {', '.join(_BATCH_TOOLS)}.")
    method, arguments = getattr(tools, verb), _step_arguments(step)
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        raise InvalidInput(f"Step {number} ({verb}) has wrong arguments: {error}.") from error
    return verb, lambda: method(**arguments)


def _step_arguments(step: Mapping[str, Any]) -> dict[str, Any]:
    inner = (step[key] for key in _ARGUMENT_KEYS if isinstance(step.get(key), Mapping))
    arguments = {key: value for each in inner for key, value in each.items()}
    arguments |= {key: value for key, value in step.items() if key not in ("tool", "action", *_ARGUMENT_KEYS)}
    return {_ARGUMENT_NAMES.get(key, key): value for key, value in arguments.items()}


def _run_calls(calls: Sequence[PreparedCall], *, stop_on_error: bool) -> tuple[BatchResult, AthandError | None]:
    """Runs calls in order, up to the first error if `stop_on_error`; returns the results and the first error."""
    results: list[Mapping[str, Any]] = []
    first_error: AthandError | None = None
    for verb, call in calls:
        try:
            results.append({"tool": verb, "ok": True, "result": plain(call().to_dict())})
        except AthandError as error:
            first_error = first_error or error
            results.append({"tool": verb, "ok": False, "error": {"code": error.code, "message": str(error)}})
            if stop_on_error:
                break
    return BatchResult(first_error is None, tuple(results), len(calls) - len(results)), first_error

"""The browser and its tools: looking, acting, moving, several steps at once, and what is known."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from athand.errors import AthandError
from athand.flows.browser import actions, batch, looking, tabs
from athand.flows.browser.actions import Attempt, LocatedElement
from athand.flows.browser.context import PageContext
from athand.flows.browser.lifecycle import BrowserLifecycle, note, place
from athand.flows.browser.model import Accessibility, ActionResult, Batch, Described, Screenshot, State, TestIds
from athand.flows.browser.options import check_url
from athand.flows.browser.snapshot import LIMIT, MOST, PageSnapshot
from athand.flows.browser.targets import parts, wanted
from athand.flows.model import FlowHit, FlowSession, SessionSummary, Step
from athand.flows.secrets import is_secret
from athand.inputs import check_choice, check_limit, check_text
from athand.types import Hits

Use = Callable[[PageContext, LocatedElement], Awaitable[None]]
_NEWEST_DIALOGS = 10


class Browser(BrowserLifecycle):
    """A real browser that remembers. Any thread may use it; calls wait for one another.

    A target is one of test_id=, selector=, ref=, or role= and name=; also as target={"testId": …}.
    """

    def __enter__(self) -> "Browser":
        if not self.is_open:
            self.launch()
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    # Looking

    def get_state(self) -> State:
        """Where the browser is, its tabs, and what dialogs said."""
        attempt = Attempt("get_state")

        async def work(context: PageContext) -> State:
            return await self._state(context, await _seen(context, attempt))

        step, state = self._do(attempt, work)
        return replace(state, step_id=step.id)

    def list_testids(self, limit: int = LIMIT) -> TestIds:
        """The test ids of the page with tag, text, visibility, role and name."""
        attempt = Attempt("list_testids", {"limit": check_limit(limit, MOST)})
        step, snapshot = self._do(attempt, lambda context: _seen(context, attempt, limit=limit))
        return TestIds(*place(attempt), snapshot.observation.test_ids, snapshot.test_ids, step.id)

    def accessibility_snapshot(self, root: str | Mapping[str, str] | None = None) -> Accessibility:
        """The accessibility nodes of the page, or of what is inside one element: a test id, or a target."""
        given = {"testId": root} if isinstance(root, str) else root
        attempt = Attempt("accessibility_snapshot", {"root": given} if given else {})

        async def work(context: PageContext) -> tuple[Mapping[str, Any], ...]:
            snapshot = await _shown(context, attempt)
            if given is None:
                return snapshot.observation.a11y
            found = await actions.find(context, attempt, wanted(given))
            return looking.nodes_inside(snapshot, found.element)

        step, nodes = self._do(attempt, work)
        return Accessibility(*place(attempt), nodes, step.id)

    def describe_screen(self, limit: int = LIMIT, screenshot: bool = False) -> Described:
        """All there is to see, the state, and what earlier sessions know about this screen."""
        attempt = Attempt("describe_screen", {"limit": check_limit(limit, MOST), "screenshot": screenshot})

        async def work(context: PageContext) -> tuple[PageSnapshot, State]:
            snapshot = await _shown(context, attempt, limit=limit)
            if screenshot:
                attempt.screenshot = str(await looking.picture(context))
            return snapshot, await self._state(context, snapshot)

        step, (snapshot, state) = self._do(attempt, work, before_keeping=lambda recorder: recorder.inform(attempt))
        state = replace(state, step_id=step.id)
        return Described(state, snapshot.observation, snapshot.test_ids, step.id, attempt.knowledge, attempt.screenshot)

    def screenshot(self, name: str | None = None, full_page: bool = False) -> Screenshot:
        """A picture of the page, saved under a plain name in the folder for screenshots."""
        attempt = Attempt("screenshot", {"full_page": full_page})

        async def work(context: PageContext) -> str:
            await _seen(context, attempt)
            attempt.screenshot = str(await looking.picture(context, name, full_page=full_page))
            return attempt.screenshot

        step, path = self._do(attempt, work)
        return Screenshot(path, step.id)

    def wait_for(
        self,
        *,
        text: str | None = None,
        url: str | None = None,
        screen: str | None = None,
        state: str = "visible",
        timeout_s: float | None = None,
        **target: Any,
    ) -> ActionResult:
        """Wait until a target, a text, an address (a part, or with *) or a screen is there, or is hidden."""
        named = {"text": text, "url": url, "screen": screen}
        given = {key: value for key, value in named.items() if value is not None} | {"state": state}
        attempt = Attempt("wait_for", given, timeout_s=timeout_s)

        async def work(context: PageContext) -> None:
            check_choice("state", state, looking.STATES)
            await looking.wait(context, attempt, looking.WaitCondition.checked(target, text, url, screen), state)

        return self._result(attempt, work)

    # Acting

    def click(self, *, timeout_s: float | None = None, **target: Any) -> ActionResult:
        """Click the target."""
        return self._act(Attempt("click", timeout_s=timeout_s), target, actions.click)

    def type(
        self,
        text: str,
        *,
        clear: bool = True,
        submit: bool = False,
        secret: bool | None = None,
        timeout_s: float | None = None,
        **target: Any,
    ) -> ActionResult:
        """Type into the target, over what is in it unless `clear` is off; `submit` presses Enter."""
        given = {"text": text, "clear": clear, "submit": submit} | ({"secret": True} if secret else {})
        attempt = Attempt("type", given, timeout_s=timeout_s)

        async def use(context: PageContext, found: LocatedElement) -> None:
            if attempt.before and found.element and secret is not False:
                node = {"a11yRef": found.element.ref}
                if is_secret(node, attempt.before.observation, given, context.profile):
                    attempt.given["secret"] = True
            await actions.type_text(context, found, text, clear=clear, submit=submit)

        return self._act(attempt, target, use)

    def press(self, key: str, *, timeout_s: float | None = None, **target: Any) -> ActionResult:
        """Press a key such as Enter or Control+a, on the target or where the focus is."""
        attempt = Attempt("press", {"key": key}, timeout_s=timeout_s)
        return self._act(attempt, target, lambda context, found: actions.press(context, found, key), is_needed=False)

    def select(
        self, value: str | None = None, *, label: str | None = None, timeout_s: float | None = None, **target: Any
    ) -> ActionResult:
        """Choose in a list, by value or label."""
        chosen = {"value": value} if label is None else {"value": label, "by": "label"}
        attempt = Attempt("select", chosen, timeout_s=timeout_s)

        async def use(context: PageContext, found: LocatedElement) -> None:
            await actions.select(context, found, check_text("value", chosen["value"]), by_label=label is not None)

        return self._act(attempt, target, use)

    # Moving

    def navigate(self, url: str, *, timeout_s: float | None = None) -> ActionResult:
        """Go to an address."""
        attempt = Attempt("navigate", {"url": url}, timeout_s=timeout_s)

        async def work(context: PageContext) -> None:
            await tabs.navigate(context, attempt, check_url(url, local_files=context.options.local_files))

        return self._result(attempt, work)

    def switch_tab(self, index: int | None = None, *, url: str | None = None, title: str | None = None) -> ActionResult:
        """Go on in another tab: by its number, or by a part of its address or title."""
        named = {"index": index, "url": url, "title": title}
        attempt = Attempt("switch_tab", {key: value for key, value in named.items() if value is not None})
        return self._result(attempt, lambda context: tabs.switch(context, attempt, index, url, title))

    def close_tab(self, index: int | None = None) -> ActionResult:
        """Close a tab, the one that is used if none is named."""
        attempt = Attempt("close_tab", {} if index is None else {"index": index})
        return self._result(attempt, lambda context: tabs.close(context, attempt, index))

    def run_steps(self, steps: Sequence[Mapping[str, Any]], stop_on_error: bool = True) -> Batch:
        """Several tools one after the other, each {"tool": "click", "testId": …}; each is a step of its own too."""
        attempt = Attempt("run_steps", {"steps": list(steps), "stop_on_error": stop_on_error})
        with self._lock:
            _, recorder = self._need(attempt)
            try:
                calls = batch.prepared(self, steps, recorder.profile.prefix)
            except AthandError as error:
                raise self._failed(attempt, error) from None
            done, first_error = batch.run(calls, stop_on_error=stop_on_error)
            return replace(done, step_id=recorder.keep(attempt, first_error).id)

    # Knowing

    def knowledge_search(
        self,
        query: str,
        *,
        limit: int = 20,
        scope: str | Mapping[str, str] = "all",
        filters: Mapping[str, Any] | None = None,
    ) -> Hits[FlowHit]:
        """The steps of earlier sessions that fit; scope `current` is this session."""
        session = self.session_id if scope == "current" else None
        return self._flows.search(query, limit=limit, scope=scope, session=session, filters=filters)

    def knowledge_last(self, n: int = 20) -> list[Step]:
        """The newest steps of this session, or of all before a launch."""
        return self._flows.last(n, session=self.session_id)

    def knowledge_sessions(self, limit: int = 10, filters: Mapping[str, Any] | None = None) -> list[FlowSession]:
        """The newest sessions."""
        return self._flows.sessions(limit, filters)

    def knowledge_summarize(self, session: str | None = None) -> SessionSummary:
        """A session at a glance: this one if none is named."""
        return self._flows.summarize(check_text("session", session or self.session_id))

    def _act(self, attempt: Attempt, target: Mapping[str, Any], use: Use, *, is_needed: bool = True) -> ActionResult:
        async def work(context: PageContext) -> None:
            said = wanted(target) if is_needed or parts(target) else None
            await actions.act(context, attempt, said, lambda found: use(context, found))

        return self._result(attempt, work)

    def _result(self, attempt: Attempt, work: Callable[[PageContext], Awaitable[None]]) -> ActionResult:
        step, _ = self._do(attempt, work)
        return ActionResult(True, *place(attempt), step.id, step.duration_ms or 0.0, note(attempt))

    async def _state(self, context: PageContext, snapshot: PageSnapshot) -> State:
        session, seen = self._recorder.session if self._recorder else None, snapshot.observation
        title, open_tabs = await context.title(context.page), await tabs.listed(context)
        named = (session.id, session.app) if session else ("", "")
        return State(*named, seen.screen or "", seen.url, title, open_tabs, tuple(context.messages[-_NEWEST_DIALOGS:]))


async def _seen(context: PageContext, attempt: Attempt, *, limit: int = LIMIT) -> PageSnapshot:
    """Look, for the record."""
    snapshot = attempt.before = attempt.after = await context.look(limit=limit)
    return snapshot


async def _shown(context: PageContext, attempt: Attempt, *, limit: int = LIMIT) -> PageSnapshot:
    """Look, for the record and for the caller, who gets new refs."""
    snapshot = attempt.before = attempt.after = await context.show(limit=limit)
    return snapshot

"""The browser and its tools: looking, acting, moving, several steps at once, and what is known."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from athand.errors import AthandError
from athand.flows.browser import acting, batch, looking, tabs
from athand.flows.browser.acting import Attempt, Found
from athand.flows.browser.driver import Driver, note, place
from athand.flows.browser.observing import LIMIT, MOST, Sight
from athand.flows.browser.options import check_url
from athand.flows.browser.results import Accessibility, ActionResult, Batch, Described, Screenshot, State, TestIds
from athand.flows.browser.targets import parts, wanted
from athand.flows.browser.window import Window
from athand.flows.model import FlowHit, FlowSession, SessionSummary, Step
from athand.flows.secrets import is_secret
from athand.inputs import check_choice, check_limit, check_text
from athand.types import Hits

Use = Callable[[Window, Found], Awaitable[None]]
_NEWEST_DIALOGS = 10


class Browser(Driver):
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

        async def work(window: Window) -> State:
            return await self._state(window, await _seen(window, attempt))

        step, state = self._do(attempt, work)
        return replace(state, step_id=step.id)

    def list_testids(self, limit: int = LIMIT) -> TestIds:
        """The test ids of the page with tag, text, visibility, role and name."""
        attempt = Attempt("list_testids", {"limit": check_limit(limit, MOST)})
        step, sight = self._do(attempt, lambda window: _seen(window, attempt, limit=limit))
        return TestIds(*place(attempt), sight.observation.test_ids, sight.test_ids, step.id)

    def accessibility_snapshot(self, root: str | Mapping[str, str] | None = None) -> Accessibility:
        """The accessibility nodes of the page, or of what is inside one element: a test id, or a target."""
        given = {"testId": root} if isinstance(root, str) else root
        attempt = Attempt("accessibility_snapshot", {"root": given} if given else {})

        async def work(window: Window) -> tuple[Mapping[str, Any], ...]:
            sight = await _shown(window, attempt)
            if given is None:
                return sight.observation.a11y
            found = await acting.find(window, attempt, wanted(given))
            return looking.nodes_inside(sight, found.element)

        step, nodes = self._do(attempt, work)
        return Accessibility(*place(attempt), nodes, step.id)

    def describe_screen(self, limit: int = LIMIT, screenshot: bool = False) -> Described:
        """All there is to see, the state, and what earlier sessions know about this screen."""
        attempt = Attempt("describe_screen", {"limit": check_limit(limit, MOST), "screenshot": screenshot})

        async def work(window: Window) -> tuple[Sight, State]:
            sight = await _shown(window, attempt, limit=limit)
            if screenshot:
                attempt.screenshot = str(await looking.picture(window))
            return sight, await self._state(window, sight)

        step, (sight, state) = self._do(attempt, work, before_keeping=lambda journal: journal.inform(attempt))
        state = replace(state, step_id=step.id)
        return Described(state, sight.observation, sight.test_ids, step.id, attempt.knowledge, attempt.screenshot)

    def screenshot(self, name: str | None = None, full_page: bool = False) -> Screenshot:
        """A picture of the page, saved under a plain name in the folder for screenshots."""
        attempt = Attempt("screenshot", {"full_page": full_page})

        async def work(window: Window) -> str:
            await _seen(window, attempt)
            attempt.screenshot = str(await looking.picture(window, name, full_page=full_page))
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

        async def work(window: Window) -> None:
            check_choice("state", state, looking.STATES)
            await looking.wait(window, attempt, looking.Awaited.checked(target, text, url, screen), state)

        return self._result(attempt, work)

    # Acting

    def click(self, *, timeout_s: float | None = None, **target: Any) -> ActionResult:
        """Click the target."""
        return self._act(Attempt("click", timeout_s=timeout_s), target, acting.click)

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

        async def use(window: Window, found: Found) -> None:
            if attempt.before and found.element and secret is not False:
                node = {"a11yRef": found.element.ref}
                if is_secret(node, attempt.before.observation, given, window.profile):
                    attempt.given["secret"] = True
            await acting.type_text(window, found, text, clear=clear, submit=submit)

        return self._act(attempt, target, use)

    def press(self, key: str, *, timeout_s: float | None = None, **target: Any) -> ActionResult:
        """Press a key such as Enter or Control+a, on the target or where the focus is."""
        attempt = Attempt("press", {"key": key}, timeout_s=timeout_s)
        return self._act(attempt, target, lambda window, found: acting.press(window, found, key), is_needed=False)

    def select(
        self, value: str | None = None, *, label: str | None = None, timeout_s: float | None = None, **target: Any
    ) -> ActionResult:
        """Choose in a list, by value or label."""
        chosen = {"value": value} if label is None else {"value": label, "by": "label"}
        attempt = Attempt("select", chosen, timeout_s=timeout_s)

        async def use(window: Window, found: Found) -> None:
            await acting.select(window, found, check_text("value", chosen["value"]), by_label=label is not None)

        return self._act(attempt, target, use)

    # Moving

    def navigate(self, url: str, *, timeout_s: float | None = None) -> ActionResult:
        """Go to an address."""
        attempt = Attempt("navigate", {"url": url}, timeout_s=timeout_s)

        async def work(window: Window) -> None:
            await tabs.navigate(window, attempt, check_url(url, local_files=window.options.local_files))

        return self._result(attempt, work)

    def switch_tab(self, index: int | None = None, *, url: str | None = None, title: str | None = None) -> ActionResult:
        """Go on in another tab: by its number, or by a part of its address or title."""
        named = {"index": index, "url": url, "title": title}
        attempt = Attempt("switch_tab", {key: value for key, value in named.items() if value is not None})
        return self._result(attempt, lambda window: tabs.switch(window, attempt, index, url, title))

    def close_tab(self, index: int | None = None) -> ActionResult:
        """Close a tab, the one that is used if none is named."""
        attempt = Attempt("close_tab", {} if index is None else {"index": index})
        return self._result(attempt, lambda window: tabs.close(window, attempt, index))

    def run_steps(self, steps: Sequence[Mapping[str, Any]], stop_on_error: bool = True) -> Batch:
        """Several tools one after the other, each {"tool": "click", "testId": …}; each is a step of its own too."""
        attempt = Attempt("run_steps", {"steps": list(steps), "stop_on_error": stop_on_error})
        with self._lock:
            _, journal = self._need(attempt)
            try:
                calls = batch.prepared(self, steps, journal.profile.prefix)
            except AthandError as error:
                raise self._failed(attempt, error) from None
            done, first_error = batch.run(calls, stop_on_error=stop_on_error)
            return replace(done, step_id=journal.keep(attempt, first_error).id)

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
        async def work(window: Window) -> None:
            said = wanted(target) if is_needed or parts(target) else None
            await acting.act(window, attempt, said, lambda found: use(window, found))

        return self._result(attempt, work)

    def _result(self, attempt: Attempt, work: Callable[[Window], Awaitable[None]]) -> ActionResult:
        step, _ = self._do(attempt, work)
        return ActionResult(True, *place(attempt), step.id, step.duration_ms or 0.0, note(attempt))

    async def _state(self, window: Window, sight: Sight) -> State:
        session, seen = self._journal.session if self._journal else None, sight.observation
        title, open_tabs = await window.title(window.page), await tabs.listed(window)
        named = (session.id, session.app) if session else ("", "")
        return State(*named, seen.screen or "", seen.url, title, open_tabs, tuple(window.messages[-_NEWEST_DIALOGS:]))


async def _seen(window: Window, attempt: Attempt, *, limit: int = LIMIT) -> Sight:
    """Look, for the record."""
    sight = attempt.before = attempt.after = await window.look(limit=limit)
    return sight


async def _shown(window: Window, attempt: Attempt, *, limit: int = LIMIT) -> Sight:
    """Look, for the record and for the caller, who gets new refs."""
    sight = attempt.before = attempt.after = await window.show(limit=limit)
    return sight

"""Replay: what a session did, done again from memory alone. It stops where the page differs, and says how.

The replay is a session of its own: what worked again is known to work, and what did not is known too.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, AthandError, InvalidInput
from athand.flows.binding import asks_for
from athand.flows.entry import check_mapping, check_string
from athand.flows.model import FlowSession, Observation, Step, Target
from athand.flows.moves import actions_of, count, given, in_words, is_masked, ways
from athand.flows.replay import healing
from athand.flows.replay.healing import Heal
from athand.flows.replay.parameterize import plan, wanted
from athand.flows.replay.resolve import is_page, landmarks, ways_now
from athand.inputs import check_count, check_text
from athand.types import Noun

if TYPE_CHECKING:
    from athand.flows.browser import Browser
    from athand.flows.service import Flows

_ANYWHERE = ("navigate", "switch_tab", "close_tab")  # done to the browser, not to a page
_EVERY_S = 0.1
_MOST_STEPS = 1_000_000  # steps of a session
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Healed(Noun):
    """A step whose element was found under another name; `element` is what `reject_heal` takes if that was wrong."""

    position: int
    was: Target
    now: Target
    element: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Replay(Noun):
    """What came of a replay; `session_id` is the session it was recorded in."""

    of: str
    session_id: str | None
    total: int  # actions that were to be done
    done: int = 0
    healed: tuple[Healed, ...] = ()
    stopped_at: int | None = None  # the position in the original session; None if it was done to the end
    code: str | None = None
    reason: str | None = None
    expected_screen: str | None = None
    seen_screen: str | None = None
    missing: tuple[str, ...] = ()  # what was there when it was recorded, and is not now

    @property
    def ok(self) -> bool:
        """Whether everything was done."""
        return self.stopped_at is None

    def to_dict(self) -> dict[str, Any]:
        """The replay as plain JSON values."""
        return {"ok": self.ok, **Noun.to_dict(self)}


def replay(
    flows: "Flows",
    browser: "Browser",
    session_id: str,
    *,
    start: int = 1,
    goal: str | None = None,
    values: Mapping[str, str] | None = None,
    heal: bool = True,
    progress: Callable[[Step], None] = lambda step: None,
    timeout_s: float = 5.0,
) -> Replay:
    """Do again what a session did from its step `start` on, for its own goal or another one.

    Values are for what was secret, or is to be another: by test id or name of the field; for secrets a word of it does.
    Progress is told of each step that was done.
    """
    told = {
        check_string("A name in values", name): check_string(f"The value of {name}", value)
        for name, value in check_mapping("values", values).items()
    }
    if goal is not None:
        check_text("goal", goal)
    session = flows.session(session_id)
    steps = actions_of(flows.steps(session_id), check_count("start", start, most=_MOST_STEPS))
    if not steps:
        raise InvalidInput(f"Session {session.id} has no action that worked from step {start} on.")
    planned = plan(steps, session.goal, goal, told)
    outcome = Replay(session.id, None, len(planned))
    unknown = [step for step, _ in planned if is_masked((given(step) or ("", ""))[1])]
    if unknown:
        return replace(outcome, stopped_at=unknown[0].position, code="VALUE_NEEDED", reason=wanted(unknown))
    player = _Player(flows, browser, heal=heal, timeout_s=timeout_s)
    again = player.begin(session, goal)
    return player.play(planned, replace(outcome, session_id=again.id), progress)


class _Player:
    """One replay while it happens."""

    def __init__(self, flows: "Flows", browser: "Browser", *, heal: bool, timeout_s: float) -> None:
        self._flows = flows
        self._browser = browser
        self._heals = heal
        self._timeout_s = timeout_s
        self._goal: str | None = None
        self._healed: list[Healed] = []

    def begin(self, session: FlowSession, goal: str | None) -> FlowSession:
        """The session that the replay is recorded in."""
        own = self._browser.session_id if self._browser.is_open else None
        here = self._flows.session(own) if own else None
        if here is not None and here.app != session.app:
            raise InvalidInput(
                f"The browser was launched for the app {here.app!r}, the session is one of {session.app!r}. "
                f"Launch it with app={session.app!r}."
            )
        self._goal = session.goal if goal is None else goal
        return self._flows.start_session(
            goal=self._goal,
            flow_tags=session.flow_tags,
            tags=dict.fromkeys((*session.tags, "replay")),
            app=session.app,
            app_version=here.app_version if here else None,
            git=here.git if here else None,
            launch={"replayOf": session.id},
        )

    def play(self, planned: Sequence[tuple[Step, Step]], outcome: Replay, progress: Callable[[Step], None]) -> Replay:
        """Do the steps in order until one cannot be done."""
        if not self._browser.is_open:
            self._browser.launch(session=outcome.session_id, app=planned[0][0].app)
        done = 0
        with self._browser.record_into(outcome.session_id):
            for step, was in planned:
                try:
                    if not done:
                        self._arrive(step)
                    self._do(step, was)
                except AthandError as error:
                    stopped: dict[str, Any] = {"stopped_at": step.position, "code": error.code, "reason": str(error)}
                    more = error.told if isinstance(error, _Differs) else {}
                    return replace(outcome, done=done, healed=tuple(self._healed), **stopped, **more)
                done += 1
                progress(step)
        return replace(outcome, done=done, healed=tuple(self._healed))

    def _arrive(self, first: Step) -> None:
        """Go where the first step was done, if the browser is elsewhere."""
        if first.before is None or first.verb in _ANYWHERE or is_page(first, self._browser.observe()):
            return
        if is_masked(first.before.url):
            told = "The address where this was done had a secret in it, and is not kept. Go there first."
            raise ActionFailed(told, code="VALUE_NEEDED")
        self._browser.navigate(first.before.url)

    def _do(self, step: Step, was: Step) -> None:
        if step.verb in _ANYWHERE:
            self._act(step, {})
            return
        seen = self._wait(step, was)
        if not is_page(step, seen):
            raise _Differs(step, seen, "PAGE_DIFFERS", f"{in_words(step)}: the page is not the one it was done on.")
        if was.target and not step.target:
            told = f"{in_words(was)}: this is about what only the goal of that session names."
            raise _Differs(step, seen, "TARGET_NOT_FOUND", told)
        if not step.target:
            self._act(step, {})
        elif not any(self._is_done(step, way) for way in self._ways(step, was, seen)):
            self._act_on_healed(step, was, self._browser.observe())

    def _is_done(self, step: Step, way: Mapping[str, str]) -> bool:
        """Do it by one way; a selector may lead nowhere, which only shows when it is used."""
        try:
            self._act(step, way)
        except ActionFailed as error:
            if "selector" in way and error.code == "TARGET_NOT_FOUND":
                return False
            raise
        return True

    def _ways(self, step: Step, was: Step, seen: Observation) -> list[dict[str, str]]:
        return ways_now(step, seen, is_asked_for=self._is_asked_for(step, was))

    def _is_asked_for(self, step: Step, was: Step) -> bool:
        """Whether the goal says what the element is called."""
        return step.target != was.target or asks_for(self._goal, step.target.get("name", ""))

    def _wait(self, step: Step, was: Step) -> Observation:
        """What is seen as soon as the step can be done, or when there was time enough for it."""
        until = time.monotonic() + self._timeout_s
        while True:
            seen = self._browser.observe()
            is_there = not step.target or bool(self._ways(step, was, seen))
            if (is_page(step, seen) and is_there) or time.monotonic() >= until:
                return seen
            time.sleep(_EVERY_S)

    def _act_on_healed(self, step: Step, was: Step, seen: Observation) -> None:
        several = max((count(way, seen) for way in ways(step)), default=0)
        if several > 1:
            raise _Differs(step, seen, "AMBIGUOUS_TARGET", f"{in_words(step)}: there are {several} such elements now.")
        missing = f"{in_words(step)}: it is not on the page."
        if not self._heals:
            raise _Differs(step, seen, "TARGET_NOT_FOUND", missing)
        rejected = self._flows.rejected_heals(was)
        found = healing.heal(step, step.before, seen, rejected, is_asked_for=self._is_asked_for(step, was))
        if not isinstance(found, Heal):
            raise _Differs(step, seen, "TARGET_NOT_FOUND", f"{missing} {found.reason}")
        healed = Healed(step.position, step.target, found.target, found.element, found.score, found.reason)
        kept = {"step": was.id, "target": dict(was.target), "element": found.element, "score": found.score}
        with self._browser.record_into(healed=kept):
            self._act(step, _first_way(found.target))
        self._healed.append(healed)

    def _act(self, step: Step, way: Mapping[str, str]) -> None:
        """Do it with the browser, as it was done."""
        value = (given(step) or ("", ""))[1]
        target: dict[str, Any] = {"target": dict(way)} if way else {}
        named = {name: step.input[name] for name in ("index", "url", "title") if step.input.get(name) is not None}
        label = "label" if step.input.get("by") == "label" or "label" in step.input else "value"
        tools: Mapping[str, Callable[[], Any]] = {
            "click": lambda: self._browser.click(timeout_s=self._timeout_s, **target),
            "type": lambda: self._browser.type(value, timeout_s=self._timeout_s, **_typing(step), **target),
            "press": lambda: self._browser.press(value, timeout_s=self._timeout_s, **target),
            "select": lambda: self._browser.select(timeout_s=self._timeout_s, **{label: value}, **target),
            "navigate": lambda: self._browser.navigate(value),
            "switch_tab": lambda: self._browser.switch_tab(**named),
            "close_tab": lambda: self._browser.close_tab(**named),
        }
        tools[step.verb]()


class _Differs(ActionFailed):
    """The page is not as it was: how it differs from what was recorded."""

    def __init__(self, step: Step, seen: Observation, code: str, reason: str) -> None:
        super().__init__(reason, code=code)
        now = set(landmarks(seen))
        missing = [each for each in landmarks(step.before) if each not in now] if step.before else []
        self.told: dict[str, Any] = {
            "expected_screen": step.screen,
            "seen_screen": seen.screen,
            "missing": tuple(missing[:_MOST_NAMED]),
        }


def _first_way(target: Target) -> dict[str, str]:
    return {"testId": target["testId"]} if "testId" in target else {"role": target["role"], "name": target["name"]}


def _typing(step: Step) -> dict[str, Any]:
    told = {name: bool(step.input[name]) for name in ("clear", "submit") if name in step.input}
    return {**told, **({"secret": True} if step.input.get("secret") else {})}

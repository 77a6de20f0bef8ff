"""Replays a recorded session in a browser, for its own goal or another; stops where the page differs, and says how.

A replay is recorded as a session of its own, so that later suggestions know what worked again and what did not.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, AthandError, InvalidInput
from athand.flows.actions import count_matches, input_value, is_redacted, locators, successful_actions
from athand.flows.descriptions import describe_action, element_label
from athand.flows.goal_parameters import Bindings, bind_target, has_value_in, match_goals
from athand.flows.model import FlowSession, Observation, Step, Target
from athand.flows.origins import check_origins
from athand.flows.replay import healing
from athand.flows.replay.healing import Heal
from athand.flows.replay.resolve import is_same_page, landmarks, resolve_locators
from athand.flows.validation import check_mapping, check_string
from athand.inputs import check_count, check_text
from athand.text import fold, split_identifier
from athand.types import Noun

if TYPE_CHECKING:
    from athand.flows.browser import Browser
    from athand.flows.service import Flows

_TAB_ACTIONS = ("navigate", "back", "forward", "switch_tab", "close_tab")  # they need no particular page
_POLL_S = 0.1
_MAX_POSITION = 1_000_000  # steps of a session
_MAX_MISSING = 8


@dataclass(frozen=True, slots=True)
class HealedStep(Noun):
    """A step whose element was found by healing; `element` is the argument of `reject_heal` if that was wrong."""

    position: int
    was: Target
    now: Target
    element: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Replay(Noun):
    """The result of a replay; `session_id` is the session it was recorded in."""

    of: str
    session_id: str | None
    total: int  # actions to replay
    done: int = 0
    healed: tuple[HealedStep, ...] = ()
    stopped_at: int | None = None  # position in the original session; None if it was replayed to the end
    code: str | None = None
    reason: str | None = None
    expected_screen: str | None = None
    seen_screen: str | None = None
    missing: tuple[str, ...] = ()  # landmarks of the recorded page that are not there now

    @property
    def ok(self) -> bool:
        """Whether all actions were replayed."""
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
    origins: Iterable[str] = (),
    progress: Callable[[Step], None] = lambda step: None,
    timeout_s: float = 5.0,
) -> Replay:
    """Replays the actions of a session from its step `start` on, for its own goal or another one.

    `values` replaces typed values by test id or name of the field; for secrets one word of it is enough.
    Texts are typed at the origin where they were recorded, and at `origins`.
    `progress` is called after each step.
    """
    checked = {
        check_string("A name in values", name): check_string(f"The value of {name}", value)
        for name, value in check_mapping("values", values).items()
    }
    if goal is not None:
        check_text("goal", goal)
    session = flows.session(session_id)
    steps = successful_actions(flows.steps(session_id), check_count("start", start, most=_MAX_POSITION))
    if not steps:
        raise InvalidInput(f"Session {session.id} has no successful action from step {start} on.")
    planned = parameterize(steps, session.goal, goal, checked)
    outcome = Replay(session.id, None, len(planned))
    redacted = [step for step, _ in planned if is_redacted((input_value(step) or ("", ""))[1])]
    if redacted:
        reason = _ask_for_values(redacted)
        return replace(outcome, stopped_at=redacted[0].position, code="VALUE_NEEDED", reason=reason)
    player = _Player(flows, browser, heal=heal, origins=check_origins(origins), timeout_s=timeout_s)
    own = player.start_session(session, goal)
    return player.play(planned, replace(outcome, session_id=own.id), progress)


class _Player:
    """One replay in progress."""

    def __init__(self, flows: "Flows", browser: "Browser", *, heal: bool, origins: Set[str], timeout_s: float) -> None:
        self._flows = flows
        self._browser = browser
        self._heals = heal
        self._origins = origins
        self._timeout_s = timeout_s
        self._goal: str | None = None
        self._healed: list[HealedStep] = []

    def start_session(self, session: FlowSession, goal: str | None) -> FlowSession:
        """Starts the session that the replay is recorded in."""
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
        """Replays the steps in order until one fails."""
        if not self._browser.is_open:
            self._browser.launch(session=outcome.session_id, app=planned[0][0].app)
        done = 0
        with self._browser.record_into(outcome.session_id):
            for step, was in planned:
                try:
                    if not done:
                        self._open_first_page(step)
                    self._replay_step(step, was)
                except AthandError as error:
                    stopped: dict[str, Any] = {"stopped_at": step.position, "code": error.code, "reason": str(error)}
                    more = error.difference if isinstance(error, _PageDiffers) else {}
                    return replace(outcome, done=done, healed=tuple(self._healed), **stopped, **more)
                done += 1
                progress(step)
        return replace(outcome, done=done, healed=tuple(self._healed))

    def _open_first_page(self, first: Step) -> None:
        """Opens the page of the first step, if the browser is elsewhere."""
        if first.before is None or first.verb in _TAB_ACTIONS or is_same_page(first, self._browser.observe()):
            return
        if is_redacted(first.before.url):
            text = "The address of the page contained a secret and is not stored. Open the page first."
            raise ActionFailed(text, code="VALUE_NEEDED")
        self._browser.navigate(first.before.url)

    def _replay_step(self, step: Step, was: Step) -> None:
        if step.verb in _TAB_ACTIONS:
            self._act(step, {})
            return
        seen = self._wait_for_page(step, was)
        if not is_same_page(step, seen):
            raise _PageDiffers(
                step, seen, "PAGE_DIFFERS", f"{describe_action(step)}: the page is not the one it was done on."
            )
        if was.target and not step.target:
            text = f"{describe_action(was)}: its element is named by a value that only the recorded goal has."
            raise _PageDiffers(step, seen, "TARGET_NOT_FOUND", text)
        if not step.target:
            self._act(step, {})
        elif not any(self._try_locator(step, each) for each in self._resolve(step, was, seen)):
            self._heal_and_act(step, was, self._browser.observe())

    def _try_locator(self, step: Step, locator: Mapping[str, str]) -> bool:
        """Does the step by one locator; False for a selector that finds nothing, which only using it shows."""
        try:
            self._act(step, locator)
        except ActionFailed as error:
            if "selector" in locator and error.code == "TARGET_NOT_FOUND":
                return False
            raise
        return True

    def _resolve(self, step: Step, was: Step, seen: Observation) -> list[dict[str, str]]:
        return resolve_locators(step, seen, is_asked_for=self._is_asked_for(step, was))

    def _is_asked_for(self, step: Step, was: Step) -> bool:
        """Whether the goal names the element."""
        return step.target != was.target or has_value_in(self._goal, step.target.get("name", ""))

    def _wait_for_page(self, step: Step, was: Step) -> Observation:
        """The observation as soon as the step can be done, or after the timeout."""
        until = time.monotonic() + self._timeout_s
        while True:
            seen = self._browser.observe()
            is_there = not step.target or bool(self._resolve(step, was, seen))
            if (is_same_page(step, seen) and is_there) or time.monotonic() >= until:
                return seen
            time.sleep(_POLL_S)

    def _heal_and_act(self, step: Step, was: Step, seen: Observation) -> None:
        matches = max((count_matches(locator, seen) for locator in locators(step)), default=0)
        if matches > 1:
            text = f"{describe_action(step)}: {matches} elements match it now."
            raise _PageDiffers(step, seen, "AMBIGUOUS_TARGET", text)
        missing = f"{describe_action(step)}: it is not on the page."
        if not self._heals:
            raise _PageDiffers(step, seen, "TARGET_NOT_FOUND", missing)
        rejected = self._flows.rejected_heals(was)
        found = healing.heal(step, step.before, seen, rejected, is_asked_for=self._is_asked_for(step, was))
        if not isinstance(found, Heal):
            raise _PageDiffers(step, seen, "TARGET_NOT_FOUND", f"{missing} {found.reason}")
        healed = HealedStep(step.position, step.target, found.target, found.element, found.score, found.reason)
        record = {"step": was.id, "target": dict(was.target), "element": found.element, "score": found.score}
        with self._browser.record_into(healed=record):
            self._act(step, _to_locator(found.target))
        self._healed.append(healed)

    def _act(self, step: Step, locator: Mapping[str, str]) -> None:
        """Calls the tool of the step with its recorded arguments."""
        value = (input_value(step) or ("", ""))[1]
        target: dict[str, Any] = {"target": dict(locator)} if locator else {}
        named = {name: step.input[name] for name in ("index", "url", "title") if step.input.get(name) is not None}
        is_label = step.input.get("by") == "label" or "label" in step.input
        option: dict[str, Any] = {"label" if is_label else "value": value}
        tools: Mapping[str, Callable[[], Any]] = {
            "click": lambda: self._browser.click(timeout_s=self._timeout_s, **target),
            "type": lambda: self._browser.type(value, timeout_s=self._timeout_s, **_typing_options(step), **target),
            "press": lambda: self._browser.press(value, timeout_s=self._timeout_s, **target),
            "select": lambda: self._browser.select(timeout_s=self._timeout_s, **option, **target),
            "hover": lambda: self._browser.hover(timeout_s=self._timeout_s, **target),
            "navigate": lambda: self._browser.navigate(value),
            "back": self._browser.back,
            "forward": self._browser.forward,
            "switch_tab": lambda: self._browser.switch_tab(**named),
            "close_tab": lambda: self._browser.close_tab(**named),
        }
        with self._browser.only_at(self._origins_for(step)):
            tools[step.verb]()

    def _origins_for(self, step: Step) -> Set[str] | None:
        """The origins that may get the input of a step; None if any may, because it is no secret and none is known."""
        if step.origin or step.input.get("secret"):
            return self._origins | ({step.origin} if step.origin else set())
        return None


class _PageDiffers(ActionFailed):
    """The page differs from the recorded one; `difference` says how."""

    def __init__(self, step: Step, seen: Observation, code: str, reason: str) -> None:
        super().__init__(reason, code=code)
        now = set(landmarks(seen))
        missing = [each for each in landmarks(step.before) if each not in now] if step.before else []
        self.difference: dict[str, Any] = {
            "expected_screen": step.screen,
            "seen_screen": seen.screen,
            "missing": tuple(missing[:_MAX_MISSING]),
        }


def _to_locator(target: Target) -> dict[str, str]:
    return {"testId": target["testId"]} if "testId" in target else {"role": target["role"], "name": target["name"]}


def _typing_options(step: Step) -> dict[str, Any]:
    options = {name: bool(step.input[name]) for name in ("clear", "submit") if name in step.input}
    return {**options, **({"secret": True} if step.input.get("secret") else {})}


def parameterize(
    steps: Sequence[Step], old_goal: str | None, new_goal: str | None, values: Mapping[str, str]
) -> list[tuple[Step, Step]]:
    """Each step with the values of the new goal, paired with the recorded one.

    A goal that names more things repeats the last click on such a thing; one that names fewer leaves clicks out.
    """
    bindings = match_goals(old_goal, new_goal) if old_goal and new_goal else Bindings()
    clicks = [step for step in steps if _clicks_on(step, [old for old, _ in bindings.pairs])]
    planned: list[tuple[Step, Step]] = []
    for step in steps:
        if not (clicks and _clicks_on(step, bindings.unpaired_old)):
            planned.append((_bind_step(step, bindings, values), step))
        if clicks and step is clicks[-1]:
            more = (Bindings(((step.target["name"], new),)) for new in bindings.unpaired_new)
            planned += [(_bind_step(step, each, values), step) for each in more]
    return planned


def _clicks_on(step: Step, values: Sequence[str]) -> bool:
    """Whether a step clicks an element whose name is one of these values."""
    return step.verb == "click" and fold(step.target.get("name", "")).strip() in map(fold, values)


def _bind_step(step: Step, bindings: Bindings, values: Mapping[str, str]) -> Step:
    recorded = input_value(step)
    new_input = dict(step.input)
    if recorded is not None and step.verb != "press":
        name, value = recorded
        replacement = _find_value(step, values)
        new_input[name] = replacement if replacement is not None else bindings.apply(value)
        new_input |= {"secret": True} if is_redacted(value) else {}
    return replace(step, target=bind_target(step.target, bindings), input=new_input)


def _find_value(step: Step, values: Mapping[str, str]) -> str | None:
    """The given value for a field, by test id or name; for a secret also by some of their words."""
    name, value = input_value(step) or ("", "")
    labels = [step.target[key] for key in ("testId", "name", "selector") if step.target.get(key)] or [name]
    exact = next((values[label] for label in labels if label in values), None)
    if exact is not None or not is_redacted(value):
        return exact
    words = {word for label in labels for word in split_identifier(label)}
    matches = [key for key in values if split_identifier(key) and words.issuperset(split_identifier(key))]
    return values[max(matches, key=len)] if matches else None


def _ask_for_values(steps: Sequence[Step]) -> str:
    names = ", ".join(dict.fromkeys(element_label(step) or step.verb for step in steps))
    return (
        f"The input of {names} was secret and is not stored. "
        "Give it in values (--value or --value-env), by test id or name."
    )

"""Twenty tasks of MiniWoB++, each with a solver that reads the goal and the screen and says what to do next.

The tasks were chosen before anything was measured. Solvers act through the tools of the browser alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from athand.errors import ActionFailed
from athand.flows.browser import Browser

Node = Mapping[str, Any]  # of the accessibility tree


class Screen:
    """What a solver sees."""

    def __init__(self, browser: Browser) -> None:
        self.nodes: Sequence[Node] = browser.describe_screen().observation.a11y
        self._browser = browser

    def shows(self, selector: str) -> bool:
        """Whether an element can be seen that is no node of the accessibility tree."""
        try:
            self._browser.wait_for(selector=selector, timeout_s=0.2)
        except ActionFailed:
            return False
        return True


@dataclass(frozen=True)
class Action:
    """One use of a tool: the target is a selector, or a name and perhaps a role."""

    verb: str
    selector: str | None = None
    name: str | None = None
    role: str | None = None
    text: str | None = None  # to type or select


Solver = Callable[[str, Screen, int], Action | None]  # goal, screen, how much was done → what to do


def _planned(plan: Callable[[str], Sequence[Action]]) -> Solver:
    """A solver that knows from the goal alone what to do."""

    def solve(goal: str, screen: Screen, done: int) -> Action | None:
        actions = plan(goal)
        return actions[done] if done < len(actions) else None

    return solve


def _click(name: str, role: str | None = None) -> Action:
    return Action("click", name=name, role=role)


def _type(selector: str, text: str) -> Action:
    return Action("type", selector, text=text)


def _quoted(goal: str) -> list[str]:
    return [each.strip() for each in re.findall(r'"([^"]*)"', goal)]


def _between(before: str, goal: str, after: str) -> str:
    return goal.split(before, 1)[1].split(after, 1)[0].strip()


SUBMIT = _click("Submit", "button")


def _dialog_button(goal: str) -> Sequence[Action]:
    wanted = _quoted(goal)[0]
    return [_click("Close" if wanted == "x" else wanted, "button")]


def _options(goal: str) -> Sequence[Action]:
    wanted = _between("Select ", goal, " and click")
    return [*(_click(each) for each in wanted.split(", ") if each != "nothing"), SUBMIT]


def _section(goal: str, screen: Screen, done: int) -> Action | None:
    first = next(node for node in screen.nodes if node["role"] == "tab")
    return [_click(first["name"], "tab"), SUBMIT, None][min(done, 2)]


def _tree(goal: str, screen: Screen, done: int) -> Action | None:
    """Open one folder after the other until the wanted name can be seen."""
    wanted = _quoted(goal)[0]
    if any(node["name"] == wanted for node in screen.nodes):
        return _click(wanted)
    selector = f'#tree span:text-is("{wanted}") >> nth=0'
    return Action("click", selector if screen.shows(selector) else "#tree li.expandable > span >> nth=0")


def _social(goal: str, screen: Screen, done: int) -> Action | None:
    """The picture itself, or what its menu offers; a picture may still be loading when it is first pointed at."""
    user, button = _between("For the user ", goal, ", click"), _quoted(goal)[0]
    post = f'.media:has(.username:text-is("{user}")) >> nth=0 >> '
    if button in ("Reply", "Retweet", "Like"):
        return Action("click", f"{post}.{button.lower()}")
    item = f'{post}li:has-text("{button}")'
    return Action("click", item if screen.shows(item) else f"{post}.more")


SOLVERS: Mapping[str, Solver] = {
    "click-test": _planned(lambda goal: [_click("Click Me!")]),
    "click-test-2": _planned(lambda goal: [_click("ONE")]),
    "click-button": _planned(lambda goal: [_click(_quoted(goal)[0], "button")]),
    "click-link": _planned(lambda goal: [_click(_quoted(goal)[0])]),
    "click-dialog": _planned(_dialog_button),
    "click-dialog-2": _planned(_dialog_button),
    "click-tab": _planned(lambda goal: [_click(_between("Click on ", goal, "."), "tab")]),
    "click-tab-2-easy": _planned(lambda goal: [_click(_quoted(goal)[0])]),
    "click-option": _planned(_options),
    "click-checkboxes": _planned(_options),
    "click-collapsible-nodelay": _section,
    "click-button-sequence": _planned(lambda goal: [_click("ONE"), _click("TWO")]),
    "enter-text": _planned(lambda goal: [_type("#tt", _quoted(goal)[0]), SUBMIT]),
    "enter-text-dynamic": _planned(lambda goal: [_type("#tt", _quoted(goal)[0]), SUBMIT]),
    "enter-password": _planned(
        lambda goal: [_type("#password", _quoted(goal)[0]), _type("#verify", _quoted(goal)[0]), SUBMIT]
    ),
    "login-user": _planned(
        lambda goal: [
            _type("#username", _quoted(goal)[0]),
            _type("#password", _quoted(goal)[1]),
            _click("Login", "button"),
        ]
    ),
    "focus-text": _planned(lambda goal: [Action("click", "#tt")]),
    "choose-list": _planned(
        lambda goal: [Action("select", "#options", text=_between("Select ", goal, " from the list")), SUBMIT]
    ),
    "navigate-tree": _tree,
    "social-media": _social,
}


def secrets(task: str, goal: str) -> dict[str, str]:
    """What a caller has to give when it is done again, because it is never kept."""
    fields = {"enter-password": ("password", "verify"), "login-user": ("password",)}.get(task, ())
    return {field: _quoted(goal)[-1] for field in fields}


def act(browser: Browser, action: Action, nodes: Sequence[Node]) -> None:
    """Do it with a tool of the browser."""
    target = {"selector": action.selector} if action.selector else _named(action, nodes)
    if action.verb == "type":
        browser.type(action.text or "", **target)
    elif action.verb == "select":
        browser.select(label=action.text, **target)
    else:
        _click_or_press(browser, target)


def _click_or_press(browser: Browser, target: Mapping[str, Any]) -> None:
    """Click; buttons that lie at random places may cover one another, and then there are keys."""
    try:
        browser.click(**target)
    except ActionFailed as error:
        if error.code != "TARGET_COVERED":
            raise
        browser.press("Enter", **target)


def _named(action: Action, nodes: Sequence[Node]) -> dict[str, Any]:
    """Role and name, or the ref of the first of several."""
    alike = [each for each in nodes if each["name"] == action.name and action.role in (None, each["role"])]
    if not alike:
        raise LookupError(f"There is no {action.name!r} on the screen.")
    first = alike[0]
    same = [each for each in alike if each["role"] == first["role"]]
    return {"ref": first["ref"]} if len(same) > 1 else {"role": first["role"], "name": first["name"]}

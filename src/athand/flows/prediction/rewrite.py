"""Rewrites recorded actions of other sessions for the current goal (same elements, this goal's values). Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from athand.flows.actions import action_key
from athand.flows.goal_parameters import bind_target, has_value_in, mask_numbers, match_goals
from athand.flows.model import Target
from athand.flows.prediction.history import Action, Trace
from athand.flows.prediction.page import Page
from athand.text import fold

ANY_VALUE = "<value>"  # the wildcard in a history key, for an element that the goal names
_WORD = re.compile(r"\w+")

NamedTargets = Mapping[tuple[str, str, str], Target]  # (screen, role, name) → a target with a test id or a selector


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """A recorded action as it would be in the current session: with the values of its goal."""

    history_key: str  # equality key for history matching; goal values are wildcards
    suggestion_key: str  # equality key for suggestions
    action: Action
    target: Target
    input: Mapping[str, Any]
    is_on_screen: bool = True  # recorded on the current screen
    is_used: bool = False  # the value it stands for was used already, and no other value is left
    values_left: bool | None = (
        None  # whether values followed on its screen, itself included; None if its trace has none
    )


@dataclass(frozen=True, slots=True)
class RewrittenSession:
    """A past session rewritten for the current goal, and the history of the current one in the same keys."""

    actions: Sequence[PlannedAction]
    history: Sequence[str]
    values_left: bool  # the goal names an element of the page that was not used yet


class GoalPair:
    """The goals of a past session and of the current one."""

    def __init__(self, old: str | None, new: str | None) -> None:
        self.bindings = match_goals(old or "", new or "")
        self._old, self._new = normalize(old or ""), normalize(new or "")
        self._old_values = frozenset(map(normalize, self.bindings.old))
        self._new_values = frozenset(map(normalize, self.bindings.new))

    def is_old_value(self, name: str, *, only_named: bool) -> bool:
        """Whether a name is a value of the old goal; one that alone identifies its element, also if only it has it."""
        words = normalize(name)
        return words in self._old_values or (only_named and _is_only_in(words, self._old, self._new))

    def is_new_value(self, name: str, *, only_named: bool) -> bool:
        """Whether a name is a value of the new goal; one that alone identifies its element, also if only it has it."""
        words = normalize(name)
        return words in self._new_values or (only_named and _is_only_in(words, self._new, self._old))

    def is_shared(self, words: str) -> bool:
        """Whether both goals have these words in common, so that they are no value of the new one."""
        return contains_words(self._old, words) and words not in self._new_values

    def bind_input(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """A recorded input with the values of the new goal, without those that only the old goal has."""
        bindings = self.bindings
        bound = {name: bindings.apply(value) if isinstance(value, str) else value for name, value in recorded.items()}
        return {
            name: value for name, value in bound.items() if not isinstance(value, str) or not bindings.is_stale(value)
        }


class Rewriter:
    """Rewrites past sessions for the current one: its goal, what it did so far, and the page it is on."""

    def __init__(
        self, goal: str | None, own: Sequence[Action], page: Page, traces: Iterable[Trace], on_screen: Set[str]
    ) -> None:
        self._goal = goal
        self._own = own
        self._page = page
        self._on_screen = on_screen  # ids of the actions that were recorded on the current screen
        self._named_targets = _find_named_targets((*(each for trace in traces for each in trace.actions), *own))
        self._own_keys = [self._key(action) for action in own]
        self._used = frozenset(
            normalize(text) for action in own for text in (action.target.get("name", ""), *_input_texts(action))
        )
        self._mentioned = _find_mentioned(normalize(goal or ""), page)
        self._numbered = _group_numbered_names(own, page)

    def rewrite(self, trace: Trace, goal: str | None) -> RewrittenSession:
        """Rewrites the trace of a session with this goal."""
        goals = GoalPair(goal, self._goal)
        are_values = [self._is_value(action, goals.is_old_value) for action in trace.actions]
        roles = {action.target.get("role") for action, each in zip(trace.actions, are_values, strict=True) if each}
        left = [name for role, name in self._mentioned if role in roles and not self._is_used_name(name, goals)]
        values_left = _values_left([action.screen for action in trace.actions], are_values)
        actions = [
            self._rewrite_value(action, goals, left, more) if is_value else self._rewrite_plain(action, goals, more)
            for action, is_value, more in zip(trace.actions, are_values, values_left, strict=True)
        ]
        return RewrittenSession(actions, self._history(goals, {each.history_key for each in actions}), bool(left))

    def _history(self, goals: GoalPair, keys: Set[str]) -> list[str]:
        """The history keys of the current session, comparable with those of the rewritten one."""
        return [
            _wildcard_key(action) if key not in keys and self._is_value(action, goals.is_new_value) else key
            for action, key in zip(self._own, self._own_keys, strict=True)
        ]

    def _is_value(self, action: Action, is_value: Callable[..., bool]) -> bool:
        """Whether the element of an action is named by a value of a goal."""
        name = action.target.get("name", "")
        only_named = self._full_target(action.screen, action.target).keys() <= {"role", "name"}
        return bool(name) and is_value(name, only_named=only_named)

    def _is_used_name(self, name: str, goals: GoalPair) -> bool:
        words = normalize(name)
        return words in self._used or goals.is_shared(words)

    def _rewrite_plain(self, action: Action, goals: GoalPair, values_left: bool | None) -> PlannedAction:
        """The action on the same element, whose name may contain a value or a number that has changed."""
        bound, input = bind_target(action.target, goals.bindings), goals.bind_input(action.input)
        target = self._renumber(bound) if bound == action.target else bound
        key = action_key(action.verb, self._full_target(action.screen, target), input)
        return PlannedAction(key, key, action, target, input, action.id in self._on_screen, values_left=values_left)

    def _rewrite_value(
        self, action: Action, goals: GoalPair, left: Sequence[str], values_left: bool | None
    ) -> PlannedAction:
        """The action on the element that the new goal names in place of the old one, else on another that it names."""
        input, name = goals.bind_input(action.input), goals.bindings.apply(action.target["name"])
        target = bind_target(action.target, goals.bindings)
        is_there = "selector" in target or self._page.may_have(name)
        is_used = normalize(name) in self._used or name == action.target["name"] or not is_there
        if is_used and left:
            name, is_used = left[0], False
            target = {**_role(action), "name": name}
        recorded_key = self._key(action)
        history_key = recorded_key if recorded_key in self._own_keys else _wildcard_key(action)
        suggestion_key = action_key(action.verb, {**_role(action), "name": name}, input)
        is_on_screen = action.id in self._on_screen
        return PlannedAction(history_key, suggestion_key, action, target, input, is_on_screen, is_used, values_left)

    def _renumber(self, target: Target) -> Target:
        """A target with its current number, if exactly one name differs from it in numbers only."""
        name = target.get("name", "")
        names = self._numbered.get((target.get("role", ""), mask_numbers(name)), ())
        if len(names) != 1 or has_value_in(self._goal, name):
            return target
        if target.get("testId") in self._page.test_ids or self._page.find_node(target) is not None:
            return target
        return {**{part: value for part, value in target.items() if part != "testId"}, "name": names[0]}

    def _key(self, action: Action) -> str:
        return action_key(action.verb, self._full_target(action.screen, action.target), action.input)

    def _full_target(self, screen: str, target: Target) -> Target:
        """A target that has only role and name, as another step recorded it with a test id or a selector."""
        if _has_locator(target) or not target.get("name"):
            return target
        return self._named_targets.get((screen, target.get("role", ""), target["name"]), target)


@lru_cache(maxsize=1 << 14)
def normalize(text: str) -> str:
    """The words of a text without case, accents and punctuation."""
    return " ".join(_WORD.findall(fold(text)))


def contains_words(text: str, words: str) -> bool:
    """Whether a normalized text contains these words, one after the other."""
    return bool(words) and f" {words} " in f" {text} "


def _is_only_in(words: str, text: str, other: str) -> bool:
    return contains_words(text, words) and not contains_words(other, words)


def _find_named_targets(actions: Iterable[Action]) -> NamedTargets:
    """The targets with a test id or a selector, by screen, role and name."""
    return {
        (action.screen, action.target.get("role", ""), action.target["name"]): action.target
        for action in actions
        if action.target.get("name") and _has_locator(action.target)
    }


def _has_locator(target: Target) -> bool:
    return "testId" in target or "selector" in target


def _find_mentioned(goal: str, page: Page) -> list[tuple[str, str]]:
    """Roles and names of the page's elements that the normalized goal names, in the order of the goal."""
    mentioned = [each for each in page.roles_and_names if contains_words(goal, normalize(each[1]))]
    return sorted(mentioned, key=lambda each: f" {goal} ".index(f" {normalize(each[1])} "))


def _group_numbered_names(own: Sequence[Action], page: Page) -> dict[tuple[str, str], list[str]]:
    """The names with a number, on the page or used in this session, by role and name without the number."""
    now = page.roles_and_names
    used = {(action.target.get("role", ""), action.target.get("name", "")): None for action in own}
    found: dict[tuple[str, str], list[str]] = {}
    for role, name in (*now, *(each for each in used if each not in now)):
        if masked := mask_numbers(name):
            found.setdefault((role, masked), []).append(name)
    return found


def _values_left(screens: Sequence[str], are_values: Sequence[bool]) -> list[bool | None]:
    """For each action, whether it or a later one on the same screen uses a value; None if none in the trace does."""
    found: list[bool | None] = []
    more = False
    for at in range(len(screens) - 1, -1, -1):
        is_last = at == len(screens) - 1 or screens[at + 1] != screens[at]
        more = are_values[at] or (more and not is_last)
        found.append(more)
    return found[::-1] if any(are_values) else [None] * len(screens)


def _input_texts(action: Action) -> list[str]:
    return [value for value in action.input.values() if isinstance(value, str)]


def _role(action: Action) -> dict[str, str]:
    return {"role": action.target["role"]} if "role" in action.target else {}


def _wildcard_key(action: Action) -> str:
    return f"{action.verb} {action.target.get('role', '')} {ANY_VALUE}"

"""Walks of other sessions told in the words of this one: on the same elements, with the values of its goal. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from athand.flows.actions import action_key
from athand.flows.goal_parameters import Bindings, bind_target, has_value_in, mask_numbers, match_goals
from athand.flows.model import Target
from athand.flows.prior.confidence import ANY_VALUE, Deed, Move, Walk
from athand.flows.prior.hints import Page
from athand.text import fold

Places = Mapping[tuple[str, str, str], Target]  # what a screen, a role and a name are also known by

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Told:
    """A walk in the words of this session, and this session's history in the same words."""

    deeds: Sequence[Deed]
    history: Sequence[str]
    values_left: bool  # the goal names something on the page that was not used yet


@dataclass(frozen=True, slots=True)
class Goals:
    """An old goal and a new one."""

    old: str
    new: str
    slots: Bindings

    @classmethod
    def of(cls, old: str | None, new: str | None) -> "Goals":
        """Two goals side by side."""
        return cls(normal(old or ""), normal(new or ""), match_goals(old or "", new or ""))

    def names_only_old(self, name: str, *, is_fixed: bool) -> bool:
        """Whether only the old goal names this, so that the new one must name something else."""
        return _names(name, self.old, self.new, self.slots.old, is_fixed=is_fixed)

    def names_only_new(self, name: str, *, is_fixed: bool) -> bool:
        """Whether only the new goal names this."""
        return _names(name, self.new, self.old, self.slots.new, is_fixed=is_fixed)

    def bound(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What was given, with the values of the new goal, and without those that only the old one has."""
        bound = {name: self.slots.apply(value) if isinstance(value, str) else value for name, value in given.items()}
        return {
            name: value for name, value in bound.items() if not isinstance(value, str) or not self.slots.is_stale(value)
        }


def _names(name: str, goal: str, other: str, values: Sequence[str], *, is_fixed: bool) -> bool:
    """Whether a goal has this as a value, or names what has no place of its own and another goal does not."""
    called = normal(name)
    if called in map(normal, values):
        return True
    return not is_fixed and is_in(called, goal) and not is_in(called, other)


class Teller:
    """The session that asks: its goal, what it did, and what it sees."""

    def __init__(
        self, goal: str | None, own: Sequence[Move], page: Page, places: Places, is_here: Callable[[Move], bool]
    ) -> None:
        self._goal = goal
        self._own = own
        self._places = places
        self._is_here = is_here
        self._own_keys = [self._key(move) for move in own]
        self._used = frozenset(normal(each) for move in own for each in (move.target.get("name", ""), *_texts(move)))
        self._page = page
        self._named = _named_by(normal(goal or ""), page)
        self._numbered = _numbered(own, page)

    def tell(self, walk: Walk, goal: str | None) -> Told:
        """A walk with a goal of its own as it would be with this one."""
        goals = Goals.of(goal, self._goal)
        are_values = [self._is_value(move, goals.names_only_old) for move in walk.moves]
        roles = {move.target.get("role") for move, is_value in zip(walk.moves, are_values, strict=True) if is_value}
        left = [name for role, name in self._named if role in roles and not self._is_past(name, goals)]
        stay = _values_while_here([move.screen for move in walk.moves], are_values)
        deeds = [
            self._valued(move, goals, left, more) if is_value else self._plain(move, goals, more)
            for move, is_value, more in zip(walk.moves, are_values, stay, strict=True)
        ]
        return Told(deeds, self._history(goals, {deed.key for deed in deeds}), bool(left))

    def _history(self, goals: Goals, theirs: set[str]) -> list[str]:
        """What this session did, by the keys of the walk it is compared with."""
        return [
            _any_value(move) if key not in theirs and self._is_value(move, goals.names_only_new) else key
            for move, key in zip(self._own, self._own_keys, strict=True)
        ]

    def _is_past(self, name: str, goals: Goals) -> bool:
        called = normal(name)
        return called in self._used or (is_in(called, goals.old) and called not in map(normal, goals.slots.new))

    def _is_value(self, move: Move, names: Callable[..., bool]) -> bool:
        name = move.target.get("name", "")
        return bool(name) and names(name, is_fixed=not self._place(move.screen, move.target).keys() <= {"role", "name"})

    def _plain(self, move: Move, goals: Goals, more: bool | None) -> Deed:
        """A deed on the same element as before, unless its name has a value in it."""
        bound, given = bind_target(move.target, goals.slots), goals.bound(move.given)
        target = self._renumbered(bound) if bound == move.target else bound
        key = action_key(move.verb, self._place(move.screen, target), given)
        return Deed(key, key, move, target, given, self._is_here(move), values_left=more)

    def _valued(self, move: Move, goals: Goals, left: Sequence[str], more: bool | None) -> Deed:
        """A deed on something that its goal names: now on what stands for it, or on what else the goal names here."""
        given, name = goals.bound(move.given), goals.slots.apply(move.target["name"])
        target = bind_target(move.target, goals.slots)
        is_there = "selector" in target or self._page.may_have(name)
        is_spent = normal(name) in self._used or name == move.target["name"] or not is_there
        if is_spent and left:
            name, is_spent = left[0], False
            target = {**_role(move), "name": name}
        plain = self._key(move)
        key = plain if plain in self._own_keys else _any_value(move)
        offered = action_key(move.verb, {**_role(move), "name": name}, given)
        return Deed(key, offered, move, target, given, self._is_here(move), is_spent, more)

    def _renumbered(self, target: Target) -> Target:
        """A target under the number that it has now, where nothing else differs and no other can be meant."""
        is_there = target.get("testId") in self._page.test_ids or self._page.node(target) is not None
        if is_there or has_value_in(self._goal, target.get("name", "")):
            return target
        now = self._numbered.get((target.get("role", ""), mask_numbers(target.get("name", ""))), ())
        return {**_without_test_id(target), "name": now[0]} if len(now) == 1 else target

    def _key(self, move: Move) -> str:
        return action_key(move.verb, self._place(move.screen, move.target), move.given)

    def _place(self, screen: str, target: Target) -> Target:
        if "testId" in target or "selector" in target or not target.get("name"):
            return target
        return self._places.get((screen, target.get("role", ""), target["name"]), target)


def places_of(moves: Iterable[Move]) -> Places:
    """The test id or the selector of what was once used by them, and once by its role and name alone."""
    return {
        (move.screen, move.target.get("role", ""), move.target["name"]): move.target
        for move in moves
        if move.target.get("name") and ("testId" in move.target or "selector" in move.target)
    }


@lru_cache(maxsize=1 << 14)
def normal(text: str) -> str:
    """The words of a text, case and signs aside."""
    return " ".join(_WORD.findall(fold(text)))


def is_in(words: str, text: str) -> bool:
    """Whether a text has these words, one after the other."""
    return bool(words) and f" {words} " in f" {text} "


def _named_by(goal: str, page: Page) -> list[tuple[str, str]]:
    """The roles and names on a page that the goal names, in its order."""
    named = [(str(node["role"]), str(node["name"])) for nodes in page.named.values() for node in nodes]
    mentioned = [each for each in named if is_in(normal(each[1]), goal)]
    return sorted(mentioned, key=lambda each: f" {goal} ".index(f" {normal(each[1])} "))


def _numbered(own: Sequence[Move], page: Page) -> dict[tuple[str, str], list[str]]:
    """What there is, or was in this session, with a number in its name: the names by their role and the rest."""
    now = [(str(node["role"]), str(node["name"])) for nodes in page.named.values() for node in nodes]
    used = {(move.target.get("role", ""), move.target.get("name", "")): None for move in own}
    found: dict[tuple[str, str], list[str]] = {}
    for role, name in (*now, *(each for each in used if each not in now)):
        if mask_numbers(name):
            found.setdefault((role, mask_numbers(name)), []).append(name)
    return found


def _without_test_id(target: Target) -> dict[str, str]:
    return {part: value for part, value in target.items() if part != "testId"}


def _values_while_here(screens: Sequence[str], are_values: Sequence[bool]) -> list[bool | None]:
    """At each step, whether a value is still used before the screen is left; None where no walk has any."""
    found: list[bool | None] = []
    more = False
    for at in range(len(screens) - 1, -1, -1):
        is_last = at == len(screens) - 1 or screens[at + 1] != screens[at]
        more = are_values[at] or (more and not is_last)
        found.append(more)
    return found[::-1] if any(are_values) else [None] * len(screens)


def _texts(move: Move) -> list[str]:
    return [value for value in move.given.values() if isinstance(value, str)]


def _role(move: Move) -> dict[str, str]:
    return {"role": move.target["role"]} if "role" in move.target else {}


def _any_value(move: Move) -> str:
    return f"{move.verb} {move.target.get('role', '')} {ANY_VALUE}"

"""Re-resolves a recorded step: is this the same page, and which locators find its element now. Pure."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from athand.flows.actions import count_matches, locators
from athand.flows.goal_parameters import mask_numbers
from athand.flows.model import UNKNOWN, Observation, Step, Target
from athand.flows.screens import route_of
from athand.text import fold
from athand.types import Noun

_MAX_LABEL = 100
_SAME_PAGE = 0.6  # share of recorded landmarks that identifies a page with the same address, whatever its heading


@dataclass(frozen=True, slots=True)
class ObservedElement(Noun):
    """An element of an observation: test id and accessibility node joined; unknown fields are empty."""

    test_id: str = ""
    role: str = ""
    name: str = ""
    text: str = ""
    tag: str = ""
    path: str = ""
    ref: str = ""

    @property
    def caption(self) -> str:
        """What a user reads on it: its name, else its text."""
        return self.name or self.text

    @property
    def label(self) -> str:
        """Role, caption and test id, for messages."""
        named = f'{self.role or self.tag or "element"} "{self.caption[:_MAX_LABEL]}"'
        return f"{named} ({self.test_id})" if self.test_id else named

    @property
    def key(self) -> str:
        """The key of a rejected heal: short, and without control characters."""
        parts = ["testId", self.test_id] if self.test_id else [self.role, self.name]
        return json.dumps([part[:_MAX_LABEL] for part in parts])[:240]


@dataclass(frozen=True)
class ComparedPage:
    """The elements of a page, and which of them are on the other page too."""

    elements: Sequence[ObservedElement]
    unchanged: frozenset[int]  # by identity, since several elements may be equal

    @cached_property
    def _index(self) -> dict[int, int]:
        return {id(each): index for index, each in enumerate(self.elements)}

    def place(self, element: ObservedElement) -> float:
        """Where an element is among all, on [0, 1]."""
        return self._index[id(element)] / len(self.elements)

    def neighbours(self, element: ObservedElement) -> tuple[str, str]:
        """Role and caption of the nearest unchanged elements before and after one."""
        index = self._index[id(element)]
        return self._nearest(reversed(self.elements[:index])), self._nearest(self.elements[index + 1 :])

    def _nearest(self, elements: Iterable[ObservedElement]) -> str:
        return next((f"{each.role} {each.caption}" for each in elements if id(each) in self.unchanged), "")


def list_elements(seen: Observation) -> list[ObservedElement]:
    """The visible elements of an observation, in document order."""
    entries: dict[str, Mapping[str, Any]] = {}
    for entry in seen.test_ids:
        if entry.get("visible", True):
            entries.setdefault(str(entry["testId"]), entry)
    hidden = {str(entry["testId"]) for entry in seen.test_ids} - set(entries)
    nodes = [_from_node(node, entries) for node in seen.a11y if node.get("testId") not in hidden]
    index_of = {element.test_id: index for index, element in reversed(list(enumerate(nodes))) if element.test_id}
    placed = [(float(index), element) for index, element in enumerate(nodes)]
    last = -1.0
    for test_id, entry in entries.items():
        if test_id not in index_of:
            placed.append((last + 0.5, _from_entry(entry)))
        last = index_of.get(test_id, last)
    return [element for _, element in sorted(placed, key=lambda pair: pair[0])]


def find_target(target: Target, elements: Sequence[ObservedElement]) -> ObservedElement:
    """The element of a target: by ref, test id, or role and name; one made of the target where the page has none."""
    described = ObservedElement(target.get("testId", ""), target.get("role", ""), target.get("name", ""))
    criteria = (
        lambda each: bool(each.ref) and each.ref == target.get("a11yRef"),
        lambda each: bool(each.test_id) and each.test_id == described.test_id,
        lambda each: bool(each.name) and (each.role, each.name) == (described.role, described.name),
    )
    matches = ([each for each in elements if is_match(each)] for is_match in criteria)
    return next((found[0] for found in matches if found), described)


def unique_target(element: ObservedElement, elements: Sequence[ObservedElement]) -> dict[str, str] | None:
    """A target that identifies this element alone: its test id, or its role and name; None if neither is unique."""
    test_ids = Counter(each.test_id for each in elements)
    names = Counter((each.role, each.name) for each in elements)
    if element.test_id and test_ids[element.test_id] == 1:
        named = {"role": element.role, "name": element.name} if element.role and element.name else {}
        return {"testId": element.test_id, **named}
    if element.role and element.name and names[element.role, element.name] == 1:
        return {"role": element.role, "name": element.name}
    return None


def compare_pages(
    target: Target, then: list[ObservedElement], today: list[ObservedElement]
) -> tuple[ObservedElement, ComparedPage, ComparedPage]:
    """The element of the target, and both pages with their unchanged elements; the target's own never counts as one."""
    lost = find_target(target, then)
    if not any(each is lost for each in then):
        then = [*then, lost]
    others = [each for each in then if each is not lost]
    by_id = {each.test_id for each in others if each.test_id} & {each.test_id for each in today if each.test_id}
    named = {_role_and_caption(each) for each in others if each.test_id not in by_id and each.caption}
    stayed = frozenset(id(each) for each in today if each.test_id in by_id or _role_and_caption(each) in named)
    names = {_role_and_caption(each) for each in today if id(each) in stayed}
    still = frozenset(id(each) for each in others if each.test_id in by_id or _role_and_caption(each) in names)
    return lost, ComparedPage(then, still), ComparedPage(today, stayed)


def landmarks(seen: Observation) -> list[str]:
    """What identifies a page: its test ids, and role and name of its accessibility nodes."""
    named = (node for node in seen.a11y if node.get("name") and node.get("role") != "generic")
    return [*seen.visible_test_ids, *(f'{node["role"]} "{node["name"]}"' for node in named)]


def is_same_page(step: Step, seen: Observation) -> bool:
    """Whether the page is the one of a step: the same screen, or the same address and most landmarks."""
    if step.before is None or step.screen in (UNKNOWN, seen.screen):
        return True
    if route_of(step.before.url) != route_of(seen.url):
        return False
    recorded = set(landmarks(step.before))
    return bool(recorded) and len(recorded & set(landmarks(seen))) >= _SAME_PAGE * len(recorded)


def resolve_locators(step: Step, seen: Observation, *, is_asked_for: bool = False) -> list[dict[str, str]]:
    """The locators that find the element of a step now, and it alone, as far as the observation shows it.

    A name that the goal asks for must keep its number; in any other name the number may have changed.
    """
    recorded = [_respell(locator, seen) for locator in locators(step)]
    valid = [each for index, each in enumerate(recorded) if _is_valid(each, step, seen, is_used=index == 0)]
    if valid or is_asked_for:
        return valid
    renumbered = (_renumber(each, step.before, seen) for each in recorded)
    return [each for each in renumbered if each is not None and _is_valid(each, step, seen, is_used=False)]


def _respell(locator: dict[str, str], seen: Observation) -> dict[str, str]:
    """A role and name as the page writes it, where only case or accents differ."""
    if "role" not in locator or count_matches(locator, seen):
        return locator
    names = {str(node.get("name", "")) for node in seen.a11y if node.get("role") == locator["role"]}
    same = [name for name in names if fold(name) == fold(locator["name"])]
    return {**locator, "name": same[0]} if len(same) == 1 else locator


def _renumber(locator: Mapping[str, str], before: Observation | None, seen: Observation) -> dict[str, str] | None:
    """A role and name with its current number, if then and now exactly one name differs in numbers only."""
    if before is None or "role" not in locator or not mask_numbers(locator["name"]):
        return None
    then, now = _same_but_number(locator, before), _same_but_number(locator, seen)
    return {**locator, "name": now[0]} if len(then) == len(now) == 1 else None


def _same_but_number(locator: Mapping[str, str], seen: Observation) -> list[str]:
    names = [str(node.get("name", "")) for node in seen.a11y if node.get("role") == locator["role"]]
    return [name for name in names if mask_numbers(name) == mask_numbers(locator["name"])]


def _is_valid(locator: dict[str, str], step: Step, seen: Observation, *, is_used: bool) -> bool:
    """Whether a locator still finds one element; one that was not used then must not find another known element."""
    if "selector" in locator:  # one that replaces a ref counts elements: it is valid while their number is the same
        named = {key: step.target[key] for key in ("role", "name") if key in step.target}
        return (
            "a11yRef" not in step.target or not named or count_matches(named, seen) == count_matches(named, step.before)
        )
    return count_matches(locator, seen) == 1 and (is_used or not _is_other_element(locator, step, seen))


def _is_other_element(locator: Mapping[str, str], step: Step, seen: Observation) -> bool:
    """Whether the locator finds an element that was on the recorded page as another one than the target."""
    if step.before is None:
        return False
    _, _, today = compare_pages(step.target, list_elements(step.before), list_elements(seen))
    return id(find_target(locator, today.elements)) in today.unchanged


def _role_and_caption(element: ObservedElement) -> tuple[str, str]:
    return element.role, element.caption


def _from_node(node: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> ObservedElement:
    entry = entries.get(str(node.get("testId", "")), {})
    return ObservedElement(
        test_id=str(node.get("testId", "")),
        role=str(node.get("role", "")),
        name=str(node.get("name") or ""),
        text=str(entry.get("text") or ""),
        tag=str(node.get("tag") or entry.get("tag") or ""),
        path=_path_text(node.get("path")),
        ref=str(node.get("ref", "")),
    )


def _from_entry(entry: Mapping[str, Any]) -> ObservedElement:
    return ObservedElement(
        test_id=str(entry["testId"]),
        role=str(entry.get("role") or ""),
        name=str(entry.get("name") or ""),
        text=str(entry.get("text") or ""),
        tag=str(entry.get("tag") or ""),
        path=_path_text(entry.get("path")),
    )


def _path_text(value: Any) -> str:
    return " > ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value or "")

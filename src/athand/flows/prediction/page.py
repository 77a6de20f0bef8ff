"""The page that is shown: how similar recorded pages are to it, and how recorded targets are located on it. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from athand.flows.actions import is_redacted
from athand.flows.goal_parameters import contains_value
from athand.flows.model import UNKNOWN, Hint, Observation, Target
from athand.flows.screens import route_tokens
from athand.text import fold

# Points for what two pages have in common.
SAME_SCREEN = 8
SAME_PATH = 6
TEST_ID, MAX_TEST_IDS = 3, 3
NODE, MAX_NODES = 2, 2
ACTION = 2
MAX_POINTS = SAME_SCREEN + SAME_PATH + TEST_ID * MAX_TEST_IDS + NODE * MAX_NODES + ACTION
MIN_OVERLAP = 0.5  # the share of common elements from which two pages without a screen name are the same

UNSEEN = 0.5  # how feasible an action is whose selector may still match, though its name or test id is not there
AMBIGUOUS = 0.5  # how feasible an action is whose target matches several elements
_VERBS_WITHOUT_TARGET = ("navigate", "back", "forward", "press", "switch_tab", "close_tab")
_REQUIRED_INPUT = {"navigate": "url", "press": "key"}
_OFFERED_INPUT = ("key", "url", "value", "label", "index", "title")

Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageSignature:
    """What identifies a page: the words of its path, its visible test ids, and the roles and names of its nodes."""

    path: frozenset[str] = frozenset()
    test_ids: frozenset[str] = frozenset()
    nodes: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, seen: Observation) -> "PageSignature":
        """The signature of an observed page."""
        named = ((str(node.get("role", "")), str(node.get("name") or "")) for node in seen.a11y)
        nodes = frozenset(node for node in named if node[1])
        return cls(route_tokens(seen.url), frozenset(seen.visible_test_ids), nodes)

    def is_same_page(self, other: "PageSignature") -> bool:
        """Whether most elements of two pages are the same (Jaccard index)."""
        one: frozenset[object] = self.test_ids | self.nodes
        two: frozenset[object] = other.test_ids | other.nodes
        return len(one & two) / (len(one | two) or 1) >= MIN_OVERLAP


def similarity_points(
    screen: str, page: PageSignature, other_screen: str, other: PageSignature, *, has_action: bool
) -> int:
    """How similar two pages are; an action on the other one adds points only where they share something else."""
    points = SAME_SCREEN if screen == other_screen != UNKNOWN else 0
    points += SAME_PATH if page.path & other.path else 0
    points += TEST_ID * min(MAX_TEST_IDS, len(page.test_ids & other.test_ids))
    points += NODE * min(MAX_NODES, len(page.nodes & other.nodes))
    return points + ACTION if points and has_action else points


@dataclass(frozen=True, slots=True)
class Page:
    """The elements that can be used now."""

    test_ids: Mapping[str, int]  # visible ones, with the number of elements that have each
    nodes: Mapping[str, tuple[Node, ...]]  # accessibility nodes by name, ignoring case

    @classmethod
    def of(cls, seen: Observation) -> "Page":
        """The elements of an observed page."""
        nodes: dict[str, tuple[Node, ...]] = {}
        for node in seen.a11y:
            if node.get("name"):
                key = _name_key(str(node["name"]))
                nodes[key] = (*nodes.get(key, ()), node)
        visible = Counter(str(each["testId"]) for each in seen.test_ids if each.get("visible", True))
        own = Counter(str(node["testId"]) for node in seen.a11y if node.get("testId"))
        return cls(visible | own, nodes)

    @property
    def is_unobserved(self) -> bool:
        """Whether no element is known, so that any may be there."""
        return not self.test_ids and not self.nodes

    @property
    def roles_and_names(self) -> list[tuple[str, str]]:
        """Role and name of every node."""
        return [(str(node["role"]), str(node["name"])) for nodes in self.nodes.values() for node in nodes]

    def may_have(self, name: str) -> bool:
        """Whether an element with this name is there, as far as the page was observed."""
        return self.is_unobserved or _name_key(name) in self.nodes

    def find_node(self, target: Target) -> Node | None:
        """The node with the name of a target, preferably also with its role."""
        named = self.nodes.get(_name_key(target.get("name", "")), ())
        same_role = (node for node in named if node.get("role") == target.get("role"))
        return next(same_role, named[0] if named else None)

    def count_same(self, node: Node) -> int:
        """How many nodes have the role and name of this one."""
        named = self.nodes[_name_key(node["name"])]
        return sum((each["role"], each["name"]) == (node["role"], node["name"]) for each in named)


def locate_target(target: Target, page: Page) -> tuple[tuple[Hint, ...], int]:
    """The locators of a target, best first, and the smallest number of elements that one of them matches now.

    Order: its test id if that is visible, its selector, its role and name if present; ambiguous ones last.
    """
    found = _find_hints(target, page)
    hints = tuple(hint for hint, _ in sorted(found, key=lambda each: each[1] > 1))
    return hints, min((count for _, count in found), default=0)


def feasibility(verb: str, target: Target, input: Mapping[str, Any], page: Page) -> float:
    """How likely an action can be done now: 1 if its target is there, 0 if not, between if that is uncertain."""
    required = _REQUIRED_INPUT.get(verb)
    if required is not None and (required not in input or is_redacted(str(input[required]))):
        return 0.0
    if not {"testId", "selector", "name"} & set(target):
        return 1.0 if verb in _VERBS_WITHOUT_TARGET else 0.0
    if page.is_unobserved:
        return 1.0
    counts = [count for hint, count in _find_hints(target, page) if hint.type != "selector"]
    if counts:
        return 1.0 if "selector" in target or min(counts) == 1 else AMBIGUOUS
    if "selector" not in target:
        return 0.0
    return UNSEEN if "name" in target or "testId" in target else 1.0


def choose_input(verb: str, input: Mapping[str, Any], goal: str | None) -> dict[str, Any] | None:
    """The input to offer with an action: typed text only if the goal names it, and nothing that was redacted."""
    kept = {name: value for name, value in input.items() if name in _OFFERED_INPUT}
    text = input.get("text")
    if verb == "type":
        kept = {"text": text} if isinstance(text, str) and contains_value(goal or "", text.strip()) else {}
    return kept if kept and not any(is_redacted(str(value)) for value in kept.values()) else None


def _find_hints(target: Target, page: Page) -> list[tuple[Hint, int]]:
    """The locators of a target, each with the number of elements it matches now; 1 for a selector, which is not run."""
    node = page.find_node(target) if not page.is_unobserved else None
    found = []
    test_id = target.get("testId") or (node or {}).get("testId")
    if test_id and (page.is_unobserved or test_id in page.test_ids):
        found.append((Hint("testId", str(test_id)), page.test_ids.get(str(test_id), 1)))
    if "selector" in target:
        found.append((Hint("selector", target["selector"]), 1))
    if node is not None:
        named = {"role": str(node["role"]), "name": str(node["name"])}
        found.append((Hint("a11yHint", named), page.count_same(node)))
    elif page.is_unobserved and target.get("name"):
        found.append((Hint("a11yHint", {"role": target.get("role", ""), "name": target["name"]}), 1))
    return found


@lru_cache(maxsize=1 << 14)  # sessions of one app share most of their names
def _name_key(name: str) -> str:
    return fold(name.strip())

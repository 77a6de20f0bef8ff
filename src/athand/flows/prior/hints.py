"""How to do again what was done before: where its target is on the page now, and what the goal gives to it. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from athand.flows.goal_parameters import contains_value
from athand.flows.model import Hint, Observation, Target
from athand.text import fold

NOT_SEEN = 0.5  # a selector may still lead somewhere, when what it led to had a name that is not there now
SEVERAL = 0.5  # there is more than one of that name, and only one is meant
_WITHOUT_TARGET = ("navigate", "press", "switch_tab", "close_tab")
_NEEDED = {"navigate": "url", "press": "key"}  # without which it is nothing
_GIVEN = ("key", "url", "value", "label", "index", "title")
_REDACTED = "[redacted"


@dataclass(frozen=True, slots=True)
class Page:
    """What can be acted on now."""

    test_ids: Mapping[str, int]  # how often each is to be seen
    named: Mapping[str, tuple[Mapping[str, Any], ...]]  # the nodes of each name, case aside

    @classmethod
    def of(cls, seen: Observation) -> "Page":
        """The page that was seen."""
        named: dict[str, tuple[Mapping[str, Any], ...]] = {}
        for node in seen.a11y:
            if node.get("name"):
                name = _called(str(node["name"]))
                named[name] = (*named.get(name, ()), node)
        visible = Counter(str(each["testId"]) for each in seen.test_ids if each.get("visible", True))
        own = Counter(str(node["testId"]) for node in seen.a11y if node.get("testId"))
        return cls(visible | own, named)

    @property
    def is_blank(self) -> bool:
        """Whether nobody looked."""
        return not self.test_ids and not self.named

    def may_have(self, name: str) -> bool:
        """Whether something of that name is there, as far as anybody can tell."""
        return self.is_blank or _called(name) in self.named

    def node(self, target: Target) -> Mapping[str, Any] | None:
        """The node of that name, and of that role if there is one."""
        found = self.named.get(_called(target.get("name", "")), ())
        same = (node for node in found if node.get("role") == target.get("role"))
        return next(same, found[0] if found else None)

    def number(self, node: Mapping[str, Any]) -> int:
        """How many nodes have the role and the name of this one."""
        return sum(
            (each["role"], each["name"]) == (node["role"], node["name"]) for each in self.named[_called(node["name"])]
        )


def how_possible(verb: str, target: Target, given: Mapping[str, Any], page: Page) -> float:
    """Whether an action can be done now: 1 if its target is there, 0 if not, between if nobody can tell."""
    if verb in _NEEDED and _REDACTED in str(given.get(_NEEDED[verb], _REDACTED)):
        return 0.0
    if not {"testId", "selector", "name"} & set(target):
        return 1.0 if verb in _WITHOUT_TARGET else 0.0
    if page.is_blank:
        return 1.0
    numbers = [number for hint, number in _ways(target, page) if hint.type != "selector"]
    if numbers:
        return 1.0 if "selector" in target or min(numbers) == 1 else SEVERAL
    if "selector" not in target:
        return 0.0
    return NOT_SEEN if "name" in target or "testId" in target else 1.0


def hints(target: Target, page: Page) -> tuple[Hint, ...]:
    """The ways to a target, best first: its test id if that is visible, its selector, its role and name if present.

    What means several elements now comes last.
    """
    return tuple(hint for hint, _ in sorted(_ways(target, page), key=lambda way: way[1] > 1))


def several(target: Target, page: Page) -> int:
    """How many elements a target means now, where no way leads to one alone; else 0."""
    fewest = min((number for _, number in _ways(target, page)), default=0)
    return fewest if fewest > 1 else 0


def _ways(target: Target, page: Page) -> list[tuple[Hint, int]]:
    """The ways to a target, and how many elements each means now; a selector is taken at its word."""
    node = page.node(target) if not page.is_blank else None
    found = []
    test_id = target.get("testId") or (node or {}).get("testId")
    if test_id and (page.is_blank or test_id in page.test_ids):
        found.append((Hint("testId", str(test_id)), page.test_ids.get(str(test_id), 1)))
    if "selector" in target:
        found.append((Hint("selector", target["selector"]), 1))
    if node is not None:
        named = {"role": str(node["role"]), "name": str(node["name"])}
        found.append((Hint("a11yHint", named), page.number(node)))
    elif page.is_blank and target.get("name"):
        found.append((Hint("a11yHint", {"role": target.get("role", ""), "name": target["name"]}), 1))
    return found


def offered_input(verb: str, given: Mapping[str, Any], goal: str | None) -> dict[str, Any] | None:
    """What to give: the text that the goal names, and what an action is nothing without."""
    kept = {name: value for name, value in given.items() if name in _GIVEN}
    text = given.get("text")
    if verb == "type":
        kept = {"text": text} if isinstance(text, str) and contains_value(goal or "", text.strip()) else {}
    return kept if kept and not any(_REDACTED in str(value) for value in kept.values()) else None


def _called(name: str) -> str:
    return fold(name.strip())


def as_words(verb: str, target: Target, given: Mapping[str, Any]) -> str:
    """An action as one would say it."""
    place = target.get("name") or target.get("testId") or target.get("selector") or ""
    given_name = {"press": "key", "navigate": "url", "select": "value"}.get(verb, "")
    value = str(given.get(given_name, ""))
    return " ".join(filter(None, (verb, "" if _REDACTED in value else value, place)))

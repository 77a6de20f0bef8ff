"""How to do again what was done before: where its target is on the page now, and what the goal gives to it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.flows.model import Hint, Observation, Target
from recollect.text import fold

NOT_SEEN = 0.5  # a selector may still lead somewhere, when what it led to had a name that is not there now
_WITHOUT_TARGET = ("navigate", "press", "switch_tab", "close_tab")
_GIVEN = ("key", "url", "value", "label", "index", "title")
_REDACTED = "[redacted"


@dataclass(frozen=True, slots=True)
class Page:
    """What can be acted on now."""

    test_ids: frozenset[str]
    named: Mapping[str, tuple[Mapping[str, Any], ...]]  # the nodes of each name, case aside

    @classmethod
    def of(cls, seen: Observation) -> "Page":
        """The page that was seen."""
        named: dict[str, tuple[Mapping[str, Any], ...]] = {}
        for node in seen.a11y:
            if node.get("name"):
                name = fold(str(node["name"]).strip())
                named[name] = (*named.get(name, ()), node)
        own = (str(node["testId"]) for node in seen.a11y if node.get("testId"))
        return cls(frozenset((*seen.visible_test_ids, *own)), named)

    @property
    def is_blank(self) -> bool:
        """Whether nobody looked."""
        return not self.test_ids and not self.named

    def may_have(self, name: str) -> bool:
        """Whether something of that name is there, as far as anybody can tell."""
        return self.is_blank or fold(name.strip()) in self.named

    def node(self, target: Target) -> Mapping[str, Any] | None:
        """The node of that name, and of that role if there is one."""
        found = self.named.get(fold(target.get("name", "").strip()), ())
        same = (node for node in found if node.get("role") == target.get("role"))
        return next(same, found[0] if found else None)


def how_possible(verb: str, target: Target, page: Page) -> float:
    """Whether an action can be done now: 1 if its target is there, 0 if not, between if nobody can tell."""
    if not {"testId", "selector", "name"} & set(target):
        return 1.0 if verb in _WITHOUT_TARGET else 0.0
    if page.is_blank or target.get("testId") in page.test_ids or page.node(target) is not None:
        return 1.0
    if "selector" not in target:
        return 0.0
    return NOT_SEEN if "name" in target or "testId" in target else 1.0


def hints(target: Target, page: Page) -> tuple[Hint, ...]:
    """The ways to a target, best first: its test id if that is visible, its selector, its role and name if present."""
    node = page.node(target) if not page.is_blank else None
    found = []
    test_id = target.get("testId") or (node or {}).get("testId")
    if test_id and (page.is_blank or test_id in page.test_ids):
        found.append(Hint("testId", str(test_id)))
    if "selector" in target:
        found.append(Hint("selector", target["selector"]))
    if node is not None:
        found.append(Hint("a11yHint", {"role": str(node["role"]), "name": str(node["name"])}))
    elif page.is_blank and target.get("name"):
        found.append(Hint("a11yHint", {"role": target.get("role", ""), "name": target["name"]}))
    return tuple(found)


def offered_input(verb: str, given: Mapping[str, Any], goal: str | None) -> dict[str, Any] | None:
    """What to give: the text that the goal names, and what an action is nothing without."""
    kept = {name: value for name, value in given.items() if name in _GIVEN}
    text = given.get("text")
    if verb == "type":
        kept = (
            {"text": text} if isinstance(text, str) and text.strip() and fold(text.strip()) in fold(goal or "") else {}
        )
    return kept if kept and not any(_REDACTED in str(value) for value in kept.values()) else None


def as_words(verb: str, target: Target, given: Mapping[str, Any]) -> str:
    """An action as one would say it."""
    place = target.get("name") or target.get("testId") or target.get("selector") or ""
    given_name = {"press": "key", "navigate": "url", "select": "value"}.get(verb, "")
    value = str(given.get(given_name, ""))
    return " ".join(filter(None, (verb, "" if _REDACTED in value else value, place)))

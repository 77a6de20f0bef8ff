"""What can be done again: the actions that worked, how each finds its element, and what it puts in. Pure."""

from collections.abc import Iterable
from typing import Any

from athand.flows.actions import ACTIONS
from athand.flows.model import Observation, Step

_WAYS = ("selector", "testId", "role")  # of a ref, which is given a selector only where nothing else tells it apart
_GIVEN = {"type": ("text",), "press": ("key",), "select": ("value", "label"), "navigate": ("url",)}
_MASKED = "[redacted:"


def actions_of(steps: Iterable[Step], start: int = 1) -> list[Step]:
    """The actions that went well, from a position on."""
    return [step for step in steps if step.ok and step.verb in ACTIONS and step.position >= start]


def ways(step: Step) -> list[dict[str, str]]:
    """How the element of a step can be found: by what was used, then by what else meant it alone; never by a ref."""
    target = step.target
    kinds = _WAYS if "a11yRef" in target else [key for key in target if key in _WAYS]
    used = next(iter(target), "")
    found = [_way(target, kind) for kind in kinds if target.get(kind) and (kind != "role" or target.get("name"))]
    return [way for way in found if used in way or count(way, step.before) <= 1]


def _way(target: Any, kind: str) -> dict[str, str]:
    return {"role": target["role"], "name": target["name"]} if kind == "role" else {kind: target[kind]}


def count(way: dict[str, str], seen: Observation | None) -> int:
    """How many visible elements a test id, or a role and name, mean; a selector is not asked."""
    if seen is None or "selector" in way:
        return 0
    if "testId" in way:
        visible = (each for each in seen.test_ids if each.get("visible", True))
        return sum(each["testId"] == way["testId"] for each in visible)
    return sum(node.get("role") == way["role"] and node.get("name") == way["name"] for node in seen.a11y)


def given(step: Step) -> tuple[str, str] | None:
    """The name and value of what an action puts in: text, key, choice or address."""
    found = ((name, step.input[name]) for name in _GIVEN.get(step.verb, ()) if step.input.get(name) is not None)
    return next(((name, str(value)) for name, value in found), None)


def is_masked(value: str) -> bool:
    """Whether a part of a value was secret and is not known."""
    return _MASKED in value


def place_of(step: Step) -> str:
    """What the element of a step is called, for people."""
    target = step.target
    name = f'{target.get("role") or "element"} "{target["name"]}"' if target.get("name") else ""
    return name or target.get("testId") or target.get("selector") or ""


def in_words(step: Step) -> str:
    """A step for people, without what was typed."""
    value = given(step) if step.verb in ("press", "navigate") else None
    return " ".join(filter(None, (step.verb.replace("_", " "), value[1] if value else "", place_of(step))))

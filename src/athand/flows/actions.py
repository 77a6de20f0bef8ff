"""Recorded actions: what a tool does, the key and labels of an action, and how its element is located again. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from athand.flows.model import Observation, Step, Target
from athand.text import text_hash

# Verbs that change the page: what may be suggested, replayed and exported.
ACTIONS = ("click", "type", "press", "select", "hover", "navigate", "back", "forward", "switch_tab", "close_tab")
INPUT_VERBS = ("type", "press", "select")  # those that give a page something
READ_VERBS = ("describe_screen", "list_testids", "accessibility_snapshot", "get_state", "screenshot", "wait_for")
LIFECYCLE_VERBS = ("launch", "cleanup", "run_steps")
KNOWLEDGE_VERBS = ("knowledge_search", "knowledge_last", "knowledge_sessions", "knowledge_summarize")
VERBS = (*ACTIONS, *READ_VERBS, *LIFECYCLE_VERBS, *KNOWLEDGE_VERBS)
_BY_LENGTH = sorted(VERBS, key=len, reverse=True)
_MAX_KEY = 300  # characters; PostgreSQL limits the size of an index entry
_CONFIRMATION_WORDS = ("confirm", "approve", "submit", "sign", "accept", "save", "continue", "agree")
_LOCATOR_KINDS = ("selector", "testId", "role")  # a ref gets a selector only where nothing else identifies it
_INPUT_NAMES = {"type": ("text",), "press": ("key",), "select": ("value", "label"), "navigate": ("url",)}
_REDACTED = "[redacted:"
# The input that belongs to the action itself; typed text does not.
IDENTIFYING_INPUTS = {"press": "key", "navigate": "url", "select": "value"}

Locator = dict[str, str]  # {"testId"}, {"selector"}, or {"role", "name"}


def verb_of(tool: str, prefix: str = "") -> str:
    """The verb of a tool name without its prefix: `mm_click` is `click`; an unknown name is its own verb."""
    name = tool.removeprefix(prefix) if prefix else tool
    return next((verb for verb in _BY_LENGTH if name == verb or name.endswith(f"_{verb}")), name)


def resolve_target(target: Target, seen: Observation | None) -> dict[str, str]:
    """The target with the role and name its element has in the observation, if the element is found there."""
    node = find_node(target, seen)
    if node is None or not node.get("name") or target.get("name"):
        return dict(target)
    return {**target, "role": str(node["role"]), "name": str(node["name"])}


def find_node(target: Target, seen: Observation | None) -> Mapping[str, Any] | None:
    """The accessibility node of a target: by its ref, its test id, or its role and name."""
    nodes = seen.a11y if seen is not None else ()
    for key, own in (("a11yRef", "ref"), ("testId", "testId")):
        if key in target:
            return next((node for node in nodes if node.get(own) == target[key]), None)
    named = (
        node for node in nodes if node.get("role") == target.get("role") and node.get("name") == target.get("name")
    )
    return next(named, None) if "role" in target else None


def action_key(verb: str, target: Target, input: Mapping[str, Any]) -> str:
    """Equality key of an action: verb, element, and the key, URL or option it was given; empty for other verbs.

    A ref is valid for one snapshot only and is not part of the key; neither is typed text.
    """
    if verb not in ACTIONS:
        return ""
    if "testId" in target:
        element = f"testId={target['testId']}"
    elif "selector" in target:
        element = f"selector={target['selector']}"
    elif "name" in target:
        element = json.dumps([target.get("role"), target["name"]], ensure_ascii=False)
    else:
        element = ""
    name = IDENTIFYING_INPUTS.get(verb)
    key = f"{verb} {element} {input.get(name, '') if name else ''}".strip()
    return key if len(key) <= _MAX_KEY else f"{key[:_MAX_KEY]}…{text_hash(key).hex()[:16]}"


def labels_of(verb: str, target: Target, *, after_failure: bool) -> tuple[str, ...]:
    """The labels of a step; an action right after a failed one is also labelled as error recovery."""
    if verb in ("navigate", "back", "forward", "switch_tab", "close_tab", "launch", "cleanup"):
        labels = ["navigation"]
    elif verb in ACTIONS:
        words = " ".join((target.get("testId", ""), target.get("name", ""))).lower()
        labels = ["interaction", *(["confirmation"] if any(word in words for word in _CONFIRMATION_WORDS) else [])]
    else:
        labels = ["discovery"]
    return (*labels, "error-recovery") if after_failure and verb in ACTIONS else tuple(labels)


def successful_actions(steps: Iterable[Step], start: int = 1) -> list[Step]:
    """The actions among these steps that succeeded, from a position on."""
    return [step for step in steps if step.ok and step.verb in ACTIONS and step.position >= start]


def locators(step: Step) -> list[Locator]:
    """Locators of a step's element: the one that was used first, then those that match no other element; no refs."""
    target = step.target
    kinds = _LOCATOR_KINDS if "a11yRef" in target else [key for key in target if key in _LOCATOR_KINDS]
    used = next(iter(target), "")
    found = [_locator(target, kind) for kind in kinds if target.get(kind) and (kind != "role" or target.get("name"))]
    return [locator for locator in found if used in locator or count_matches(locator, step.before) <= 1]


def _locator(target: Target, kind: str) -> Locator:
    return {"role": target["role"], "name": target["name"]} if kind == "role" else {kind: target[kind]}


def count_matches(locator: Locator, seen: Observation | None) -> int:
    """How many visible elements a test id, or a role and name, match; 0 for a selector, which is not evaluated."""
    if seen is None or "selector" in locator:
        return 0
    if "testId" in locator:
        visible = (each for each in seen.test_ids if each.get("visible", True))
        return sum(each["testId"] == locator["testId"] for each in visible)
    return sum(node.get("role") == locator["role"] and node.get("name") == locator["name"] for node in seen.a11y)


def input_value(step: Step) -> tuple[str, str] | None:
    """Name and value of what an action enters: its text, key, option or URL."""
    found = ((name, step.input[name]) for name in _INPUT_NAMES.get(step.verb, ()) if step.input.get(name) is not None)
    return next(((name, str(value)) for name, value in found), None)


def is_redacted(value: str) -> bool:
    """Whether a part of a value was secret and has been redacted."""
    return _REDACTED in value

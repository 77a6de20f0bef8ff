"""Tools by what they do, and what an action on a target is called, so that two that are the same are seen to be."""

import json
from collections.abc import Mapping
from typing import Any

from athand.flows.model import Observation, Target
from athand.text import text_hash

# What changes the page, and so may be suggested, replayed and exported.
ACTIONS = ("click", "type", "press", "select", "navigate", "switch_tab", "close_tab")
LOOKS = ("describe_screen", "list_testids", "accessibility_snapshot", "get_state", "screenshot", "wait_for")
LIFE = ("launch", "cleanup", "run_steps")
KNOWLEDGE = ("knowledge_search", "knowledge_last", "knowledge_sessions", "knowledge_summarize")
VERBS = (*ACTIONS, *LOOKS, *LIFE, *KNOWLEDGE)
_BY_LENGTH = sorted(VERBS, key=len, reverse=True)
_LONGEST_KEY = 300  # an index of PostgreSQL holds no long texts
_CONFIRMS = ("confirm", "approve", "submit", "sign", "accept", "save", "continue", "agree")


def verb_of(tool: str, prefix: str = "") -> str:
    """What a tool does, whatever prefix its name has: `mm_click` is a click; an unknown one keeps its name."""
    name = tool.removeprefix(prefix) if prefix else tool
    return next((verb for verb in _BY_LENGTH if name == verb or name.endswith(f"_{verb}")), name)


def resolved(target: Target, seen: Observation | None) -> dict[str, str]:
    """The target with the role and name it had at that moment, where they can be told."""
    node = node_of(target, seen)
    if node is None or not node.get("name") or target.get("name"):
        return dict(target)
    return {**target, "role": str(node["role"]), "name": str(node["name"])}


def node_of(target: Target, seen: Observation | None) -> Mapping[str, Any] | None:
    """The accessibility node that a target means: by its ref, its test id, or its role and name."""
    nodes = seen.a11y if seen is not None else ()
    for key, own in (("a11yRef", "ref"), ("testId", "testId")):
        if key in target:
            return next((node for node in nodes if node.get(own) == target[key]), None)
    named = (
        node for node in nodes if node.get("role") == target.get("role") and node.get("name") == target.get("name")
    )
    return next(named, None) if "role" in target else None


def action_key(verb: str, target: Target, given: Mapping[str, Any]) -> str:
    """The same for the same action on the same target; empty for what is no action.

    A ref lives for one snapshot only and is no identity; what is typed is not part of it, what is pressed is.
    """
    if verb not in ACTIONS:
        return ""
    if "testId" in target:
        place = f"testId={target['testId']}"
    elif "selector" in target:
        place = f"selector={target['selector']}"
    elif "name" in target:
        place = json.dumps([target.get("role"), target["name"]], ensure_ascii=False)
    else:
        place = ""
    more = {"press": "key", "navigate": "url", "select": "value"}.get(verb)
    key = f"{verb} {place} {given.get(more, '') if more else ''}".strip()
    return key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…{text_hash(key).hex()[:16]}"


def labels_of(verb: str, target: Target, *, after_failure: bool) -> tuple[str, ...]:
    """What kind of step it is; after one that failed it may also be the way out."""
    if verb in ("navigate", "switch_tab", "close_tab", "launch", "cleanup"):
        kinds = ["navigation"]
    elif verb in ACTIONS:
        words = " ".join((target.get("testId", ""), target.get("name", ""))).lower()
        kinds = ["interaction", *(["confirmation"] if any(word in words for word in _CONFIRMS) else [])]
    else:
        kinds = ["discovery"]
    return (*kinds, "error-recovery") if after_failure and verb in ACTIONS else tuple(kinds)

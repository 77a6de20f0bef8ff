"""The folder layout of recorded sessions: `<session>/session.json` and `steps/*.json`, as nouns and back. Pure.

Folders written by others may hold, with an action, what was seen after it. Ours say that it was seen before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from athand.errors import BadData, InvalidInput
from athand.flows.actions import ACTIONS, node_of, verb_of
from athand.flows.entry import (
    check_error,
    check_mapping,
    check_number,
    check_observation,
    check_path,
    check_target,
    check_tool,
    plain_mapping,
)
from athand.flows.model import SCHEMA, TARGETS, FlowSession, Observation, Step
from athand.flows.recording import Call
from athand.flows.sessions import Begun
from athand.inputs import check_name, check_past
from athand.types import plain

_BEFORE = "before"


def session_to_json(session: FlowSession) -> dict[str, Any]:
    """A session as its file has it."""
    return {
        "schemaVersion": SCHEMA,
        "sessionId": session.id,
        "createdAt": session.created_at.isoformat(),
        "goal": session.goal,
        "flowTags": list(session.flow_tags),
        "tags": list(session.tags),
        "git": plain(session.git),
        "app": session.app,
        "appVersion": session.app_version,
        "launch": plain(session.launch),
        "hasMetadata": session.has_metadata,
    }


def session_from_json(raw: Mapping[str, Any], name: str, app: str, now: datetime) -> FlowSession:
    """A session from its file; its folder names it where the file does not."""
    checked_schema(raw)
    begun = Begun(
        goal=raw.get("goal") or None,
        flow_tags=raw.get("flowTags") or (),
        tags=raw.get("tags") or (),
        app=raw.get("app") or app,
        app_version=raw.get("appVersion"),
        git=raw.get("git"),
        launch=raw.get("launch") if isinstance(raw.get("launch"), Mapping) else None,
        id=raw.get("sessionId") or name,
        created_at=raw.get("createdAt"),
    )
    return replace(begun.checked(now), has_metadata=raw.get("hasMetadata", True) is not False)


def checked_schema(raw: Mapping[str, Any]) -> None:
    """Refuses what a newer program wrote."""
    version = raw.get("schemaVersion", SCHEMA)
    if not isinstance(version, int) or version > SCHEMA:
        raise BadData(f"it has schemaVersion {version!r}, and {SCHEMA} is known. Upgrade Athand")


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as its file has it."""
    seen = step.before or Observation()
    return {
        "schemaVersion": SCHEMA,
        "timestamp": step.timestamp.isoformat(),
        "sessionId": step.session_id,
        "tool": {"name": step.tool, "input": plain(step.input), "target": plain(step.target)},
        "timing": {"durationMs": step.duration_ms},
        "outcome": {"ok": step.ok, **({"error": plain(step.error)} if step.error else {})},
        "observation": {
            "moment": _BEFORE if step.before is not None else None,
            "state": {"currentScreen": step.screen, "currentUrl": seen.url},
            "testIds": plain(seen.test_ids),
            "a11y": {"nodes": plain(seen.a11y)},
            **({"priorKnowledge": plain(step.prior_knowledge)} if step.prior_knowledge else {}),
        },
        "afterScreen": step.after_screen,
        "labels": list(step.labels),
        **({"screenshot": {"path": step.screenshot}} if step.screenshot else {}),
    }


def calls_from_json(raw_steps: Sequence[Mapping[str, Any]], now: datetime) -> list[Call]:
    """The calls of a session, in order. What was seen after an action is what was seen before the next."""
    calls = [_call(raw, now) for raw in raw_steps]
    if any(_part(raw, "observation").get("moment") == _BEFORE for raw in raw_steps) or not _saw_after(calls):
        return calls
    moved = [calls[0], *(replace(call, before=prior.before) for prior, call in pairwise(calls))]
    return [
        replace(new, after_screen=old.before.screen if old.before else None) if verb_of(old.tool) in ACTIONS else old
        for old, new in zip(calls, moved, strict=True)
    ]


def _saw_after(calls: Sequence[Call]) -> bool:
    """Whether more targets are found in what was recorded with the call before than in their own."""
    votes = 0
    for prior, call in pairwise(calls):
        if verb_of(call.tool) in ACTIONS and call.target:
            votes += _has(prior.before, call.target) - _has(call.before, call.target)
    return votes > 0


def _has(seen: Observation | None, target: Mapping[str, str]) -> bool:
    listed = seen is not None and target.get("testId") in seen.visible_test_ids
    return listed or node_of(target, seen) is not None


def _call(raw: Mapping[str, Any], now: datetime) -> Call:
    """A call from the file of its step."""
    checked_schema(raw)
    tool, outcome, seen = _part(raw, "tool"), _part(raw, "outcome"), _part(raw, "observation")
    ok = outcome.get("ok", True) is not False
    knowledge = seen.get("priorKnowledge")
    target = {key: value for key, value in _part(tool, "target").items() if key in TARGETS}
    after, picture = raw.get("afterScreen"), _part(raw, "screenshot").get("path")
    if "timestamp" not in raw:
        raise BadData("it has no timestamp")
    return Call(
        tool=check_tool(tool.get("name")),
        target=check_target(target),
        input=plain_mapping("input", _part(tool, "input")),
        error=check_error(None if ok else _part(outcome, "error"), ok=ok),
        before=_observation(seen),
        after_screen=None if after is None else check_name("afterScreen", after),
        screenshot=None if picture is None else check_path("screenshot", picture),
        duration_ms=check_number("durationMs", _part(raw, "timing").get("durationMs")),
        prior_knowledge=plain_mapping("priorKnowledge", knowledge) if isinstance(knowledge, Mapping) else None,
        timestamp=check_past("timestamp", raw["timestamp"], now),
    )


def _observation(seen: Mapping[str, Any]) -> Observation | None:
    """What was seen; nothing where our own file says that nothing was."""
    if not seen or ("moment" in seen and seen["moment"] is None):
        return None
    state = _part(seen, "state")
    url = state.get("currentUrl") or state.get("url") or ""
    nodes = _list(_part(seen, "a11y"), "nodes")
    named = [{"name": "", **node} if isinstance(node, Mapping) else node for node in nodes]
    return check_observation(
        Observation(state.get("currentScreen") or None, url, tuple(_list(seen, "testIds")), tuple(named))
    )


def _list(raw: Mapping[str, Any], name: str) -> list[Any]:
    """A part of a file that should be a list; one that is not there is empty."""
    found = raw.get(name) or []
    if not isinstance(found, list):
        raise BadData(f"{name} must be a list, not {type(found).__name__}.")
    return found


def _part(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A part of a file that should be an object; one that is not there is empty."""
    try:
        return check_mapping(name, raw.get(name))
    except InvalidInput as error:
        raise BadData(str(error)) from error

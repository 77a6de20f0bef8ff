"""What is matched of a step: what it did and saw, and what its session was for."""

from collections.abc import Iterable

from athand.flows.model import UNKNOWN, FlowSession, Observation, Step
from athand.store import Passage, to_microseconds

_MOST_SEEN = 4_000  # characters of all that was visible


def to_passage(session: FlowSession, step: Step) -> Passage:
    """The passage of a step. All steps of a session mean the same: what the session was for."""
    fields = _fields(session, step)
    return Passage(
        id=step.id,
        item_id=session.id,
        space=session.app,
        fields=fields,
        text=purpose(session.goal, session.flow_tags, session.tags) or " ".join(filter(None, fields[:3])),
        created_at=to_microseconds(step.timestamp),
    )


def purpose(goal: str | None, flow_tags: Iterable[str], tags: Iterable[str]) -> str:
    """All that a session says about what it is for."""
    return ". ".join(filter(None, (goal, *flow_tags, *tags)))


def _fields(session: FlowSession, step: Step) -> tuple[str, ...]:
    seen = step.before or Observation()
    return (
        step.verb,
        "" if step.screen == UNKNOWN else step.screen,
        " ".join(step.target.get(key, "") for key in ("testId", "selector", "name")).strip(),
        " ".join(step.labels),
        _joined(seen.visible_test_ids),
        _joined(dict.fromkeys(str(node.get("name") or "") for node in seen.a11y)),
        session.goal or "",
        " ".join(session.flow_tags),
        " ".join(session.tags),
        str((session.git or {}).get("branch") or ""),
    )


def _joined(names: Iterable[str]) -> str:
    return " ".join(names)[:_MOST_SEEN].strip()

"""What was kept before anybody knew that it was secret: taken out of a session as soon as it is known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from athand.flows import records
from athand.flows.actions import action_key
from athand.flows.desk import Desk
from athand.flows.model import UNKNOWN, FlowSession, Observation, Step
from athand.flows.scoring import INDEX
from athand.store import Transaction, to_microseconds

_OF_SESSION = ("goal", "flow_tags", "tags", "git", "app_version", "launch")
_OF_STEP = ("input", "target", "error", "after_screen", "screenshot", "prior_knowledge")


def told(step: Any, safe: Callable[[Any], Any]) -> dict[str, Any]:
    """All that a step, or the call that makes one, tells beside what was seen, made safe."""
    parts: dict[str, Any] = safe({name: getattr(step, name) for name in _OF_STEP})
    return parts


def shown(seen: Observation | None, safe: Callable[[Any], Any]) -> Observation | None:
    """What was seen, made safe."""
    if seen is None:
        return None
    return Observation(**safe({each.name: getattr(seen, each.name) for each in fields(seen)}))


def without_typed(desk: Desk, session: FlowSession) -> FlowSession:
    """A session that says nothing of what was typed into its secret fields."""
    return replace(session, **desk.typed.without(session.id, {name: getattr(session, name) for name in _OF_SESSION}))


def steps_without_typed(desk: Desk, session_id: str, steps: Sequence[Step]) -> list[Step]:
    """Steps that say nothing of what was typed into secret fields, whenever that was."""
    safe = partial(desk.typed.without, session_id)
    pages = {id(step.before): step.before for step in steps}  # most steps of a session see the same few
    looks = {page: shown(seen, safe) for page, seen in pages.items()}
    return [_step(step, looks[id(step.before)], safe) for step in steps]


def _step(step: Step, seen: Observation | None, safe: Callable[[Any], Any]) -> Step:
    return replace(step, before=seen, screen=(seen.screen if seen else None) or UNKNOWN, **told(step, safe))


def retell(desk: Desk, transaction: Transaction, session_id: str) -> bool:
    """Take what is known to be secret by now out of all that was kept of a session; whether there was any."""
    session = records.get_session(transaction, session_id)
    steps = records.steps_of(transaction, session)
    safe_session, safe_steps = without_typed(desk, session), steps_without_typed(desk, session.id, steps)
    if safe_session == session and safe_steps == steps:
        return False
    before = records.passages(transaction, [session.id])
    _update(transaction, "flows", records.session_row(safe_session, to_microseconds(desk.now())))
    _update_steps(transaction, safe_steps)
    transaction.remove(INDEX, session.app, [session.id])
    for passage in before:
        transaction.forget(INDEX, passage)
    after = records.passages(transaction, [session.id])
    transaction.put(INDEX, after, desk.embed(after, transaction))
    return True


def _update_steps(transaction: Transaction, steps: Sequence[Step]) -> None:
    for step, action, previous in _in_order(steps):
        if step.before is not None:
            row = records.observation_row(step.app, step.before)
            records.insert(transaction, "flow_observations", row, if_new=True)
        _update(transaction, "flow_steps", records.step_row(step, action, previous))
    for app in {step.app for step in steps}:
        records.drop_unseen(transaction, app)


def _in_order(steps: Sequence[Step]) -> Iterator[tuple[Step, str, str]]:
    """Each step with its action, and the last before it that went well."""
    previous = ""
    for step in steps:
        action = action_key(step.verb, step.target, step.input)
        yield step, action, previous
        previous = action if action and step.ok else previous


def _update(transaction: Transaction, table: str, row: dict[str, Any]) -> None:
    values = ", ".join(f"{name} = :{name}" for name in row if name not in ("space", "id"))
    transaction.execute(f"UPDATE {table} SET {values} WHERE space = :space AND id = :id", row)

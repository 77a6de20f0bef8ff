"""Keeping a step: what it did, what was seen before it, and nothing that was secret. Durable when it returns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.flows import records
from recollect.flows.actions import action_key, labels_of, resolved, verb_of
from recollect.flows.desk import Desk
from recollect.flows.model import TARGETS, UNKNOWN, FlowSession, Observation, Step
from recollect.flows.passages import to_passage
from recollect.flows.profiles import Profile
from recollect.flows.scoring import INDEX
from recollect.flows.screens import detect
from recollect.flows.secrets import MASK, cleaned, is_secret
from recollect.store import Transaction, new_id, to_microseconds

_TYPED = ("text", "value", "key")
_STEP_IN_BATCH = ("tool", "action", "args", "input", "target")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool as it was recorded, checked."""

    tool: str
    target: Mapping[str, str]
    input: Mapping[str, Any]
    error: Mapping[str, Any] | None
    before: Observation | None
    after_screen: str | None = None
    screenshot: str | None = None
    duration_ms: float | None = None
    prior_knowledge: Mapping[str, Any] | None = None
    timestamp: datetime | None = None


def record(desk: Desk, session_id: str, call: Call) -> Step:
    """Keep a step as the last of its session."""
    with desk.store.snapshot() as snapshot:
        session = records.get_session(snapshot, session_id)
    step = prepare(desk, session, call)
    goal = desk.typed.without(session.id, session.goal)
    is_told = goal != session.goal
    vectors = desk.embed([to_passage(replace(session, goal=goal), step)])
    with desk.store.transaction(spaces=(session.app,)) as transaction:
        if is_told:
            reword(desk, transaction, session, goal)
        session = records.get_session(transaction, session.id)
        step = write(transaction, step, desk.now())
        transaction.put(INDEX, [to_passage(session, step)], vectors)
    if is_told:
        desk.store.erase_traces()
    return step


def prepare(desk: Desk, session: FlowSession, call: Call) -> Step:
    """The step that a call makes, without its secrets; not kept yet."""
    profile = desk.profiles.get(session.app)
    return _step(session, _without_secrets(desk, session.id, _seen(call, profile), profile), profile, desk.now())


def write(transaction: Transaction, step: Step, now: datetime) -> Step:
    """Write a step as the next of its session."""
    last, previous, after_failure = _before(transaction, step)
    labels = labels_of(step.verb, step.target, after_failure=after_failure)
    step = replace(step, position=last + 1, labels=step.labels or labels)
    if step.before is not None:
        records.insert(transaction, "flow_observations", records.observation_row(step.app, step.before), if_new=True)
    key = action_key(step.verb, step.target, step.input)
    records.insert(transaction, "flow_steps", records.step_row(step, key, previous))
    transaction.execute(
        "UPDATE flows SET steps = steps + 1, updated_at = :now WHERE space = :space AND id = :id",
        {"space": step.app, "id": step.session_id, "now": to_microseconds(now)},
    )
    return step


def reword(desk: Desk, transaction: Transaction, session: FlowSession, goal: str | None) -> None:
    """Give a session another goal, in its passages too."""
    before = records.passages(transaction, [session.id])
    transaction.execute(
        "UPDATE flows SET goal = :goal, updated_at = :now WHERE space = :space AND id = :id",
        {"goal": goal, "now": to_microseconds(desk.now()), "space": session.app, "id": session.id},
    )
    transaction.remove(INDEX, session.app, [session.id])
    for passage in before:
        transaction.forget(INDEX, passage)
    after = records.passages(transaction, [session.id])
    transaction.put(INDEX, after, desk.embed(after, transaction))


def _before(transaction: Transaction, step: Step) -> tuple[int, str, bool]:
    """The last position in the session, the last action that went well, and whether the last action failed."""
    values = {"space": step.app, "session": step.session_id}
    own = "FROM flow_steps WHERE space = :space AND session = :session"
    last = transaction.rows(f"SELECT coalesce(max(position), 0) {own}", values)[0][0]
    actions = transaction.rows(
        f"SELECT action, is_ok {own} AND action <> '' ORDER BY position DESC LIMIT 50",
        values,
    )
    previous = next((action for action, is_ok in actions if is_ok), "")
    return int(last), previous, bool(actions and not actions[0][1])


def located(seen: Observation, profile: Profile) -> Observation:
    """The observation with its screen: as it was said, or worked out."""
    if seen.screen is not None:
        return seen
    return replace(seen, screen=detect(seen.url, seen.visible_test_ids, seen.a11y, profile))


def _seen(call: Call, profile: Profile) -> Call:
    """The call with the screen it was made on, and the role and name that its target had there."""
    seen = None if call.before is None else located(call.before, profile)
    return replace(call, before=seen, target=resolved(call.target, seen))


def _without_secrets(desk: Desk, session_id: str, call: Call, profile: Profile) -> Call:
    """The call without what was typed into secret fields, now or before, wherever it is echoed."""
    hidden = _masked(desk, session_id, call, call.input, call.target, profile)

    def safe(value: Any) -> Any:
        return cleaned(desk.typed.without(session_id, value), profile.secret_fields)

    seen = call.before
    if seen is not None:
        seen = Observation(safe(seen.screen), safe(seen.url), tuple(safe(seen.test_ids)), tuple(safe(seen.a11y)))
    return replace(
        call,
        input=safe(hidden),
        target=safe(call.target),
        error=safe(call.error),
        before=seen,
        after_screen=safe(call.after_screen),
        prior_knowledge=safe(call.prior_knowledge),
    )


def _masked(
    desk: Desk, session_id: str, call: Call, given: Mapping[str, Any], target: Mapping[str, str], profile: Profile
) -> dict[str, Any]:
    """What was given, without texts for secret fields; also in the steps of a batch."""
    hides = is_secret(target, call.before, given, profile)
    masked: dict[str, Any] = {}
    for name, value in given.items():
        if hides and name in _TYPED and _is_typed(name, value):
            desk.typed.remember(session_id, str(value))
            masked[name] = MASK
        elif isinstance(value, Mapping):
            masked[name] = _masked(desk, session_id, call, value, {**target, **_target_in(value)}, profile)
        elif isinstance(value, (list, tuple)):
            masked[name] = [
                _masked(desk, session_id, call, each, _target_in(each), profile) if isinstance(each, Mapping) else each
                for each in value
            ]
        else:
            masked[name] = value
    return masked


def _is_typed(name: str, value: Any) -> bool:
    """Whether this is text that was typed: a key with a name, such as Enter, is none."""
    return isinstance(value, (str, int, float)) and (name != "key" or len(str(value)) == 1)


def _target_in(value: Mapping[str, Any]) -> dict[str, str]:
    """The target that one step of a batch names."""
    found = {key: each for key, each in value.items() if key in TARGETS and isinstance(each, str)}
    inner = (value[key] for key in _STEP_IN_BATCH if isinstance(value.get(key), Mapping))
    return {**found, **{key: each for part in inner for key, each in _target_in(part).items()}}


def _step(session: FlowSession, call: Call, profile: Profile, now: datetime) -> Step:
    return Step(
        id=new_id(call.timestamp or now),
        session_id=session.id,
        app=session.app,
        position=0,
        timestamp=call.timestamp or now,
        tool=call.tool,
        verb=verb_of(call.tool, profile.prefix),
        input=call.input,
        target=call.target,
        ok=call.error is None,
        error=call.error,
        labels=(),
        screen=(call.before.screen if call.before else None) or UNKNOWN,
        before=call.before,
        after_screen=call.after_screen,
        screenshot=call.screenshot,
        duration_ms=call.duration_ms,
        prior_knowledge=call.prior_knowledge,
    )

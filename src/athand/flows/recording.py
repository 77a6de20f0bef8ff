"""Keeping a step: what it did, what was seen before it, and nothing that was secret. Durable when it returns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from athand.flows import records, retelling
from athand.flows.actions import action_key, labels_of, resolved, verb_of
from athand.flows.desk import Desk
from athand.flows.entry import NAMES
from athand.flows.model import TARGETS, UNKNOWN, FlowSession, Observation, Step
from athand.flows.passages import to_passage
from athand.flows.profiles import Profile
from athand.flows.scoring import INDEX
from athand.flows.screens import detect
from athand.flows.secrets import MASK, cleaned, is_secret, is_seen, names_secret, steers, written
from athand.store import Transaction, new_id, to_microseconds

_TYPED = ("text", "value", "key", "label", "texts", "values", "keys")
_KEYS = ("key", "keys")
_TYPING = ("type", "press", "select")
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
    known = desk.typed.known(session.id)
    step = prepare(desk, session, call)
    has_learned = desk.typed.known(session.id) != known
    vectors = desk.embed([to_passage(retelling.without_typed(desk, session), step)])
    with desk.store.transaction(spaces=(session.app,)) as transaction:
        is_retold = has_learned and retelling.retell(desk, transaction, session.id)
        session = records.get_session(transaction, session.id)
        step = write(transaction, step, desk.now())
        transaction.put(INDEX, [to_passage(session, step)], vectors)
    if is_retold:
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
    for shown in written(call.before, profile) if call.before else ():
        desk.typed.remember(session_id, shown)
    hidden = _Masking(desk, session_id, call.before, profile, is_unsure=_is_unsure(call, profile))
    call = replace(call, input=hidden.masked(call.input, call.target))

    def safe(value: Any) -> Any:
        return cleaned(desk.typed.without(session_id, value), profile.secret_fields)

    return replace(call, before=retelling.shown(call.before, safe), **retelling.told(call, safe))


@dataclass(frozen=True, slots=True)
class _Masking:
    """Takes what was typed into secret fields out of what was given to a tool, and remembers it."""

    desk: Desk
    session_id: str
    before: Observation | None
    profile: Profile
    is_unsure: bool  # whether anything that was typed may have been meant for a secret field

    def masked(self, given: Mapping[str, Any], target: Mapping[str, str], *, hides: bool = False) -> dict[str, Any]:
        """What was given, without texts for secret fields; also in the steps of a batch."""
        hides = hides or given.get("secret") is True
        is_field = hides or is_secret(target, self.before, given, self.profile)
        return {name: self._value(name, value, target, is_field, hides) for name, value in given.items()}

    def _value(self, name: str, value: Any, target: Mapping[str, str], is_field: bool, hides: bool) -> Any:
        hides = hides or names_secret(name, self.profile.secret_fields)
        if isinstance(value, Mapping):
            return self.masked(value, {**target, **_target_in(value)}, hides=hides)
        is_typed = name in _TYPED or names_secret(name, self.profile.secret_fields)
        if is_typed and (hides or is_field or self.is_unsure):
            return self._hidden(name, value, is_known=hides or is_field)
        if isinstance(value, (list, tuple)):
            return [
                self.masked(each, _target_in(each), hides=hides) if isinstance(each, Mapping) else each
                for each in value
            ]
        return value

    def _hidden(self, name: str, value: Any, *, is_known: bool) -> Any:
        """A mask for what was typed; keys that write nothing, such as Enter, stay."""
        if isinstance(value, (list, tuple)):
            return [self._hidden(name, each, is_known=is_known) for each in value]
        if value is None or isinstance(value, bool) or (name in _KEYS and steers(str(value))):
            return value
        if is_known:
            remember = self.desk.typed.press if name in _KEYS else self.desk.typed.remember
            remember(self.session_id, str(value))
        return MASK


def _is_unsure(call: Call, profile: Profile) -> bool:
    """Whether nobody can say for which field a text was: it never came to one, or a step of its own tells it."""
    verb = verb_of(call.tool, profile.prefix)
    never_came = verb in _TYPING and call.error is not None and not is_seen(call.target, call.before)
    return verb == "run_steps" or never_came


def _target_in(value: Mapping[str, Any]) -> dict[str, str]:
    """The target that one step of a batch names."""
    named = {NAMES.get(key, key): each for key, each in value.items()}
    found = {key: each for key, each in named.items() if key in TARGETS and isinstance(each, str)}
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

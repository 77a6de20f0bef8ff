"""Records a step without its secrets, and redacts earlier steps once a typed value turns out to be secret."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from typing import Any

from athand.flows import rows
from athand.flows.actions import INPUT_VERBS, action_key, labels_of, resolve_target, verb_of
from athand.flows.context import FlowContext
from athand.flows.model import TARGETS, UNKNOWN, FlowSession, Observation, Step
from athand.flows.origins import origin_of
from athand.flows.profiles import Profile
from athand.flows.rows import to_passage
from athand.flows.scoring import INDEX
from athand.flows.screens import detect_screen
from athand.flows.secrets import (
    MASK,
    clean_value,
    is_control_key,
    is_secret,
    is_secret_name,
    is_target_visible,
    secret_field_values,
)
from athand.flows.validation import TARGET_ALIASES
from athand.store import Transaction, new_id, to_microseconds

Mask = Callable[[Any], Any]  # replaces the secrets in a JSON-like value

_TEXT_INPUTS = ("text", "value", "key", "label", "texts", "values", "keys")
_KEY_INPUTS = ("key", "keys")
_BATCH_STEP_PARTS = ("tool", "action", "args", "input", "target")
_MASKED_IN_SESSION = ("goal", "flow_tags", "tags", "git", "app_version", "launch")
_MASKED_IN_STEP = ("input", "target", "error", "after_screen", "screenshot", "prior_knowledge", "origin", "appeared")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A checked call of a browser tool, as it is to be recorded."""

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
    origin: str = ""  # default: that of the page before
    appeared: tuple[str, ...] = ()


def record_step(context: FlowContext, session_id: str, call: ToolCall) -> Step:
    """Appends a call to its session; durable when it returns."""
    with context.store.snapshot() as snapshot:
        session = context.get_session(snapshot, session_id)
    known = context.typed_secrets.values_of(session.id)
    step = prepare_step(context, session, call)
    has_new_secrets = context.typed_secrets.values_of(session.id) != known
    vectors = context.embed([to_passage(mask_session(context, session), step)])
    with context.store.transaction(spaces=(session.app,)) as transaction:
        is_redacted = has_new_secrets and redact_stored_steps(context, transaction, session.id)
        session = context.get_session(transaction, session.id)
        step = write_step(transaction, step, context.now())
        transaction.put(INDEX, [to_passage(session, step)], vectors)
    if is_redacted:
        context.store.erase_traces()
    return step


def prepare_step(context: FlowContext, session: FlowSession, call: ToolCall) -> Step:
    """The step of a call, with its screen and without its secrets; not written yet."""
    profile = context.app_profiles.get(session.app)
    call = _mask_call(context, session.id, _resolve_call(call, profile), profile)
    return _build_step(session, call, profile, context.now())


def write_step(transaction: Transaction, step: Step, now: datetime) -> Step:
    """Writes a step as the next of its session."""
    last, previous, after_failure = _read_predecessors(transaction, step)
    labels = labels_of(step.verb, step.target, after_failure=after_failure)
    step = replace(step, position=last + 1, labels=step.labels or labels)
    if step.before is not None:
        rows.insert_row(transaction, "flow_observations", rows.observation_row(step.app, step.before), if_new=True)
    key = action_key(step.verb, step.target, step.input)
    rows.insert_row(transaction, "flow_steps", rows.step_row(step, key, previous))
    transaction.execute(
        "UPDATE flows SET steps = steps + 1, updated_at = :now WHERE space = :space AND id = :id",
        {"space": step.app, "id": step.session_id, "now": to_microseconds(now)},
    )
    return step


def _read_predecessors(transaction: Transaction, step: Step) -> tuple[int, str, bool]:
    """The last position in the session, its last successful action, and whether its last action failed."""
    values = {"space": step.app, "session": step.session_id}
    own = "FROM flow_steps WHERE space = :space AND session = :session"
    last = transaction.rows(f"SELECT coalesce(max(position), 0) {own}", values)[0][0]
    actions = transaction.rows(
        f"SELECT action, is_ok {own} AND action <> '' ORDER BY position DESC LIMIT 50",
        values,
    )
    previous = next((action for action, is_ok in actions if is_ok), "")
    return int(last), previous, bool(actions and not actions[0][1])


def identify_screen(seen: Observation, profile: Profile) -> Observation:
    """The observation with its screen: the given one, or the one detected by the profile."""
    if seen.screen is not None:
        return seen
    return replace(seen, screen=detect_screen(seen.url, seen.visible_test_ids, seen.a11y, profile))


def _resolve_call(call: ToolCall, profile: Profile) -> ToolCall:
    """The call with the screen it was made on, and the role and name that its target had there."""
    seen = None if call.before is None else identify_screen(call.before, profile)
    return replace(call, before=seen, target=resolve_target(call.target, seen))


def _build_step(session: FlowSession, call: ToolCall, profile: Profile, now: datetime) -> Step:
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
        origin=call.origin or origin_of(call.before.url if call.before else ""),
        appeared=call.appeared,
    )


def _mask_call(context: FlowContext, session_id: str, call: ToolCall, profile: Profile) -> ToolCall:
    """The call without what was typed into secret fields, now or before, wherever it is echoed."""
    for value in secret_field_values(call.before, profile) if call.before else ():
        context.typed_secrets.add(session_id, value)
    masker = _InputMasker(context, session_id, call.before, profile, is_unsure=_is_field_unknown(call, profile))
    call = replace(call, input=masker.mask(call.input, call.target))

    def mask(value: Any) -> Any:
        return clean_value(context.typed_secrets.mask(session_id, value), profile.secret_fields)

    return replace(call, before=_mask_observation(call.before, mask), **_mask_step_fields(call, mask))


@dataclass(frozen=True, slots=True)
class _InputMasker:
    """Masks the texts for secret fields in the input of a tool, and adds them to the typed secrets."""

    context: FlowContext
    session_id: str
    before: Observation | None
    profile: Profile
    is_unsure: bool  # whether any typed text may have been meant for a secret field

    def mask(self, given: Mapping[str, Any], target: Mapping[str, str], *, hides: bool = False) -> dict[str, Any]:
        """The input without texts for secret fields; also in the steps of a batch."""
        hides = hides or given.get("secret") is True
        is_field = hides or is_secret(target, self.before, given, self.profile)
        return {name: self._mask_value(name, value, target, is_field, hides) for name, value in given.items()}

    def _mask_value(self, name: str, value: Any, target: Mapping[str, str], is_field: bool, hides: bool) -> Any:
        hides = hides or is_secret_name(name, self.profile.secret_fields)
        if isinstance(value, Mapping):
            return self.mask(value, {**target, **_find_target(value)}, hides=hides)
        is_text = name in _TEXT_INPUTS or is_secret_name(name, self.profile.secret_fields)
        if is_text and (hides or is_field or self.is_unsure):
            return self._hide(name, value, is_known=hides or is_field)
        if isinstance(value, (list, tuple)):
            return [
                self.mask(each, _find_target(each), hides=hides) if isinstance(each, Mapping) else each
                for each in value
            ]
        return value

    def _hide(self, name: str, value: Any, *, is_known: bool) -> Any:
        """A mask for typed text; control keys such as Enter stay."""
        if isinstance(value, (list, tuple)):
            return [self._hide(name, each, is_known=is_known) for each in value]
        if value is None or isinstance(value, bool) or (name in _KEY_INPUTS and is_control_key(str(value))):
            return value
        if is_known:
            secrets = self.context.typed_secrets
            add = secrets.add_key if name in _KEY_INPUTS else secrets.add
            add(self.session_id, str(value))
        return MASK


def _is_field_unknown(call: ToolCall, profile: Profile) -> bool:
    """Whether the field of a text is unknown: its element was not found, or a batch names it in its own steps."""
    verb = verb_of(call.tool, profile.prefix)
    is_lost = verb in INPUT_VERBS and call.error is not None and not is_target_visible(call.target, call.before)
    return verb == "run_steps" or is_lost


def _find_target(value: Mapping[str, Any]) -> dict[str, str]:
    """The target that one step of a batch names, in any of its parts."""
    named = {TARGET_ALIASES.get(key, key): each for key, each in value.items()}
    found = {key: each for key, each in named.items() if key in TARGETS and isinstance(each, str)}
    parts = (value[key] for key in _BATCH_STEP_PARTS if isinstance(value.get(key), Mapping))
    return {**found, **{key: each for part in parts for key, each in _find_target(part).items()}}


def _mask_step_fields(step: Step | ToolCall, mask: Mask) -> dict[str, Any]:
    """The masked fields of a step or call, without its observation."""
    masked: dict[str, Any] = mask({name: getattr(step, name) for name in _MASKED_IN_STEP})
    return masked


def _mask_observation(seen: Observation | None, mask: Mask) -> Observation | None:
    if seen is None:
        return None
    return Observation(**mask({each.name: getattr(seen, each.name) for each in fields(seen)}))


def mask_session(context: FlowContext, session: FlowSession) -> FlowSession:
    """The session without what was typed into its secret fields."""
    values = {name: getattr(session, name) for name in _MASKED_IN_SESSION}
    return replace(session, **context.typed_secrets.mask(session.id, values))


def mask_element(context: FlowContext, session_id: str, element: str) -> str:
    """The name of an element without what was typed into secret fields of a session."""
    masked: str = context.typed_secrets.mask(session_id, {"selector": element})["selector"]
    return masked


def mask_steps(context: FlowContext, session_id: str, steps: Sequence[Step]) -> list[Step]:
    """The steps without what was typed into secret fields of their session, before or after them."""
    mask = partial(context.typed_secrets.mask, session_id)
    observations = {id(step.before): step.before for step in steps}  # most steps of a session share a few
    masked = {key: _mask_observation(seen, mask) for key, seen in observations.items()}
    return [_mask_step(step, masked[id(step.before)], mask) for step in steps]


def _mask_step(step: Step, seen: Observation | None, mask: Mask) -> Step:
    screen = (seen.screen if seen else None) or UNKNOWN
    return replace(step, before=seen, screen=screen, **_mask_step_fields(step, mask))


def redact_stored_steps(context: FlowContext, transaction: Transaction, session_id: str) -> bool:
    """Masks all typed secrets in what is stored of a session; returns whether anything changed."""
    session = context.get_session(transaction, session_id)
    steps = rows.read_steps(transaction, session)
    masked_session, masked_steps = mask_session(context, session), mask_steps(context, session.id, steps)
    has_redacted = _redact_rejections(context, transaction, steps, masked_steps)
    if masked_session == session and masked_steps == steps:
        return has_redacted
    before = rows.read_passages(transaction, [(session.app, session.id)])
    _update_row(transaction, "flows", rows.session_row(masked_session, to_microseconds(context.now())))
    _update_steps(transaction, masked_steps)
    transaction.remove(INDEX, session.app, [session.id])
    rows.forget(transaction, before)
    after = rows.read_passages(transaction, [(session.app, session.id)])
    transaction.put(INDEX, after, context.embed(after, transaction))
    return True


def _redact_rejections(
    context: FlowContext, transaction: Transaction, steps: Sequence[Step], masked: Sequence[Step]
) -> bool:
    """Masks typed secrets in what was rejected for steps of a session; returns whether there was anything."""
    if not steps or not rows.has_rejections(transaction, steps[0].app):
        return False
    mask = partial(mask_element, context, steps[0].session_id)
    pairs = zip(steps, masked, strict=True)
    return any([rows.replace_rejections(transaction, old, new, mask) for old, new in pairs])


def _update_steps(transaction: Transaction, steps: Sequence[Step]) -> None:
    for step, action, previous in _with_action_keys(steps):
        if step.before is not None:
            row = rows.observation_row(step.app, step.before)
            rows.insert_row(transaction, "flow_observations", row, if_new=True)
        _update_row(transaction, "flow_steps", rows.step_row(step, action, previous))
    for app in {step.app for step in steps}:
        rows.delete_unused_observations(transaction, app)


def _with_action_keys(steps: Sequence[Step]) -> Iterator[tuple[Step, str, str]]:
    """Each step with its action key, and the key of the last successful action before it."""
    previous = ""
    for step in steps:
        action = action_key(step.verb, step.target, step.input)
        yield step, action, previous
        previous = action if action and step.ok else previous


def _update_row(transaction: Transaction, table: str, row: dict[str, Any]) -> None:
    values = ", ".join(f"{name} = :{name}" for name in row if name not in ("space", "id"))
    transaction.execute(f"UPDATE {table} SET {values} WHERE space = :space AND id = :id", row)

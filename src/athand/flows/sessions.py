"""Sessions: start, list, summarize and delete them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from athand.errors import Conflict, NotFound
from athand.flows import rows
from athand.flows.actions import ACTIONS, successful_actions
from athand.flows.context import FlowContext
from athand.flows.descriptions import describe_step
from athand.flows.filters import FlowFilters
from athand.flows.model import DEFAULT_APP, UNKNOWN, FlowSession, Observation, SessionSummary, Step
from athand.flows.scoring import INDEX
from athand.flows.secrets import clean_value
from athand.flows.validation import check_id, check_json_object, check_mapping
from athand.inputs import check_name, check_names, check_past, check_text
from athand.store import Transaction, new_id, to_microseconds


@dataclass(frozen=True, slots=True)
class SessionArgs:
    """The arguments of a new session, not checked yet."""

    goal: object = None
    flow_tags: object = ()
    tags: object = ()
    app: object = DEFAULT_APP
    app_version: object = None
    git: object = None
    launch: object = None
    id: object = None
    created_at: object = None

    def to_session(self, now: datetime) -> FlowSession:
        """The session with checked and redacted values; raises InvalidInput."""
        created_at = now if self.created_at is None else check_past("created_at", self.created_at, now)
        return FlowSession(
            id=new_id(created_at) if self.id is None else check_id("session id", self.id),
            app=check_id("app", self.app),
            created_at=created_at,
            goal=None if self.goal is None else clean_value(check_text("goal", self.goal, longest=10_000)),
            flow_tags=clean_value(check_names("flow_tags", self.flow_tags)),
            tags=clean_value(check_names("tags", self.tags)),
            git=clean_value(_check_git(self.git)),
            app_version=None if self.app_version is None else clean_value(check_name("app_version", self.app_version)),
            launch=clean_value(check_json_object("launch", self.launch)),
        )


def _check_git(value: object) -> Mapping[str, Any] | None:
    """Branch, commit and whether there were changes; None if nothing is known."""
    known = {name: each for name, each in check_mapping("git", value).items() if each is not None}
    for name in ("branch", "commit"):
        if name in known:
            known[name] = check_name(f"git {name}", known[name])
    return check_json_object("git", known) or None


def start_session(context: FlowContext, args: SessionArgs) -> FlowSession:
    """Creates a session; durable when it returns."""
    now = context.now()
    session = args.to_session(now)
    with context.store.transaction(spaces=(session.app,)) as transaction:
        insert_session(transaction, session, now, is_id_given=args.id is not None)
    context.app_of.put(session.id, session.app)
    return session


def insert_session(transaction: Transaction, session: FlowSession, now: datetime, *, is_id_given: bool = True) -> None:
    """Writes a new session; raises Conflict if its id exists, which one that was just made does nowhere."""
    if is_id_given and transaction.rows("SELECT 1 FROM flows WHERE id = :id", {"id": session.id}):
        raise Conflict(f"There is a session {session.id!r} already. Go on with it, or leave the id out.")
    rows.insert_row(transaction, "flows", rows.session_row(session, to_microseconds(now)))


def list_sessions(context: FlowContext, limit: int, filters: FlowFilters) -> list[FlowSession]:
    """The sessions that match the filters, newest first."""
    condition = filters.session_condition(context.now())
    where = f"WHERE {condition.where}" if condition.where else ""
    columns = ", ".join(f"i.{name}" for name in rows.SESSION_COLUMNS.split(", "))
    sql = f"SELECT {columns} FROM flows i {where} ORDER BY i.created_at DESC, i.id DESC LIMIT :most"
    with context.store.snapshot() as snapshot:
        return [rows.to_session(row) for row in snapshot.rows(sql, {**condition.parameters, "most": limit})]


def summarize_session(session: FlowSession, steps: list[Step]) -> SessionSummary:
    """Counts, screens, errors and actions of a session."""
    succeeded = sum(step.ok for step in steps)
    return SessionSummary(
        session=session,
        steps=len(steps),
        ok=succeeded,
        failed=len(steps) - succeeded,
        seconds=(steps[-1].timestamp - steps[0].timestamp).total_seconds() if steps else 0.0,
        screens=tuple(dict.fromkeys(step.screen for step in steps if step.screen != UNKNOWN)),
        labels=dict(Counter(label for step in steps for label in step.labels)),
        errors=dict(Counter(str(step.error["code"]) for step in steps if step.error)),
        actions=tuple(describe_step(step) for step in steps if step.verb in ACTIONS),
    )


def last_observation(session_id: str, steps: list[Step]) -> tuple[Observation, Step | None]:
    """The last observation of a session, and the last successful action before it."""
    last = next((step for step in reversed(steps) if step.before is not None), None)
    if last is None or last.before is None:
        raise NotFound(f"Session {session_id} has seen no screen yet. Look at one first, with describe_screen.")
    actions = [step for step in successful_actions(steps) if step.position < last.position]
    return last.before, actions[-1] if actions else None


def delete_session(context: FlowContext, session_id: str) -> int:
    """Deletes a session with all that is derived from it; returns the number of its steps."""
    with context.store.snapshot() as snapshot:
        app = context.get_session(snapshot, session_id).app
    with context.store.transaction(spaces=(app,)) as transaction:
        session = context.get_session(transaction, session_id)
        passages = rows.read_passages(transaction, [(session.app, session.id)])
        transaction.remove(INDEX, session.app, [session.id])
        rows.forget(transaction, passages)
        values = {"space": session.app, "id": session.id}
        transaction.execute("DELETE FROM flow_steps WHERE space = :space AND session = :id", values)
        transaction.execute("DELETE FROM flows WHERE space = :space AND id = :id", values)
        rows.delete_unused_observations(transaction, session.app)
        rows.delete_unused_rejections(transaction, session.app)
    context.typed_secrets.forget(session.id)
    context.history_cache.forget(session.app)
    context.store.erase_traces()
    return len(passages)

"""Sessions: begun, listed, summed up, and taken out without a trace."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from athand.errors import Conflict, NotFound
from athand.flows import records
from athand.flows.actions import ACTIONS
from athand.flows.desk import Desk
from athand.flows.entry import check_id, check_mapping, plain_mapping
from athand.flows.filters import Filters
from athand.flows.model import DEFAULT_APP, UNKNOWN, FlowSession, Observation, SessionSummary, Step
from athand.flows.moves import given, place_of
from athand.flows.scoring import INDEX
from athand.flows.secrets import cleaned
from athand.inputs import check_name, check_names, check_past, check_text
from athand.store import Transaction, new_id, to_microseconds


@dataclass(frozen=True, slots=True)
class Begun:
    """What is said of a session when it begins."""

    goal: object = None
    flow_tags: object = ()
    tags: object = ()
    app: object = DEFAULT_APP
    app_version: object = None
    git: object = None
    launch: object = None
    id: object = None
    created_at: object = None

    def checked(self, now: datetime) -> FlowSession:
        """The session, or the error that names what is wrong."""
        begun = now if self.created_at is None else check_past("created_at", self.created_at, now)
        return FlowSession(
            id=new_id(begun) if self.id is None else check_id("session id", self.id),
            app=check_id("app", self.app),
            created_at=begun,
            goal=None if self.goal is None else cleaned(check_text("goal", self.goal, longest=10_000)),
            flow_tags=cleaned(check_names("flow_tags", self.flow_tags)),
            tags=cleaned(check_names("tags", self.tags)),
            git=cleaned(_git(self.git)),
            app_version=None if self.app_version is None else cleaned(check_name("app_version", self.app_version)),
            launch=cleaned(plain_mapping("launch", self.launch)),
        )


def _git(value: object) -> Mapping[str, Any] | None:
    """Branch, commit and whether there were changes, as far as they are known."""
    given = {name: each for name, each in check_mapping("git", value).items() if each is not None}
    for name in ("branch", "commit"):
        if name in given:
            given[name] = check_name(f"git {name}", given[name])
    return plain_mapping("git", given) or None


def start(desk: Desk, begun: Begun) -> FlowSession:
    """Begin a session; durable when it returns."""
    now = desk.now()
    session = begun.checked(now)
    with desk.store.transaction(spaces=(session.app,)) as transaction:
        add(transaction, session, now)
    return session


def add(transaction: Transaction, session: FlowSession, now: datetime) -> None:
    """Write a new session."""
    if transaction.rows("SELECT 1 FROM flows WHERE id = :id", {"id": session.id}):
        raise Conflict(f"There is a session {session.id!r} already. Go on with it, or leave the id out.")
    records.insert(transaction, "flows", records.session_row(session, to_microseconds(now)))


def newest(desk: Desk, limit: int, filters: Filters) -> list[FlowSession]:
    """Sessions, newest first."""
    chosen = filters.on_sessions(desk.now())
    where = f"WHERE {chosen.where}" if chosen.where else ""
    columns = ", ".join(f"i.{name}" for name in records.SESSION.split(", "))
    sql = f"SELECT {columns} FROM flows i {where} ORDER BY i.created_at DESC, i.id DESC LIMIT :most"
    with desk.store.snapshot() as snapshot:
        return [records.to_session(row) for row in snapshot.rows(sql, {**chosen.parameters, "most": limit})]


def summary(session: FlowSession, steps: list[Step]) -> SessionSummary:
    """A session at a glance."""
    went_well = sum(step.ok for step in steps)
    first_to_last = (steps[-1].timestamp - steps[0].timestamp).total_seconds() if steps else 0.0
    return SessionSummary(
        session=session,
        steps=len(steps),
        ok=went_well,
        failed=len(steps) - went_well,
        seconds=first_to_last,
        screens=tuple(dict.fromkeys(step.screen for step in steps if step.screen != UNKNOWN)),
        labels=dict(Counter(label for step in steps for label in step.labels)),
        errors=dict(Counter(str(step.error["code"]) for step in steps if step.error)),
        actions=tuple(in_words(step) for step in steps if step.verb in ACTIONS),
    )


def newest_look(session_id: str, steps: list[Step]) -> tuple[Observation, Step | None]:
    """What a session has seen last, and the action that worked before."""
    seen = next((step for step in reversed(steps) if step.before is not None), None)
    if seen is None or seen.before is None:
        raise NotFound(f"Session {session_id} has seen no screen yet. Look at one first, with describe_screen.")
    done = [step for step in steps if step.ok and step.verb in ACTIONS and step.position < seen.position]
    return seen.before, done[-1] if done else None


def in_words(step: Step) -> str:
    """A step as one would say it: what was done, with which value, to what, where, and how it failed."""
    value, place = given(step), place_of(step) or step.target.get("a11yRef", "")
    said = [step.verb.replace("_", " ")]
    said += [repr(value[1])] if value else []
    said += ["into" if step.verb == "type" else "in"] if value and place else []
    said += [place] if place else []
    said += ["on", step.screen] if step.screen != UNKNOWN else []
    said += [f"(failed: {step.error['code']})"] if step.error else []
    return " ".join(said)


def delete(desk: Desk, session_id: str) -> int:
    """Take out a session and leave nothing of it; how many steps it had."""
    with desk.store.snapshot() as snapshot:
        app = records.get_session(snapshot, session_id).app
    with desk.store.transaction(spaces=(app,)) as transaction:
        session = records.get_session(transaction, session_id)
        passages = records.passages(transaction, [session.id])
        transaction.remove(INDEX, session.app, [session.id])
        for passage in passages:
            transaction.forget(INDEX, passage)
        values = {"space": session.app, "id": session.id}
        transaction.execute("DELETE FROM flow_steps WHERE space = :space AND session = :id", values)
        transaction.execute("DELETE FROM flows WHERE space = :space AND id = :id", values)
        records.drop_unseen(transaction, session.app)
        transaction.execute(
            "DELETE FROM flow_rejections WHERE space = :space AND NOT EXISTS (SELECT 1 FROM flow_steps s WHERE "
            "s.space = :space AND s.screen = flow_rejections.screen AND s.action = flow_rejections.action)",
            {"space": session.app},
        )
    desk.typed.forget(session.id)
    desk.remembered.forget(session.app)
    desk.store.erase_traces()
    return len(passages)

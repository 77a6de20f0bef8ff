"""Reading and writing sessions and steps: rows in, nouns out, and back."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from athand.errors import NotFound
from athand.flows.model import FlowSession, Observation, Step
from athand.flows.passages import to_passage
from athand.inputs import is_text
from athand.store import Passage, Row, Snapshot, Transaction, to_datetime, to_microseconds
from athand.text import text_hash

SESSION = "space, id, created_at, goal, flow_tags, tags, git, app_version, launch, has_metadata, steps"
STEP = "space, id, session, position, created_at, tool, verb, screen, is_ok, error_code, observation, record"
_OBSERVATION = "SELECT space, hash, content FROM flow_observations"
_AT_ONCE = 500


def to_session(row: Row) -> FlowSession:
    """A session from its row."""
    space, id_, created_at, goal, flow_tags, tags, git, app_version, launch, has_metadata, steps = row
    return FlowSession(
        id=id_,
        app=space,
        created_at=to_datetime(created_at),
        goal=goal,
        flow_tags=tuple(json.loads(flow_tags)),
        tags=tuple(json.loads(tags)),
        git=json.loads(git) or None,
        app_version=app_version,
        launch=json.loads(launch),
        has_metadata=bool(has_metadata),
        steps=steps,
    )


def session_row(session: FlowSession, updated_at: int) -> dict[str, Any]:
    """The values of a session's columns."""
    return {
        "space": session.app,
        "id": session.id,
        "created_at": to_microseconds(session.created_at),
        "updated_at": updated_at,
        "goal": session.goal,
        "flow_tags": to_json(session.flow_tags),
        "tags": to_json(session.tags),
        "git": to_json(session.git or {}),
        "branch": (session.git or {}).get("branch"),
        "app_version": session.app_version,
        "launch": to_json(session.launch),
        "has_metadata": int(session.has_metadata),
        "steps": session.steps,
    }


def to_step(row: Row, observation: Observation | None) -> Step:
    """A step from its row, with what was seen before it."""
    space, id_, session, position, created_at, tool, verb, screen, is_ok, error_code, _, record = row
    rest = json.loads(record)
    return Step(
        id=id_,
        session_id=session,
        app=space,
        position=position,
        timestamp=to_datetime(created_at),
        tool=tool,
        verb=verb,
        input=rest["input"],
        target=rest["target"],
        ok=bool(is_ok),
        error=None if is_ok else {"code": error_code, **rest["error"]},
        labels=tuple(rest["labels"]),
        screen=screen,
        before=observation,
        after_screen=rest["after_screen"],
        screenshot=rest["screenshot"],
        duration_ms=rest["duration_ms"],
        prior_knowledge=rest["prior_knowledge"],
    )


def step_row(step: Step, action: str, previous: str) -> dict[str, Any]:
    """The values of a step's columns; what was seen is another row."""
    error = dict(step.error or {})
    code = error.pop("code", None)
    rest = {name: getattr(step, name) for name in ("input", "target", "after_screen", "screenshot", "duration_ms")}
    rest |= {"labels": step.labels, "error": error, "prior_knowledge": step.prior_knowledge}
    return {
        "space": step.app,
        "id": step.id,
        "session": step.session_id,
        "position": step.position,
        "created_at": to_microseconds(step.timestamp),
        "tool": step.tool,
        "verb": step.verb,
        "screen": step.screen,
        "is_ok": int(step.ok),
        "error_code": code,
        "action": action,
        "previous": previous,
        "observation": None if step.before is None else observation_row(step.app, step.before)["hash"],
        "record": to_json(rest),
    }


def observation_row(space: str, seen: Observation) -> dict[str, str]:
    """The values of an observation's columns."""
    content = to_json({name: getattr(seen, name) for name in ("screen", "url", "test_ids", "a11y")})
    return {"space": space, "hash": text_hash(content).hex(), "content": content}


def to_json(value: Any) -> str:
    """Plain values as compact text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def insert(transaction: Transaction, table: str, row: Mapping[str, Any], *, if_new: bool = False) -> None:
    """Add a row; `if_new` leaves the one that is there."""
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    conflict = " ON CONFLICT DO NOTHING" if if_new else ""
    transaction.execute(f"INSERT INTO {table} ({names}) VALUES ({values}){conflict}", row)


def drop_unseen(transaction: Transaction, app: str) -> None:
    """Take out the observations that no step of an app has any more."""
    transaction.execute(
        "DELETE FROM flow_observations WHERE space = :space AND NOT EXISTS (SELECT 1 FROM flow_steps s "
        "WHERE s.space = flow_observations.space AND s.observation = flow_observations.hash)",
        {"space": app},
    )


def get_session(snapshot: Snapshot, id_: object) -> FlowSession:
    """The session of that id."""
    rows = snapshot.rows(f"SELECT {SESSION} FROM flows WHERE id = :id", {"id": id_}) if is_text(id_) else []
    if not rows:
        raise NotFound(f"No session {id_!r}. See what there is with: athand flows sessions")
    return to_session(rows[0])


def sessions_by_id(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, FlowSession]:
    """The sessions of these ids, as far as there are such."""
    return {row[1]: to_session(row) for row in rows_by(snapshot, f"SELECT {SESSION} FROM flows", "id", ids)}


def steps_of(snapshot: Snapshot, session: FlowSession) -> list[Step]:
    """The steps of a session, in order."""
    sql = f"SELECT {STEP} FROM flow_steps WHERE space = :space AND session = :session ORDER BY position"
    return _to_steps(snapshot, snapshot.rows(sql, {"space": session.app, "session": session.id}))


def steps_by_id(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, Step]:
    """The steps of these ids, as far as there are such."""
    found = _to_steps(snapshot, rows_by(snapshot, f"SELECT {STEP} FROM flow_steps", "id", ids))
    return {step.id: step for step in found}


def newest_steps(snapshot: Snapshot, limit: int, session: FlowSession | None) -> list[Step]:
    """The newest steps, newest first."""
    own = "WHERE space = :space AND session = :session" if session else ""
    values = {"space": session.app, "session": session.id} if session else {}
    order = "position DESC" if session else "created_at DESC, id DESC"
    sql = f"SELECT {STEP} FROM flow_steps {own} ORDER BY {order} LIMIT :limit"
    return _to_steps(snapshot, snapshot.rows(sql, {**values, "limit": limit}))


def passages(snapshot: Snapshot, ids: Iterable[str]) -> list[Passage]:
    """The passages of all steps of these sessions."""
    sessions = sessions_by_id(snapshot, ids)
    return [to_passage(each, step) for each in sessions.values() for step in steps_of(snapshot, each)]


def all_passages(snapshot: Snapshot, batch: int) -> Iterator[list[Passage]]:
    """The passages of all steps, in the order of app and id, some at a time."""
    place = ("", "")
    while True:
        sql = f"SELECT {STEP} FROM flow_steps WHERE (space, id) > (:space, :id) ORDER BY space, id LIMIT :limit"
        rows = snapshot.rows(sql, {"space": place[0], "id": place[1], "limit": batch})
        if not rows:
            return
        sessions = sessions_by_id(snapshot, {row[2] for row in rows})
        yield [to_passage(sessions[step.session_id], step) for step in _to_steps(snapshot, rows)]
        place = (rows[-1][0], rows[-1][1])


def _to_steps(snapshot: Snapshot, rows: Sequence[Row]) -> list[Step]:
    hashes = {row[10] for row in rows if row[10] is not None}
    found = [
        row
        for space in sorted({row[0] for row in rows})
        for row in rows_by(snapshot, _OBSERVATION, "hash", hashes, {"space": space})
    ]
    seen = {(space, hash_): to_observation(json.loads(content)) for space, hash_, content in found}
    return [to_step(row, seen.get((row[0], row[10]))) for row in rows]


def to_observation(content: Mapping[str, Any]) -> Observation:
    """An observation from its plain values."""
    return Observation(content["screen"], content["url"], tuple(content["test_ids"]), tuple(content["a11y"]))


def rows_by(
    snapshot: Snapshot, select: str, column: str, values: Iterable[str], where: Mapping[str, Any] | None = None
) -> list[Row]:
    """The rows whose column has one of these values, and whose other columns have those of `where`."""
    wanted, found = sorted(set(values)), []
    also = "".join(f" AND {name} = :{name}" for name in where or ())
    for start in range(0, len(wanted), _AT_ONCE):
        some = {f"v{at}": value for at, value in enumerate(wanted[start : start + _AT_ONCE])}
        names = ", ".join(f":{name}" for name in some)
        found += snapshot.rows(f"{select} WHERE {column} IN ({names}){also}", {**some, **(where or {})})
    return found

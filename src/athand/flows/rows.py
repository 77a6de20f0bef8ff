"""SQL of flows: sessions, steps, observations and rejected elements as rows and back, and the passages of steps."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from athand.corpus import Items
from athand.errors import NotFound
from athand.flows.actions import action_key
from athand.flows.model import UNKNOWN, FlowSession, Observation, Step
from athand.flows.origins import origin_of
from athand.flows.scoring import INDEX
from athand.inputs import is_text, suggest
from athand.store import Passage, Row, Snapshot, Transaction, check_types, select_in, to_datetime, to_microseconds
from athand.text import text_hash

SESSION_COLUMNS = "space, id, created_at, goal, flow_tags, tags, git, app_version, launch, has_metadata, steps"
_SUGGESTED_FROM = 1000  # sessions whose ids are compared with one that is unknown
STEP_COLUMNS = "space, id, session, position, created_at, tool, verb, screen, is_ok, error_code, observation, record"
_SELECT_OBSERVATION = "SELECT space, hash, content FROM flow_observations"
_MAX_VISIBLE = 4_000  # characters of a field with all that was visible


def to_session(row: Row) -> FlowSession:
    """The session of a row of SESSION_COLUMNS."""
    space, id_, created_at, goal, flow_tags, tags, git, app_version, launch, has_metadata, steps = row
    session = FlowSession(
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
    return check_types(session)


def session_row(session: FlowSession, updated_at: int) -> dict[str, Any]:
    """The column values of a session."""
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
    """The step of a row of STEP_COLUMNS, with the observation before it."""
    space, id_, session, position, created_at, tool, verb, screen, is_ok, error_code, _, record = row
    if not all(isinstance(each, str) for each in (tool, verb, screen)) or not isinstance(position, int):
        raise ValueError(f"the step {id_!r} has a value of another type")  # a damaged row
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
        origin=rest.get("origin") or origin_of(observation.url if observation else ""),  # older rows have none
        appeared=tuple(rest.get("appeared", ())),
    )


def step_row(step: Step, action: str, previous: str) -> dict[str, Any]:
    """The column values of a step with its action key and that of the last successful action before it."""
    error = dict(step.error or {})
    code = error.pop("code", None)
    rest = {name: getattr(step, name) for name in ("input", "target", "after_screen", "screenshot", "duration_ms")}
    rest |= {"labels": step.labels, "error": error, "prior_knowledge": step.prior_knowledge, "origin": step.origin}
    rest |= {"appeared": step.appeared} if step.appeared else {}
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
    """The column values of an observation; its hash identifies it."""
    content = to_json({name: getattr(seen, name) for name in ("screen", "url", "test_ids", "a11y")})
    return {"space": space, "hash": text_hash(content).hex(), "content": content}


def to_json(value: Any) -> str:
    """Compact JSON of plain values."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def insert_row(transaction: Transaction, table: str, row: Mapping[str, Any], *, if_new: bool = False) -> None:
    """Inserts a row; with `if_new`, an existing row with the same key is left as it is."""
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    conflict = " ON CONFLICT DO NOTHING" if if_new else ""
    transaction.execute(f"INSERT INTO {table} ({names}) VALUES ({values}){conflict}", row)


def delete_unused_observations(transaction: Transaction, app: str) -> None:
    """Deletes the observations of an app that no step refers to."""
    transaction.execute(
        "DELETE FROM flow_observations WHERE space = :space AND NOT EXISTS (SELECT 1 FROM flow_steps s "
        "WHERE s.space = flow_observations.space AND s.observation = flow_observations.hash)",
        {"space": app},
    )


def delete_unused_rejections(transaction: Transaction, app: str) -> None:
    """Deletes the rejections of an app whose action no step has."""
    transaction.execute(
        "DELETE FROM flow_rejections WHERE space = :space AND NOT EXISTS (SELECT 1 FROM flow_steps s WHERE "
        "s.space = :space AND s.screen = flow_rejections.screen AND s.action = flow_rejections.action)",
        {"space": app},
    )


def get_session(snapshot: Snapshot, id_: object, app: str | None = None) -> FlowSession:
    """The session with this id, probably of this app, which a cluster is asked for first; raises NotFound."""
    select, values = f"SELECT {SESSION_COLUMNS} FROM flows WHERE id = :id", {"id": id_, "app": app}
    rows = snapshot.rows(f"{select} AND space = :app", values) if is_text(id_) and app is not None else []
    rows = rows or (snapshot.rows(select, values) if is_text(id_) else [])
    if not rows:
        newest = snapshot.rows(f"SELECT id FROM flows ORDER BY created_at DESC LIMIT {_SUGGESTED_FROM}")
        hint = suggest(id_, (row[0] for row in newest))
        raise NotFound(f"No session {id_!r}.{hint} See what there is with: athand flows sessions")
    return to_session(rows[0])


def sessions_by_id(snapshot: Snapshot, ids: Iterable[str], apps: Sequence[str] | None = None) -> dict[str, FlowSession]:
    """The existing sessions among these ids; where their apps are given, a cluster is asked only for those."""
    found = select_in(snapshot, f"SELECT {SESSION_COLUMNS} FROM flows", "id", ids, spaces=apps)
    return {row[1]: to_session(row) for row in found}


def read_steps(snapshot: Snapshot, session: FlowSession) -> list[Step]:
    """The steps of a session, in order."""
    sql = f"SELECT {STEP_COLUMNS} FROM flow_steps WHERE space = :space AND session = :session ORDER BY position"
    return _to_steps(snapshot, snapshot.rows(sql, {"space": session.app, "session": session.id}))


def steps_by_id(snapshot: Snapshot, ids: Iterable[str], apps: Sequence[str] | None = None) -> dict[str, Step]:
    """The existing steps among these ids; where their apps are given, a cluster is asked only for those."""
    found = _to_steps(snapshot, select_in(snapshot, f"SELECT {STEP_COLUMNS} FROM flow_steps", "id", ids, spaces=apps))
    return {step.id: step for step in found}


def read_positions(snapshot: Snapshot, step_ids: Iterable[str], apps: Sequence[str]) -> dict[str, int]:
    """The position of each of these steps of some apps in its session."""
    return dict(select_in(snapshot, "SELECT id, position FROM flow_steps", "id", step_ids, spaces=apps))


def newest_steps(snapshot: Snapshot, limit: int, session: FlowSession | None) -> list[Step]:
    """The newest steps, newest first."""
    own = "WHERE space = :space AND session = :session" if session else ""
    values = {"space": session.app, "session": session.id} if session else {}
    order = "position DESC" if session else "created_at DESC, id DESC"
    sql = f"SELECT {STEP_COLUMNS} FROM flow_steps {own} ORDER BY {order} LIMIT :limit"
    return _to_steps(snapshot, snapshot.rows(sql, {**values, "limit": limit}))


def read_passages(snapshot: Snapshot, items: Items) -> list[Passage]:
    """The passages of all steps of these sessions."""
    sessions = sessions_by_id(snapshot, [id_ for _, id_ in items], sorted({app for app, _ in items}))
    return [to_passage(each, step) for each in sessions.values() for step in read_steps(snapshot, each)]


def forget(transaction: Transaction, passages: Sequence[Passage]) -> None:
    """Erases what removed passages of steps left behind in the index."""
    transaction.forget(INDEX, passages, lambda items: read_passages(transaction, items))


def iterate_passages(snapshot: Snapshot, batch: int) -> Iterator[list[Passage]]:
    """The passages of all steps in batches, ordered by app and id."""
    last = ("", "")
    while True:
        sql = f"SELECT {STEP_COLUMNS} FROM flow_steps WHERE (space, id) > (:space, :id) ORDER BY space, id LIMIT :limit"
        rows = snapshot.rows(sql, {"space": last[0], "id": last[1], "limit": batch})
        if not rows:
            return
        sessions = sessions_by_id(snapshot, {row[2] for row in rows}, sorted({row[0] for row in rows}))
        yield [to_passage(sessions[step.session_id], step) for step in _to_steps(snapshot, rows)]
        last = (rows[-1][0], rows[-1][1])


def _to_steps(snapshot: Snapshot, rows: Sequence[Row]) -> list[Step]:
    hashes = {row[10] for row in rows if row[10] is not None}
    found = [
        row
        for space in sorted({row[0] for row in rows})
        for row in select_in(snapshot, _SELECT_OBSERVATION, "hash", hashes, {"space": space})
    ]
    seen = {(space, hash_): to_observation(json.loads(content)) for space, hash_, content in found}
    return [to_step(row, seen.get((row[0], row[10]))) for row in rows]


def to_observation(content: Mapping[str, Any]) -> Observation:
    """The observation of its stored JSON."""
    return Observation(content["screen"], content["url"], tuple(content["test_ids"]), tuple(content["a11y"]))


def insert_rejection(transaction: Transaction, step: Step, element: str, rejected_at: int) -> None:
    """Stores that an element is not the one a step acted on."""
    row = {**_rejection_key(step), "element": element, "rejected_at": rejected_at}
    insert_row(transaction, "flow_rejections", row, if_new=True)


def read_rejections(snapshot: Snapshot, step: Step) -> frozenset[str]:
    """The elements rejected for the action of a step, on its screen."""
    sql = "SELECT element FROM flow_rejections WHERE space = :space AND screen = :screen AND action = :action"
    return frozenset(row[0] for row in snapshot.rows(sql, _rejection_key(step)))


def has_rejections(snapshot: Snapshot, app: str) -> bool:
    """Whether anything was rejected in an app."""
    return bool(snapshot.rows("SELECT 1 FROM flow_rejections WHERE space = :space LIMIT 1", {"space": app}))


def replace_rejections(transaction: Transaction, old: Step, new: Step, mask: Callable[[str], str]) -> bool:
    """Stores what was rejected for a step under the new form of it, with masked elements; whether anything changed."""
    key = _rejection_key(old)
    where = "WHERE space = :space AND screen = :screen AND action = :action"
    found = transaction.rows(f"SELECT element, rejected_at FROM flow_rejections {where}", key)
    if key == _rejection_key(new) and all(mask(element) == element for element, _ in found):
        return False
    transaction.execute(f"DELETE FROM flow_rejections {where}", key)
    for element, rejected_at in found:
        insert_rejection(transaction, new, mask(element), rejected_at)
    return bool(found)


def _rejection_key(step: Step) -> dict[str, str]:
    return {"space": step.app, "screen": step.screen, "action": action_key(step.verb, step.target, step.input)}


def to_passage(session: FlowSession, step: Step) -> Passage:
    """The passage of a step; what is embedded is the purpose of its session, the same for all its steps."""
    fields = _passage_fields(session, step)
    return Passage(
        id=step.id,
        item_id=session.id,
        space=session.app,
        fields=fields,
        text=purpose(session.goal, session.flow_tags, session.tags) or " ".join(filter(None, fields[:3])),
        created_at=to_microseconds(step.timestamp),
    )


def purpose(goal: str | None, flow_tags: Iterable[str], tags: Iterable[str]) -> str:
    """Goal and tags of a session as one text."""
    return ". ".join(filter(None, (goal, *flow_tags, *tags)))


def _passage_fields(session: FlowSession, step: Step) -> tuple[str, ...]:
    """The texts of a passage, in the order of the index fields."""
    seen = step.before or Observation()
    return (
        step.verb,
        "" if step.screen == UNKNOWN else step.screen,
        " ".join(step.target.get(key, "") for key in ("testId", "selector", "name")).strip(),
        " ".join(step.labels),
        _join(seen.visible_test_ids),
        _join((*step.appeared, *dict.fromkeys(str(node.get("name") or "") for node in seen.a11y))),
        session.goal or "",
        " ".join(session.flow_tags),
        " ".join(session.tags),
        str((session.git or {}).get("branch") or ""),
    )


def _join(names: Iterable[str]) -> str:
    return " ".join(names)[:_MAX_VISIBLE].strip()

"""Imports and exports sessions as folders: `<session>/session.json` and `steps/*.json`.

Folders written by other programs may hold, with an action, what was seen after it; ours hold what was seen before it.
An import names what is damaged and leaves it out; an export overwrites nothing.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from athand.cancellation import until_cancelled
from athand.errors import BadData, Conflict, InvalidInput, NotFound, StoreError
from athand.files import private_opener
from athand.flows import rows
from athand.flows.actions import ACTIONS, find_node, verb_of
from athand.flows.context import FlowContext
from athand.flows.model import SCHEMA, TARGETS, FlowSession, Observation, Step
from athand.flows.origins import origin_of
from athand.flows.record import ToolCall, mask_session, mask_steps, prepare_step, write_step
from athand.flows.rows import to_passage
from athand.flows.scoring import INDEX
from athand.flows.sessions import SessionArgs, insert_session
from athand.flows.validation import (
    check_error,
    check_json_object,
    check_mapping,
    check_number,
    check_observation,
    check_path,
    check_string,
    check_target,
    check_texts,
    check_tool,
)
from athand.inputs import check_name, check_past
from athand.store import Snapshot, Transaction
from athand.types import Noun, plain

LARGEST_FILE = 20_000_000  # bytes
LARGEST_SESSION = 500_000_000
_BEFORE = "before"  # the moment of an observation, relative to its action
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ImportedFlows(Noun):
    """The result of an import: new sessions and steps, sessions that existed already, and what was left out."""

    sessions: int = 0
    steps: int = 0
    known: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SessionFolder:
    """What was read of a folder."""

    session: FlowSession
    calls: Sequence[ToolCall]
    problems: tuple[str, ...]


def import_folder(context: FlowContext, path: Path, app: str, progress: Progress) -> ImportedFlows:
    """Imports every session in a folder, or the folder itself if it is one; each in one transaction."""
    folders = _find_session_folders(path)
    done = ImportedFlows()
    for at, folder in enumerate(until_cancelled(folders)):
        try:
            read = _read_session(context, folder, app)
            steps = _write_session(context, read)
        except (InvalidInput, Conflict) as error:
            done = replace(done, problems=(*done.problems, f"{folder.name}: {error}"))
        else:
            done = ImportedFlows(
                done.sessions + (steps is not None and steps >= 0),
                done.steps + max(0, steps or 0),
                done.known + (steps is None),
                (*done.problems, *read.problems),
            )
        progress(at + 1, len(folders))
    return done


def _find_session_folders(path: Path) -> list[Path]:
    if not path.is_dir():
        raise NotFound(f"{path} is not a folder. Give the folder of a session, or a folder of sessions.")
    try:
        inside = [
            each for each in path.iterdir() if not each.name.startswith(".")
        ]  # hidden ones may be unfinished exports
        found = [each for each in sorted((path, *inside)) if _is_session_folder(each)]
    except OSError as error:
        raise BadData(f"{path} cannot be read: {error.strerror}. Check its permissions.") from error
    if not found:
        raise BadData(f"{path} has no session in it. A session is a folder with session.json or steps.")
    return found


def _is_session_folder(folder: Path) -> bool:
    return (
        folder.is_dir()
        and not folder.is_symlink()
        and any((folder / name).exists() for name in ("session.json", "steps"))
    )


def _read_session(context: FlowContext, folder: Path, app: str) -> _SessionFolder:
    """The session in a folder; steps that cannot be read are listed as problems."""
    now = context.now()
    raw_steps, problems = _read_raw_steps(folder, now)
    has_metadata = (folder / "session.json").exists()
    about = _read_json(folder / "session.json") if has_metadata else _metadata_from_steps(raw_steps)
    session = session_from_json(about, folder.name, app, now)
    calls = calls_from_json(raw_steps, now) if raw_steps else []
    return _SessionFolder(replace(session, has_metadata=has_metadata and session.has_metadata), calls, tuple(problems))


def _read_raw_steps(folder: Path, now: datetime) -> tuple[list[dict[str, Any]], list[str]]:
    """The JSON of the steps, by time, and the problems of those that cannot be read."""
    timed: list[tuple[datetime, dict[str, Any]]] = []
    problems = []
    files = sorted((folder / "steps").glob("*.json"))
    if (folder / "steps").is_symlink() or sum(file.lstat().st_size for file in files) > LARGEST_SESSION:
        raise BadData(f"its folder steps is a link, or has more than {LARGEST_SESSION:,} bytes in it")
    for file in files:
        try:
            raw = _read_json(file)
            timed += [(call.timestamp or now, raw) for call in calls_from_json([raw], now)]
        except InvalidInput as error:
            problems.append(f"{folder.name}/steps/{file.name}: {error}")
    return [raw for _, raw in sorted(timed, key=lambda each: each[0])], problems


def _metadata_from_steps(raw_steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The metadata of a session without its file: the time of its first step."""
    return {"createdAt": raw_steps[0]["timestamp"]} if raw_steps else {}


def _read_json(file: Path) -> dict[str, Any]:
    """The JSON object in a regular file of limited size."""
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST_FILE:
            raise BadData(f"{file.name} is not a plain file of at most {LARGEST_FILE:,} bytes")
        raw = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadData(f"{file.name} cannot be read: {error}") from error
    if not isinstance(raw, dict):
        raise BadData(f"{file.name} is not a JSON object")
    return raw


def _write_session(context: FlowContext, read: _SessionFolder) -> int | None:
    """Writes the new steps of a session in one transaction; returns their number, None if there are none."""
    session, now = read.session, context.now()
    with context.store.snapshot() as snapshot:
        known = rows.sessions_by_id(snapshot, [session.id]).get(session.id)
    kept = known.steps if known else 0
    if known and known.app != session.app:
        raise Conflict(f"there is a session {session.id!r} of the app {known.app!r} already")
    if known and kept >= len(read.calls):
        return None
    steps = [prepare_step(context, session, call) for call in read.calls]
    new = mask_steps(context, session.id, steps[kept:])
    session = mask_session(context, known or session)
    vectors = context.embed([to_passage(session, step) for step in new])
    with context.store.transaction(spaces=(session.app,)) as transaction:
        if not known:
            insert_session(transaction, session, now)
        written = _write_steps(transaction, session.id, new, kept, now)
        transaction.put(INDEX, [to_passage(session, step) for step in written], vectors)
    return len(written)


def _write_steps(
    transaction: Transaction, session_id: str, steps: Sequence[Step], kept: int, now: datetime
) -> list[Step]:
    """Appends steps to a session; raises Conflict if it was extended meanwhile."""
    if rows.get_session(transaction, session_id).steps != kept:
        raise Conflict(f"the session {session_id!r} is being recorded just now. Import it again later")
    return [write_step(transaction, step, now) for step in steps]


def export_folder(context: FlowContext, path: Path, chosen: Sequence[FlowSession] | None) -> list[Path]:
    """Exports sessions as folders inside another folder; raises Conflict where one exists."""
    folders = []
    with context.store.snapshot() as snapshot:
        found = chosen if chosen is not None else all_sessions(snapshot)
    for session in found:
        with context.store.snapshot() as snapshot:
            steps = rows.read_steps(snapshot, session)
        folder = path / session.id
        if os.path.lexists(folder):
            raise Conflict(f"{folder} is there already. Export to another folder, or move it away.")
        try:
            _export_session(folder, session, steps)
        except OSError as error:
            raise StoreError(f"{folder} cannot be written: {error.strerror}. Choose another folder.") from error
        folders.append(folder)
    return folders


def all_sessions(snapshot: Snapshot) -> list[FlowSession]:
    """Every session, the oldest first."""
    sql = f"SELECT {rows.SESSION_COLUMNS} FROM flows ORDER BY created_at, id"
    return [rows.to_session(row) for row in snapshot.rows(sql)]


def files_of(session: FlowSession, steps: Sequence[Step]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files of an exported session: the path of each inside its folder, and its JSON."""
    if session.has_metadata:
        yield "session.json", session_to_json(session)
    for step in steps:
        yield f"steps/{_file_name(step)}", step_to_json(step)


def _export_session(folder: Path, session: FlowSession, steps: Sequence[Step]) -> None:
    """Writes a session readable by its owner only, atomically."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder.parent))
    try:
        (unfinished / "steps").mkdir(mode=0o700)
        for name, value in files_of(session, steps):
            _write_json(unfinished / name, value)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _file_name(step: Step) -> str:
    """A safe file name, whatever the tool is called."""
    return f"{step.position:05}-{re.sub(r'[^A-Za-z0-9_-]+', '_', step.verb)[:60]}.json"


def _write_json(file: Path, value: Mapping[str, Any]) -> None:
    with open(file, "x", encoding="utf-8", opener=private_opener) as out:
        json.dump(value, out, ensure_ascii=False, indent=2)
        out.write("\n")


def session_to_json(session: FlowSession) -> dict[str, Any]:
    """The JSON of session.json."""
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
    """The session of session.json; without an id in it, the name of the folder is the id."""
    check_schema_version(raw)
    args = SessionArgs(
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
    return replace(args.to_session(now), has_metadata=raw.get("hasMetadata", True) is not False)


def check_schema_version(raw: Mapping[str, Any]) -> None:
    """Raises BadData for files of a newer version."""
    version = raw.get("schemaVersion", SCHEMA)
    if not isinstance(version, int) or version > SCHEMA:
        raise BadData(f"it has schemaVersion {version!r}, and {SCHEMA} is known. Upgrade Athand")


def step_to_json(step: Step) -> dict[str, Any]:
    """The JSON of a step file."""
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
        **({"origin": step.origin} if step.origin else {}),
        **({"appeared": list(step.appeared)} if step.appeared else {}),
    }


def calls_from_json(raw_steps: Sequence[Mapping[str, Any]], now: datetime) -> list[ToolCall]:
    """The calls of a session, in order; observations made after an action are moved to the next call."""
    calls = [_call_from_json(raw, now) for raw in raw_steps]
    if any(_get_object(raw, "observation").get("moment") == _BEFORE for raw in raw_steps) or not _are_observed_after(
        calls
    ):
        return calls
    moved = [calls[0], *(replace(call, before=prior.before) for prior, call in pairwise(calls))]
    return [
        replace(new, after_screen=old.before.screen if old.before else None) if verb_of(old.tool) in ACTIONS else old
        for old, new in zip(calls, moved, strict=True)
    ]


def _are_observed_after(calls: Sequence[ToolCall]) -> bool:
    """Whether more targets are found in the observation of the call before than in their own."""
    votes = 0
    for prior, call in pairwise(calls):
        if verb_of(call.tool) in ACTIONS and call.target:
            votes += _has_target(prior.before, call.target) - _has_target(call.before, call.target)
    return votes > 0


def _has_target(seen: Observation | None, target: Mapping[str, str]) -> bool:
    listed = seen is not None and target.get("testId") in seen.visible_test_ids
    return listed or find_node(target, seen) is not None


def _call_from_json(raw: Mapping[str, Any], now: datetime) -> ToolCall:
    """The call of a step file."""
    check_schema_version(raw)
    tool, outcome, seen = _get_object(raw, "tool"), _get_object(raw, "outcome"), _get_object(raw, "observation")
    ok = outcome.get("ok", True) is not False
    knowledge = seen.get("priorKnowledge")
    target = {key: value for key, value in _get_object(tool, "target").items() if key in TARGETS}
    after, picture = raw.get("afterScreen"), _get_object(raw, "screenshot").get("path")
    if "timestamp" not in raw:
        raise BadData("it has no timestamp")
    return ToolCall(
        tool=check_tool(tool.get("name")),
        target=check_target(target),
        input=check_json_object("input", _get_object(tool, "input")),
        error=check_error(None if ok else _get_object(outcome, "error"), ok=ok),
        before=_observation_from_json(seen),
        after_screen=None if after is None else check_name("afterScreen", after),
        screenshot=None if picture is None else check_path("screenshot", picture),
        duration_ms=check_number("durationMs", _get_object(raw, "timing").get("durationMs")),
        prior_knowledge=check_json_object("priorKnowledge", knowledge) if isinstance(knowledge, Mapping) else None,
        timestamp=check_past("timestamp", raw["timestamp"], now),
        origin=origin_of(check_string("origin", raw.get("origin", ""))),
        appeared=check_texts("appeared", _get_list(raw, "appeared")),
    )


def _observation_from_json(seen: Mapping[str, Any]) -> Observation | None:
    """The observation of a step file; None where the file says there was none."""
    if not seen or ("moment" in seen and seen["moment"] is None):
        return None
    state = _get_object(seen, "state")
    url = state.get("currentUrl") or state.get("url") or ""
    nodes = _get_list(_get_object(seen, "a11y"), "nodes")
    named = [{"name": "", **node} if isinstance(node, Mapping) else node for node in nodes]
    return check_observation(
        Observation(state.get("currentScreen") or None, url, tuple(_get_list(seen, "testIds")), tuple(named))
    )


def _get_list(raw: Mapping[str, Any], name: str) -> list[Any]:
    """A list in a file; empty if it is missing."""
    found = raw.get(name) or []
    if not isinstance(found, list):
        raise BadData(f"{name} must be a list, not {type(found).__name__}.")
    return found


def _get_object(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object in a file; empty if it is missing."""
    try:
        return check_mapping(name, raw.get(name))
    except InvalidInput as error:
        raise BadData(str(error)) from error

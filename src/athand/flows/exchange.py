"""Sessions in and out as folders. What is damaged is named and left out; nothing that is there is changed."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from athand.errors import BadData, Conflict, InvalidInput, NotFound, StoreError
from athand.flows import layout, recording, records, retelling, sessions
from athand.flows.desk import Desk
from athand.flows.model import FlowSession, Step
from athand.flows.passages import to_passage
from athand.flows.recording import Call
from athand.flows.scoring import INDEX
from athand.store import Transaction
from athand.types import Noun

LARGEST_FILE = 20_000_000
LARGEST_SESSION = 500_000_000
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Imported(Noun):
    """What came of an import: new sessions and steps, sessions that were known already, and what was left out."""

    sessions: int = 0
    steps: int = 0
    known: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    session: FlowSession
    calls: Sequence[Call]
    problems: tuple[str, ...]


def import_folder(desk: Desk, path: Path, app: str, progress: Progress) -> Imported:
    """Take in every session of a folder, or the one that it is; each at once or not at all."""
    folders = _session_folders(path)
    done = Imported()
    for at, folder in enumerate(folders):
        try:
            read = _read(desk, folder, app)
            steps = _write(desk, read)
        except (InvalidInput, Conflict) as error:
            done = replace(done, problems=(*done.problems, f"{folder.name}: {error}"))
        else:
            done = Imported(
                done.sessions + (steps is not None and steps >= 0),
                done.steps + max(0, steps or 0),
                done.known + (steps is None),
                (*done.problems, *read.problems),
            )
        progress(at + 1, len(folders))
    return done


def _session_folders(path: Path) -> list[Path]:
    if not path.is_dir():
        raise NotFound(f"{path} is no folder. Give a folder with a session, or with sessions, in it.")
    try:
        inside = [each for each in path.iterdir() if not each.name.startswith(".")]  # what is hidden may be unfinished
        found = [each for each in sorted((path, *inside)) if _is_session(each)]
    except OSError as error:
        raise BadData(f"{path} cannot be read: {error.strerror}. Check its permissions.") from error
    if not found:
        raise BadData(f"{path} has no session in it: a session is a folder with session.json or steps.")
    return found


def _is_session(folder: Path) -> bool:
    return (
        folder.is_dir()
        and not folder.is_symlink()
        and any((folder / name).exists() for name in ("session.json", "steps"))
    )


def _read(desk: Desk, folder: Path, app: str) -> _Read:
    """A session of a folder; steps that cannot be read are named."""
    now = desk.now()
    raw_steps, problems = _raw_steps(folder, now)
    has_metadata = (folder / "session.json").exists()
    about = _json(folder / "session.json") if has_metadata else _guessed(raw_steps)
    session = layout.session_from_json(about, folder.name, app, now)
    calls = layout.calls_from_json(raw_steps, now) if raw_steps else []
    return _Read(replace(session, has_metadata=has_metadata and session.has_metadata), calls, tuple(problems))


def _raw_steps(folder: Path, now: datetime) -> tuple[list[dict[str, Any]], list[str]]:
    """The steps as their files have them, in the order they were done, and what cannot be read."""
    timed: list[tuple[datetime, dict[str, Any]]] = []
    problems = []
    files = sorted((folder / "steps").glob("*.json"))
    if (folder / "steps").is_symlink() or sum(file.lstat().st_size for file in files) > LARGEST_SESSION:
        raise BadData(f"its folder steps is a link, or has more than {LARGEST_SESSION:,} bytes in it")
    for file in files:
        try:
            raw = _json(file)
            timed += [(call.timestamp or now, raw) for call in layout.calls_from_json([raw], now)]
        except InvalidInput as error:
            problems.append(f"{folder.name}/steps/{file.name}: {error}")
    return [raw for _, raw in sorted(timed, key=lambda each: each[0])], problems


def _guessed(raw_steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What can be said of a session without metadata."""
    return {"createdAt": raw_steps[0]["timestamp"]} if raw_steps else {}


def _json(file: Path) -> dict[str, Any]:
    """An object from a file of an ordinary size that really is there."""
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST_FILE:
            raise BadData(f"{file.name} is no plain file of at most {LARGEST_FILE:,} bytes")
        raw = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadData(f"{file.name} cannot be read: {error}") from error
    if not isinstance(raw, dict):
        raise BadData(f"{file.name} is not a JSON object")
    return raw


def _write(desk: Desk, read: _Read) -> int | None:
    """Write what is new of a session, at once; how many steps that were, None if nothing."""
    session, now = read.session, desk.now()
    with desk.store.snapshot() as snapshot:
        known = records.sessions_by_id(snapshot, [session.id]).get(session.id)
    kept = known.steps if known else 0
    if known and known.app != session.app:
        raise Conflict(f"there is a session {session.id!r} of the app {known.app!r} already")
    if known and kept >= len(read.calls):
        return None
    steps = [recording.prepare(desk, session, call) for call in read.calls]
    new = retelling.steps_without_typed(desk, session.id, steps[kept:])
    session = retelling.without_typed(desk, known or session)
    vectors = desk.embed([to_passage(session, step) for step in new])
    with desk.store.transaction(spaces=(session.app,)) as transaction:
        if not known:
            sessions.add(transaction, session, now)
        written = _write_steps(transaction, session.id, new, kept, now)
        transaction.put(INDEX, [to_passage(session, step) for step in written], vectors)
    return len(written)


def _write_steps(
    transaction: Transaction, session_id: str, steps: Sequence[Step], kept: int, now: datetime
) -> list[Step]:
    """Write steps after those that are kept; somebody else may have been faster."""
    if records.get_session(transaction, session_id).steps != kept:
        raise Conflict(f"the session {session_id!r} is being recorded just now. Import it again later")
    return [recording.write(transaction, step, now) for step in steps]


def export_folder(desk: Desk, path: Path, chosen: Sequence[FlowSession] | None) -> list[Path]:
    """Write sessions as folders inside of another; a folder that is there already is not touched."""
    folders = []
    for session in chosen if chosen is not None else _all(desk):
        with desk.store.snapshot() as snapshot:
            steps = records.steps_of(snapshot, session)
        folder = path / session.id
        if os.path.lexists(folder):
            raise Conflict(f"{folder} is there already. Export to another folder, or move it away.")
        try:
            _export(folder, session, steps)
        except OSError as error:
            raise StoreError(f"{folder} cannot be written: {error.strerror}. Choose another folder.") from error
        folders.append(folder)
    return folders


def _all(desk: Desk) -> list[FlowSession]:
    with desk.store.snapshot() as snapshot:
        rows = snapshot.rows(f"SELECT {records.SESSION} FROM flows ORDER BY created_at, id")
    return [records.to_session(row) for row in rows]


def _export(folder: Path, session: FlowSession, steps: Sequence[Step]) -> None:
    """Write a session for its owner's eyes alone, whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder.parent))
    try:
        (unfinished / "steps").mkdir(mode=0o700)
        if session.has_metadata:
            _save(unfinished / "session.json", layout.session_to_json(session))
        for step in steps:
            _save(unfinished / "steps" / _file_name(step), layout.step_to_json(step))
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _file_name(step: Step) -> str:
    """A name that leads nowhere else, whatever the tool is called."""
    return f"{step.position:05}-{re.sub(r'[^A-Za-z0-9_-]+', '_', step.verb)[:60]}.json"


def _save(file: Path, value: Mapping[str, Any]) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        json.dump(value, out, ensure_ascii=False, indent=2)
        out.write("\n")

"""The registry of folders: ids, paths, states and problems."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from athand.documents.context import DocumentContext
from athand.documents.cursors import ensure_key
from athand.documents.model import Folder, Problem
from athand.errors import Conflict, InvalidInput, NotFound
from athand.inputs import check_name, is_text, suggest
from athand.store import Snapshot, Transaction, check_types, to_datetime, to_microseconds

_COLUMNS = (
    "f.space, f.path, f.host, f.project, f.state, f.reason, f.done, f.total, f.skipped, f.generation, f.added_at, "
    "f.indexed_at, f.updated_at"
)
_COUNTS = (
    "(SELECT count(*) FROM documents d WHERE d.space = {0}), "
    "(SELECT coalesce(sum(d.chunks), 0) FROM documents d WHERE d.space = {0}), "
    "(SELECT count(*) FROM document_problems p WHERE p.space = {0})"
)
_HERE = "WHERE f.space = :space"
_SELECT_RECORD = "SELECT space, path, host, state, generation, indexed_at, updated_at FROM document_folders"
_MAX_ID_LENGTH = 40
IMPORTED = "imported"  # by an archive; nothing in it is read before the user asks for it
INTERRUPTED = "indexing was interrupted; the next search or refresh continues it"
# An indexing process updates its folder at least this often; after a longer silence it counts as interrupted.
_STALLED_MICROSECONDS, _ACTIVE_MICROSECONDS = 120_000_000, 10_000_000


@dataclass(frozen=True, slots=True)
class FolderRecord:
    """The row of a registered folder."""

    folder_id: str
    path: str
    host: str
    state: str
    generation: int
    indexed_at: int | None
    updated_at: int

    @property
    def is_waiting(self) -> bool:
        """Whether it came with an archive and nobody has asked for it yet."""
        return self.state == IMPORTED

    def is_being_indexed(self, now: datetime) -> bool:
        """Whether a process is indexing it, or was within the last seconds."""
        return self.state == "indexing" and to_microseconds(now) - self.updated_at < _ACTIVE_MICROSECONDS


def get_folder(snapshot: Snapshot, folder_id: object) -> FolderRecord:
    """The folder with this id; else NotFound."""
    found = []
    if is_text(folder_id):
        found = snapshot.rows(f"{_SELECT_RECORD} WHERE space = :space", {"space": folder_id})
    if not found:
        hint = suggest(
            folder_id, (row[0] for row in snapshot.rows("SELECT space FROM document_folders ORDER BY space"))
        )
        raise NotFound(f"No folder {folder_id!r}.{hint} See which there are with: athand docs status")
    return check_types(FolderRecord(*found[0]))


def all_folders(snapshot: Snapshot) -> list[FolderRecord]:
    """All folders, ordered by id."""
    return [check_types(FolderRecord(*row)) for row in snapshot.rows(f"{_SELECT_RECORD} ORDER BY space")]


def project_folders(snapshot: Snapshot, project: str) -> list[FolderRecord]:
    """The folders of a project and those without a project."""
    sql = f"{_SELECT_RECORD} WHERE project = :project OR project IS NULL ORDER BY space"
    return [check_types(FolderRecord(*row)) for row in snapshot.rows(sql, {"project": check_name("project", project)})]


def describe_folders(context: DocumentContext, snapshot: Snapshot, folder_id: str | None = None) -> list[Folder]:
    """The folders with states and counts: all, or the one with this id."""
    if folder_id is not None and not is_text(folder_id):
        return []
    where, counts = ("", _COUNTS.format("f.space")) if folder_id is None else (_HERE, _COUNTS.format(":space"))
    found = snapshot.rows(
        f"SELECT {_COLUMNS}, {counts} FROM document_folders f {where} ORDER BY f.space", {"space": folder_id}
    )
    return [_to_folder(context, row) for row in found]


def list_problems(snapshot: Snapshot, folder_id: str) -> list[Problem]:
    """The problems of a folder's files, ordered by path."""
    sql = "SELECT space, id, reason, is_indexed FROM document_problems WHERE space = :space ORDER BY id"
    return [
        Problem(space, id_, reason, bool(ok)) for space, id_, reason, ok in snapshot.rows(sql, {"space": folder_id})
    ]


def register(context: DocumentContext, path: str, folder_id: str | None, project: str | None) -> str:
    """Registers a folder under a free id, or updates it; returns its id."""
    with context.store.transaction() as transaction:
        rows = transaction.rows("SELECT space, path, host FROM document_folders ORDER BY space")
        names = {name: other if _is_local(context, host) else f"{other} on {host}" for name, other, host in rows}
        known = next((name for name, other in names.items() if other == path), None)
        chosen = _choose_id(names, path, folder_id, known)
        ensure_key(transaction)
        if chosen not in names:
            now = to_microseconds(context.now())
            own = {"space": chosen, "path": path, "host": context.host, "project": project}
            insert(transaction, {**own, "added_at": now}, "pending", now)
        else:
            transaction.execute(
                "UPDATE document_folders SET path = :path, host = :host, project = coalesce(:project, project) "
                "WHERE space = :space",
                {"path": path, "host": context.host, "project": project, "space": chosen},
            )
    return chosen


def unregister(transaction: Transaction, folder_id: str) -> None:
    """Deletes a folder whose documents are deleted already."""
    for table in ("document_problems", "document_folders"):
        transaction.execute(f"DELETE FROM {table} WHERE space = :space", {"space": folder_id})


def set_state(transaction: Transaction, context: DocumentContext, folder_id: str, **values: Any) -> None:
    """Updates columns of a folder and its time of change."""
    assigned = ", ".join(f"{name} = :{name}" for name in values)
    transaction.execute(
        f"UPDATE document_folders SET {assigned}, updated_at = :now WHERE space = :space",
        {**values, "now": to_microseconds(context.now()), "space": folder_id},
    )


def check_folder_path(path: object) -> str:
    """The real path of an existing folder."""
    given = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(f"{path!r} is not the path of a folder. For the one you are in, write: .")
    try:
        real = Path(given).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise NotFound(f"{path} does not exist, or cannot be reached.") from error
    if not real.is_dir():
        raise InvalidInput(f"{path} is not a folder. Give the folder it is in.")
    if not is_text(str(real)):
        raise InvalidInput(f"{str(real)!r} is not valid Unicode. Rename the folder first.")
    return str(real)


def is_reachable(context: DocumentContext, path: str, host: str) -> bool:
    """Whether a folder is on this machine and exists."""
    return _is_local(context, host) and Path(path).is_dir()


def absence_reason(context: DocumentContext, folder: FolderRecord | Folder, host: str) -> str:
    """Why a folder is not reachable."""
    where = "is not there now" if _is_local(context, host) else f"is on another machine ({host})"
    return f"{folder.path} {where}; what was indexed is still found"


def _is_local(context: DocumentContext, host: str) -> bool:
    return not context.is_shared or host == context.host


def _choose_id(names: Mapping[str, str], path: str, wanted: str | None, known: str | None) -> str:
    if wanted is None:
        return known or _free_id(names, path)
    check_folder_id(wanted)
    if known not in (None, wanted):
        raise Conflict(f"{path} is known as {known}. Use that name, or first: athand docs remove {known}")
    if names.get(wanted, path) != path:
        raise Conflict(f"{wanted} is the name of {names[wanted]}. Choose another one with --name.")
    return wanted


def check_folder_id(value: object) -> str:
    """A name that is fit for a folder."""
    name = check_name("folder_id", value)
    if name != re.sub(r"[^\w.-]", "", name):
        raise InvalidInput(f"folder_id {name!r} may have letters, digits, dots, dashes and underscores only.")
    return name


def _free_id(names: Mapping[str, str], path: str) -> str:
    base = re.sub(r"[^\w.-]+", "-", Path(path).name.lower()).strip("-.")[:_MAX_ID_LENGTH] or "folder"
    number = 1
    while (name := base if number == 1 else f"{base}-{number}") in names:
        number += 1
    return name


def insert(transaction: Transaction, folder: Mapping[str, Any], state: str, now: int) -> None:
    """Writes a new folder: its space, path, host, project and time of adding."""
    transaction.execute(
        # The generation starts at the time, so that it differs from those of a removed folder with the same id.
        "INSERT INTO document_folders (space, path, host, project, state, generation, added_at, updated_at) "
        "VALUES (:space, :path, :host, :project, :state, :now, :added_at, :now)",
        {**folder, "state": state, "now": now},
    )


def _to_folder(context: DocumentContext, row: tuple[Any, ...]) -> Folder:
    space, path, host, project, state, reason, done, total, skipped, generation, added, indexed, updated = row[:13]
    documents, chunks, problems = map(int, row[13:])
    if state == "indexing" and to_microseconds(context.now()) - updated > _STALLED_MICROSECONDS:
        state, reason = "pending", INTERRUPTED
    folder = Folder(
        space,
        path,
        project,
        state,
        reason,
        done,
        total,
        documents,
        chunks,
        problems,
        json.loads(skipped),
        generation,
        to_datetime(added),
        None if indexed is None else to_datetime(indexed),
    )
    if is_reachable(context, path, host):
        return folder
    return replace(folder, state="offline", reason=absence_reason(context, folder, host))

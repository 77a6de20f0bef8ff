"""Export and import of all user data as one file: memories, flows, tools with their approvals, names of folders.

The file is a zip: `athand.json` names the others with their hashes, `*.jsonl` has an object in each line, and
`flows/<app>/<session>/` the folders of sessions. The text of documents is not in it: folders are indexed again.
An archive may come from somebody else: what it says about trust, approvals and folders is for the user to decide again.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from athand.archive_file import ArchiveWriter, Progress, create_archive, unpack
from athand.archive_rows import ArchivedRows, export_rows, put_folders, put_rejections, put_tools, read_lines, read_rows
from athand.errors import Conflict, StoreError
from athand.flows import Flows
from athand.flows import transfer as flow_transfer
from athand.flows.rows import read_steps
from athand.memories import Memories
from athand.memories import transfer as memory_transfer
from athand.store import Snapshot, Store, check_target
from athand.store.tables import read_tables
from athand.tools import Tools
from athand.types import Noun

MEMORIES, TOOLS, FOLDERS, REJECTIONS = "memories.jsonl", "tools.jsonl", "folders.jsonl", "rejections.jsonl"
FLOWS = "flows"
_ROWS = {
    TOOLS: ("tool_servers", "tools", "tool_rules"),
    FOLDERS: ("document_folders",),
    REJECTIONS: ("flow_rejections",),
}
_COUNTED = {"tool_servers": "servers", "tools": "tools", "tool_rules": "rules", "document_folders": "folders"}


@dataclass(frozen=True, slots=True)
class Content:
    """The store and the corpora whose data an archive has."""

    store: Store
    memories: Memories
    tools: Tools
    flows: Flows


@dataclass(frozen=True, slots=True)
class ExportCounts(Noun):
    """How much an export wrote."""

    memories: int = 0
    sessions: int = 0
    tools: int = 0
    servers: int = 0
    rules: int = 0
    folders: int = 0
    problems: tuple[str, ...] = ()  # what could not be read


@dataclass(frozen=True, slots=True)
class ImportCounts(ExportCounts):
    """How much an import added, and what waits for a decision of the user."""

    waiting: tuple[str, ...] = ()


def write(content: Content, path: Path, progress: Progress, *, force: bool) -> ExportCounts:
    """Writes everything to a private file, atomically."""
    check_target(content.store, path)
    if os.path.lexists(path) and not force:
        raise Conflict(f"{path} is there already. Give another path, or --force to write over it.")
    try:
        with (
            content.store.salvage() as (store, damaged),
            create_archive(path) as archive,
            store.snapshot() as snapshot,
        ):
            counts = ExportCounts(**_write_parts(content, snapshot, archive, progress), problems=tuple(damaged))
            archive.add_header(counts.to_dict())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}. Choose another path.") from error
    return counts


def read(content: Content, path: Path, progress: Progress) -> ImportCounts:
    """Imports what does not exist yet. Each kind is imported entirely or not at all; a repeated import continues."""
    with _temporary_folder() as folder:
        unpack(path, folder, progress)
        rows = read_rows(*(read_lines(folder / name) for name in (TOOLS, FOLDERS, REJECTIONS)))
        done = ImportCounts()
        if (folder / MEMORIES).is_file():
            imported = content.memories.import_(folder / MEMORIES, progress=lambda *at: progress("memories", *at))
            done = replace(done, memories=imported.new)
        done = _read_flows(content, folder, done, progress)
        return _put_rows(content, rows, done)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A temporary folder, removed even if its removal is interrupted."""
    with tempfile.TemporaryDirectory(prefix=".athand-") as folder:
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # TemporaryDirectory removes what this leaves


def _write_parts(content: Content, snapshot: Snapshot, archive: ArchiveWriter, progress: Progress) -> dict[str, int]:
    """Writes all parts of the archive as they are in one snapshot."""
    progress("memories", 0, 1)
    counts = {"memories": 0}

    def memory_lines() -> Iterator[Mapping[str, Any]]:
        for line in memory_transfer.lines_of(snapshot, content.memories):
            counts["memories"] += memory_transfer.is_memory(line)
            yield line

    archive.add(MEMORIES, _to_lines(memory_lines()))
    counts["sessions"] = _write_flows(snapshot, archive, progress)
    tables = read_tables(content.store.schemas)
    for name, exported in _ROWS.items():
        lines = [line for table in exported for line in export_rows(snapshot, tables[table])]
        archive.add(name, _to_lines(lines))
        counts |= {
            _COUNTED[each]: sum(line["table"] == each for line in lines) for each in exported if each in _COUNTED
        }
    return counts


def _write_flows(snapshot: Snapshot, archive: ArchiveWriter, progress: Progress) -> int:
    """Writes the folder of every session; returns how many there are."""
    sessions = flow_transfer.all_sessions(snapshot)
    for at, session in enumerate(sessions):
        progress("flows", at, len(sessions))
        for name, value in flow_transfer.files_of(session, read_steps(snapshot, session)):
            text = json.dumps(value, ensure_ascii=False, indent=2)
            archive.add(f"{FLOWS}/{session.app}/{session.id}/{name}", [f"{text}\n".encode()])
    progress("flows", len(sessions), len(sessions))
    return len(sessions)


def _to_lines(values: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """JSON Lines."""
    return (json.dumps(value, ensure_ascii=False, sort_keys=True).encode() + b"\n" for value in values)


def _read_flows(content: Content, folder: Path, done: ImportCounts, progress: Progress) -> ImportCounts:
    apps = sorted((folder / FLOWS).iterdir()) if (folder / FLOWS).is_dir() else []
    for app in apps:
        imported = content.flows.import_(app, app=app.name, progress=lambda *at: progress("flows", *at))
        done = replace(done, sessions=done.sessions + imported.sessions, problems=(*done.problems, *imported.problems))
    return done


def _put_rows(content: Content, rows: ArchivedRows, done: ImportCounts) -> ImportCounts:
    """Imports tools, folders and rejections, each kind in one transaction."""
    tools = put_tools(content.tools, rows)
    folders = put_folders(content.store, rows, datetime.now(UTC))
    put_rejections(content.store, rows)
    return replace(
        done,
        servers=tools.servers,
        tools=tools.tools,
        rules=tools.rules,
        folders=len(folders),
        waiting=(
            *tools.waiting,
            *(f"the folder {path} is not read before: athand docs add {path}" for path in folders),
        ),
    )

"""Export and import of all user data as one file: memories, flows, tools with their approvals, names of folders.

The file is a zip: `athand.json` names the others with their hashes, `*.jsonl` has an object in each line, and
`flows/<app>/<session>/` the folders of sessions. The text of documents is not in it: folders are indexed again.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from athand.archive_file import Progress, pack, unpack
from athand.archive_rows import export_rows, put_folders, put_rejections, put_tools, read_lines, write_lines
from athand.errors import Conflict, StoreError
from athand.flows import Flows
from athand.memories import Memories
from athand.store import Store, check_target
from athand.store.tables import read_tables
from athand.tools import Tools
from athand.types import Noun

MEMORIES, TOOLS, FOLDERS, REJECTIONS = "memories.jsonl", "tools.jsonl", "folders.jsonl", "rejections.jsonl"
FLOWS = "flows"
_ROWS = {
    TOOLS: ("tool_servers", "tools", "tool_rules", "tool_trust"),
    FOLDERS: ("document_folders",),
    REJECTIONS: ("flow_rejections",),
}
_COUNTED = {
    "tool_servers": "servers",
    "tools": "tools",
    "tool_rules": "rules",
    "tool_trust": "trusted",
    "document_folders": "folders",
    "flow_rejections": "rejections",
}


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


@dataclass(frozen=True, slots=True)
class ImportCounts(ExportCounts):
    """How much an import added, and what it could not read."""

    problems: tuple[str, ...] = ()


def write(content: Content, path: Path, progress: Progress, *, force: bool) -> ExportCounts:
    """Writes everything to a private file, atomically."""
    check_target(content.store, path)
    if os.path.lexists(path) and not force:
        raise Conflict(f"{path} is there already. Give another path, or --force to write over it.")
    try:
        with _temporary_folder(path.parent) as folder:
            counts = _write_parts(content, folder, progress)
            pack(folder, path, counts.to_dict(), progress)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}. Choose another path.") from error
    return counts


def read(content: Content, path: Path, progress: Progress) -> ImportCounts:
    """Imports what does not exist yet. Each kind is imported entirely or not at all; a repeated import continues."""
    with _temporary_folder() as folder:
        unpack(path, folder, progress)
        done = ImportCounts()
        if (folder / MEMORIES).is_file():
            imported = content.memories.import_(folder / MEMORIES, progress=lambda *at: progress("memories", *at))
            done = replace(done, memories=imported.new)
        done = _read_flows(content, folder, done, progress)
        return _read_rows(content, folder, done)


@contextmanager
def _temporary_folder(place: Path | None = None) -> Iterator[Path]:
    """A temporary folder, removed even if its removal is interrupted."""
    with tempfile.TemporaryDirectory(prefix=".athand-", dir=place) as folder:
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # TemporaryDirectory removes what this leaves


def _write_parts(content: Content, folder: Path, progress: Progress) -> ExportCounts:
    """Writes all parts of the archive into a folder."""
    progress("memories", 0, 1)
    memories = content.memories.export(folder / MEMORIES)
    progress("flows", 0, 1)
    sessions = content.flows.export(folder / "sessions")
    for session in sessions:
        place = folder / FLOWS / content.flows.session(session.name).app
        place.mkdir(parents=True, exist_ok=True)
        session.rename(place / session.name)
    counts = {"memories": memories, "sessions": len(sessions)}
    tables = read_tables(content.store.schemas)
    with content.store.snapshot() as snapshot:
        for name, exported in _ROWS.items():
            lines = [line for table in exported for line in export_rows(snapshot, tables[table])]
            write_lines(folder / name, lines)
            counts |= {_COUNTED[table]: sum(line["table"] == table for line in lines) for table in exported}
    return ExportCounts(**{each.name: counts[each.name] for each in fields(ExportCounts)})


def _read_flows(content: Content, folder: Path, done: ImportCounts, progress: Progress) -> ImportCounts:
    apps = sorted((folder / FLOWS).iterdir()) if (folder / FLOWS).is_dir() else []
    for app in apps:
        imported = content.flows.import_(app, app=app.name, progress=lambda *at: progress("flows", *at))
        done = replace(done, sessions=done.sessions + imported.sessions, problems=(*done.problems, *imported.problems))
    return done


def _read_rows(content: Content, folder: Path, done: ImportCounts) -> ImportCounts:
    """Imports tools, folders and rejections, each kind in one transaction."""
    counts = put_tools(content.store, content.tools, read_lines(folder / TOOLS))
    folders = put_folders(content.store, read_lines(folder / FOLDERS), datetime.now(UTC))
    put_rejections(content.store, read_lines(folder / REJECTIONS))
    return replace(done, folders=folders, tools=counts["tools"], servers=counts["servers"], rules=counts["rules"])

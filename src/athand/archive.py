"""Export and import of all user data as one file: memories, flows, tools with their approvals, names of folders.

The file is a zip: `athand.json` names the others with their hashes, `*.jsonl` has an object in each line, and
`flows/<app>/<session>/` the folders of sessions. The text of documents is not in it: folders are indexed again.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from athand.archive_reader import HEADER, unpack
from athand.archive_rows import export_rows, put_folders, put_rejections, put_tools
from athand.errors import BadData, Conflict, StoreError
from athand.files import replace_atomically
from athand.flows import Flows
from athand.memories import Memories
from athand.store import Store, check_target
from athand.store.tables import read_tables
from athand.tools import Tools
from athand.types import Noun

FORMAT = {"format": "athand-archive", "version": 1}
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
Progress = Callable[[str, int, int], None]  # what, done, total


@dataclass(frozen=True, slots=True)
class Content:
    """What is exported and imported into."""

    store: Store
    memories: Memories
    tools: Tools
    flows: Flows


@dataclass(frozen=True, slots=True)
class Archived(Noun):
    """How much an export wrote."""

    memories: int = 0
    sessions: int = 0
    tools: int = 0
    servers: int = 0
    rules: int = 0
    folders: int = 0


@dataclass(frozen=True, slots=True)
class Unarchived(Archived):
    """How much an import added, and what it could not read."""

    problems: tuple[str, ...] = ()


def write(content: Content, path: Path, progress: Progress, *, force: bool) -> Archived:
    """Writes everything to a private file, atomically."""
    check_target(content.store, path)
    if os.path.lexists(path) and not force:
        raise Conflict(f"{path} is there already. Give another path, or --force to write over it.")
    try:
        with _temporary_folder(path.parent) as folder:
            counts = _write_parts(content, folder, progress)
            _pack(folder, path, counts, progress)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}. Choose another path.") from error
    return counts


def read(content: Content, path: Path, progress: Progress) -> Unarchived:
    """Imports what is not there yet. Each kind is imported entirely or not at all; a repeated import continues."""
    with _temporary_folder() as folder:
        unpack(path, folder, FORMAT, progress)
        done = Unarchived()
        if (folder / MEMORIES).is_file():
            told = content.memories.import_(folder / MEMORIES, progress=lambda *at: progress("memories", *at))
            done = replace(done, memories=told.new)
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


def _write_parts(content: Content, folder: Path, progress: Progress) -> Archived:
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
            _write_lines(folder / name, lines)
            counts |= {_COUNTED[table]: sum(line["table"] == table for line in lines) for table in exported}
    return Archived(**{each.name: counts[each.name] for each in fields(Archived)})


def _write_lines(file: Path, lines: list[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as out:
        for line in lines:
            out.write(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n")


def _pack(folder: Path, path: Path, counts: Archived, progress: Progress) -> None:
    """Packs the files of a folder into an archive, with their hashes in its header."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    hashes: dict[str, str] = {}
    with replace_atomically(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for at, file in enumerate(files):
            name = file.relative_to(folder).as_posix()
            with file.open("rb") as source:
                hashes[name] = hashlib.file_digest(source, "sha256").hexdigest()
            archive.write(file, name)
            progress("packing", at + 1, len(files))
        header = {**FORMAT, "created_at": datetime.now(UTC).isoformat(), "counts": counts.to_dict(), "files": hashes}
        archive.writestr(HEADER, json.dumps(header, ensure_ascii=False, indent=1))


def _read_flows(content: Content, folder: Path, done: Unarchived, progress: Progress) -> Unarchived:
    apps = sorted((folder / FLOWS).iterdir()) if (folder / FLOWS).is_dir() else []
    for app in apps:
        told = content.flows.import_(app, app=app.name, progress=lambda *at: progress("flows", *at))
        done = replace(done, sessions=done.sessions + told.sessions, problems=(*done.problems, *told.problems))
    return done


def _read_rows(content: Content, folder: Path, done: Unarchived) -> Unarchived:
    """Imports tools, folders and rejections, each kind in one transaction."""
    counts = put_tools(content.store, content.tools, _read_lines(folder / TOOLS))
    folders = put_folders(content.store, _read_lines(folder / FOLDERS), datetime.now(UTC))
    put_rejections(content.store, _read_lines(folder / REJECTIONS))
    return replace(done, folders=folders, tools=counts["tools"], servers=counts["servers"], rules=counts["rules"])


def _read_lines(file: Path) -> list[Mapping[str, Any]]:
    """The objects of a JSON Lines file; none if there is no file."""
    if not file.is_file() or not file.stat().st_size:
        return []
    found = []
    for number, line in enumerate(file.read_bytes().removesuffix(b"\n").split(b"\n"), 1):
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise BadData(f"{file.name} line {number} is not JSON: {error}. Nothing of it was imported.") from error
        if not isinstance(found[-1], dict):
            raise BadData(f"{file.name} line {number} is no object. Nothing of it was imported.")
    return found

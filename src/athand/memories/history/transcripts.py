"""Transcripts on this machine: where clients keep them, and how far each has been read."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from athand.files import open_regular
from athand.memories.history import claude_code, codex, gemini
from athand.memories.history.model import Record, SessionFacts, Turn
from athand.memories.model import GLOBAL_SPACE
from athand.store import Snapshot, Transaction

Reader = Callable[[Iterable[tuple[int, Record]], SessionFacts], Iterator[Turn]]
# By client: the variable that names its folder, the folder below the home, the patterns below it, and the reader.
_CLIENTS: Mapping[str, tuple[str | None, str, tuple[str, ...], Reader]] = {
    "claude-code": (
        "CLAUDE_CONFIG_DIR",
        ".claude",
        ("projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl"),
        claude_code.read_turns,
    ),
    "codex": ("CODEX_HOME", ".codex", ("sessions/**/rollout-*.jsonl",), codex.read_turns),
    "gemini": (None, ".gemini", ("tmp/*/chats/session-*.jsonl",), gemini.read_turns),
}
CLIENTS = tuple(_CLIENTS)
_LONGEST_PATH = 4_096
_MARKED = 1_024  # bytes at the beginning and at the end of what was read


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file of a client."""

    client: str
    path: Path

    @property
    def reader(self) -> Reader:
        """What reads it."""
        return _CLIENTS[self.client][3]

    @property
    def has_head(self) -> bool:
        """Whether its first record describes the session, and is needed wherever one reads on."""
        return self.client in ("codex", "gemini")

    @property
    def folder(self) -> str | None:
        """The folder that the session was in, where the client notes it beside the transcript."""
        note = self.path.parent.parent / ".project_root"
        if self.client != "gemini" or not note.is_file():
            return None
        with open_regular(note, follow_links=False) as file:
            return file.read(_LONGEST_PATH).decode("utf-8", "replace").strip() or None

    @property
    def is_of_helper(self) -> bool:
        """Whether it is of an agent that another one started in its session."""
        return self.path.parent.name == "subagents"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a transcript was read: the offset of the first turn that may still grow, and what the file was then."""

    offset: int = 0
    mark: str = ""  # of what stands before the offset: another one, and the file was written anew
    size: int = -1
    modified_at: int = 0  # nanoseconds


def find_transcripts(home: Path, environment: Mapping[str, str], clients: Iterable[str] = CLIENTS) -> list[Transcript]:
    """All transcripts of these clients, in order."""
    found = []
    for client in clients:
        variable, folder, patterns, _ = _CLIENTS[client]
        top = Path((environment.get(variable) if variable else None) or home / folder)
        found += [Transcript(client, path) for pattern in patterns for path in sorted(top.glob(pattern))]
    return found


def make_mark(file: BinaryIO, offset: int) -> str:
    """A hash of the beginning and the end of what stands before an offset; the file is read on from where it was."""
    length = min(_MARKED, offset)
    ends = (os.pread(file.fileno(), length, start) for start in (0, offset - length))
    return hashlib.sha256(b"".join(ends)).hexdigest()


def load_progress(snapshot: Snapshot, host: str) -> dict[str, Progress]:
    """How far the transcripts of a machine were read, by path."""
    rows = snapshot.rows(
        "SELECT path, read_to, mark, size, modified_at FROM memory_transcripts WHERE space = :space AND host = :host",
        {"space": GLOBAL_SPACE, "host": host},
    )
    return {path: Progress(*rest) for path, *rest in rows}


def put_progress(transaction: Transaction, host: str, path: str, progress: Progress) -> None:
    """Notes how far a transcript was read."""
    transaction.execute(
        "INSERT INTO memory_transcripts (space, host, path, read_to, mark, size, modified_at) "
        "VALUES (:space, :host, :path, :offset, :mark, :size, :modified_at) ON CONFLICT (space, host, path) DO UPDATE "
        "SET read_to = excluded.read_to, mark = excluded.mark, size = excluded.size, "
        "modified_at = excluded.modified_at",
        {
            "space": GLOBAL_SPACE,
            "host": host,
            "path": path,
            "offset": progress.offset,
            "mark": progress.mark,
            "size": progress.size,
            "modified_at": progress.modified_at,
        },
    )

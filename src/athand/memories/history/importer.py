"""Reads transcripts into memories: what is new in each, in batches that are durable when they are counted."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from os import fstat
from typing import TYPE_CHECKING, Any, BinaryIO

from athand.cancellation import until_cancelled
from athand.errors import InvalidInput
from athand.files import open_regular
from athand.memories import rows, sessions
from athand.memories.history.content import session_of, to_fields
from athand.memories.history.lines import Lines
from athand.memories.history.model import Record, SessionFacts, Turn
from athand.memories.history.transcripts import Progress, Transcript, load_progress, make_mark, put_progress
from athand.memories.model import HISTORY, Memory, Session
from athand.redaction import clean
from athand.store import Snapshot
from athand.text_length import shorten
from athand.types import Noun

if TYPE_CHECKING:
    from athand.memories.service import Memories

_BATCH = 128
_TITLE = 120
ProjectOf = Callable[[str | None], str]
Report = Callable[[int, int], None]


@dataclass(slots=True)
class ImportedHistory(Noun):
    """What an import has read."""

    files: int = 0  # that had something to read
    turns: int = 0
    new: int = 0
    changed: int = 0
    skipped_lines: int = 0  # too long, or no records
    problems: list[str] = field(default_factory=list)  # files that could not be read


def import_history(
    memories: "Memories",
    transcripts: Sequence[Transcript],
    project_of: ProjectOf,
    host: str,
    report: Report = lambda done, total: None,
) -> ImportedHistory:
    """Reads what is new in these transcripts; what was read before is left as it is."""
    counts = ImportedHistory()
    with memories.store.snapshot() as snapshot:
        known = load_progress(snapshot, host)
    for at, transcript in enumerate(until_cancelled(transcripts)):
        report(at, len(transcripts))
        try:
            status = transcript.path.stat()
            before = known.get(str(transcript.path), Progress())
            if (status.st_size, status.st_mtime_ns) != (before.size, before.modified_at):
                with open_regular(transcript.path, follow_links=False) as file:
                    _Import(memories, transcript, project_of, host, counts).read(file, before)
        except OSError as error:
            counts.problems.append(f"{transcript.path}: {error.strerror or error}")
    report(len(transcripts), len(transcripts))
    return counts


@dataclass(slots=True)
class _Import:
    """The import of one transcript."""

    memories: "Memories"
    transcript: Transcript
    project_of: ProjectOf
    host: str
    counts: ImportedHistory
    facts: SessionFacts = field(default_factory=SessionFacts)
    projects: dict[str, str] = field(default_factory=dict)  # by session

    def read(self, file: BinaryIO, before: Progress) -> None:
        """Reads on from where the last turn has begun, which may have grown; another file from its beginning."""
        status = fstat(file.fileno())
        is_same = status.st_size >= before.offset and make_mark(file, before.offset) == before.mark
        start = before.offset if is_same else 0
        lines = Lines(file)
        self.facts.folder = self.transcript.folder
        turns = self.transcript.reader(chain(self._head(file, start), lines.read(start)), self.facts)
        batch: list[Turn] = []
        for turn in turns:
            if len(batch) == _BATCH:
                self._write(batch, Progress(turn.offset, make_mark(file, turn.offset)))
                batch = []
            batch.append(turn)
        end = batch[-1].offset if batch else start
        done = Progress(end, make_mark(file, end), status.st_size, status.st_mtime_ns)
        self._write(batch, done)
        self.counts.files += 1
        self.counts.skipped_lines += lines.skipped

    def _head(self, file: BinaryIO, start: int) -> Iterable[tuple[int, Record]]:
        return list(islice(Lines(file).read(0), 1)) if start and self.transcript.has_head else ()

    def _write(self, batch: Sequence[Turn], progress: Progress) -> None:
        """Writes turns, and only then how far the file was read: a turn that is read twice is the same memory."""
        now = self.memories.now()
        items = [to_fields(self.transcript.client, turn, self.facts, self._project(turn), now) for turn in batch]
        with self.memories.store.snapshot() as snapshot:
            known = rows.by_id(snapshot, [item["id"] for item in items], now)
        new = [item for item in {each["id"]: each for each in items}.values() if item["id"] not in known]
        added = len(_add(self.memories, new))
        changed = [item for item in items if item["id"] in known and _has_grown(known[item["id"]], item)]
        for item in changed:
            self.memories.update(item["id"], content=item["content"], files=item["files"], changed_by=HISTORY)
        with self.memories.store.transaction() as transaction:
            for session in self._sessions(transaction, batch if added or changed else ()):
                sessions.put(transaction, session)
            put_progress(transaction, self.host, str(self.transcript.path), progress)
        self.counts.turns += len(batch)
        self.counts.new += added
        self.counts.changed += len(changed)

    def _project(self, turn: Turn) -> str:
        """The project of the session: all its turns are of one."""
        id_ = session_of(turn)
        if id_ not in self.projects:
            with self.memories.store.snapshot() as snapshot:
                known = sessions.find(snapshot, id_)
            self.projects[id_] = known.project if known else self.project_of(turn.folder or self.facts.folder)
        return self.projects[id_]

    def _sessions(self, snapshot: Snapshot, batch: Sequence[Turn]) -> Iterator[Session]:
        """The sessions of these turns, with their end and a title: that of the client, or how they began."""
        if self.transcript.is_of_helper:
            return
        first = {session_of(turn): turn for turn in reversed(batch)}
        ends = {session_of(turn): turn.last_at for turn in batch if turn.last_at is not None}
        for id_, session in sessions.by_id(snapshot, first).items():
            summary = session.summary or make_title(self.facts.title or first[id_].prompt)
            ended = _later(session.ended_at, ends.get(id_), self.memories.now())
            yield replace(session, summary=summary, ended_at=ended)


def make_title(text: str) -> str:
    """A text as a title."""
    return shorten(" ".join(clean(text[: 10 * _TITLE]).split()), _TITLE)


def _later(one: datetime | None, other: datetime | None, now: datetime) -> datetime | None:
    return max((min(each, now) for each in (one, other) if each is not None), default=None)


def _has_grown(memory: Memory, item: dict[str, Any]) -> bool:
    """Whether a turn says something else than when it was read before; one that was forgotten stays so."""
    return not memory.is_deleted and memory.written_by == HISTORY and memory.content != clean(item["content"])


def _add(memories: "Memories", items: Sequence[dict[str, Any]]) -> list[Memory]:
    """Adds memories; one that is nothing but private is left out."""
    try:
        return memories.add_many(items) if items else []
    except InvalidInput:
        if len(items) == 1:
            return []
        return [memory for item in items for memory in _add(memories, [item])]

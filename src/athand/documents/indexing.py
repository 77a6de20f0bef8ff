"""Keeping the index of a folder like the folder: what is new is read, what is gone is removed, the rest is left alone.

Every document is written in one transaction with all that is derived from it. A run that was cut off is gone on with
by the next one: what it has written is right, and what it has not is still new.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from athand.documents import folders
from athand.documents.desk import Desk
from athand.documents.extract import Unreadable
from athand.documents.folders import INTERRUPTED, Registered
from athand.documents.preparing import Prepared, content_hash, prepare, rows_of, settled_stamp
from athand.documents.scoring import INDEX
from athand.documents.walking import Stamp, Unreachable, Walk, opened, read_file, walk
from athand.errors import StoreBusy, StoreError, Unavailable
from athand.redaction import redact
from athand.store import Passage, Snapshot, Transaction, to_microseconds
from athand.types import Vectors

log = logging.getLogger("athand")

BATCH = 256  # chunks that are embedded and written together
DELETED_TOGETHER = 100  # documents: others may write in between
_LOADED_CHARACTERS = 4_000_000  # of text that may wait to be written
_GRACE = 1.0  # seconds that are worth it when it is time to stop
_PATIENCE = 12  # times that somebody else is let write for as long as the store waits
_DOCUMENT = (
    *("space", "id", "kind", "language", "title", "encoding", "size", "modified_at", "stamp", "hash"),
    *("characters", "lines", "chunks", "phrases", "outline"),
)
_CHUNK = (
    *("space", "id", "document_id", "position", "start_offset", "end_offset", "start_line", "end_line"),
    *("heading", "names", "place", "content"),
)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a folder differs from its index."""

    folder: Registered
    seen: Walk
    known: dict[str, str]  # document -> the hash of what was indexed
    to_read: tuple[str, ...]
    gone: tuple[str, ...]
    problems: dict[str, tuple[str, bool, str]]  # path -> reason, whether it is indexed all the same, stamp
    is_needed: bool  # whether there is anything to write

    @property
    def size(self) -> int:
        """How much there is to read, in bytes."""
        return sum(self.seen.files[path].size for path in self.to_read)

    @property
    def changes(self) -> int:
        """How many documents are new, changed or gone."""
        return len(self.to_read) + len(self.gone)


def plan(desk: Desk, folder: Registered) -> Plan:
    """Look at the folder and compare it with the index."""
    if not folders.is_here(desk, folder.path, folder.host):
        raise Unavailable(f"{folders.away(desk, folder, folder.host)}.")
    # What is known comes first: what somebody else indexes while we look must not be taken for gone.
    with desk.store.snapshot() as snapshot:
        known = _known(snapshot, folder.folder_id)
        before = _problems(snapshot, folder.folder_id)
    with opened(folder.path) as root:
        seen = walk(root, _store_within(desk, folder.path), "/".join([*Path(folder.path).parts[-2:], ""]).lstrip("/"))
    if known and seen.is_empty:
        raise Unavailable(
            f"{folder.path} is empty now, as if it were not mounted. The index of {folder.folder_id} stays as it is; "
            f"if this is meant, forget it with: athand docs remove {folder.folder_id}"
        )
    stamps = {path: stamp for path, (stamp, _) in known.items()}
    failed = {path: stamp for path, (_, indexed, stamp) in before.items() if not indexed}
    changed = {
        path: None
        for path, stamp in seen.files.items()
        if (failed[path] != stamp.in_full if path in failed else stamps.get(path) != str(stamp))
    }
    gone = [path for path in known if path not in seen.files and not seen.is_unread(path)]
    kept = {path: before[path] for path in before if path in seen.files and path not in changed}
    found = {path: (reason, False, "") for path, reason in seen.problems.items()}
    hashes = {path: hash_ for path, (_, hash_) in known.items()}
    problems = kept | found
    is_needed = bool(changed or gone or problems != before or folder.state != "ready")
    return Plan(folder, seen, hashes, tuple(changed), tuple(gone), problems, is_needed)


def carry_out(
    desk: Desk, todo: Plan, progress: Progress = lambda done, total: None, stop: Callable[[], bool] = lambda: False
) -> None:
    """Make the index like the folder; stops in the middle when the store is closed, or when told to."""
    folder_id = todo.folder.folder_id
    _say(desk, folder_id, state="indexing", reason=None, done=0, total=len(todo.to_read))
    progress(0, len(todo.to_read))
    run = _Run(desk, todo, progress, stop)
    try:
        run.remove(todo.gone)
        with opened(todo.folder.path) as root:
            for batch in run.batches(root):
                run.write(batch)
        if run.is_stopped:
            _say(desk, folder_id, state="pending", reason=INTERRUPTED)
        else:
            run.finish()
    except BaseException as error:
        state, reason = ("error", str(error)[:500]) if isinstance(error, Exception) else ("pending", INTERRUPTED)
        with suppress(StoreError):  # what went wrong first is what is to be told
            _say(desk, folder_id, state=state, reason=reason)
        raise


@dataclass(slots=True)
class _Run:
    """One time of going through a plan."""

    desk: Desk
    todo: Plan
    progress: Progress
    stop: Callable[[], bool]
    touched: list[tuple[str, Stamp]] = field(default_factory=list)
    done: int = 0
    stopped_at: float = 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether to leave the rest for another time."""
        if not self.stopped_at and (self.desk.closing.is_set() or self.stop()):
            self.stopped_at = time.monotonic()
        return self.stopped_at > 0

    @property
    def space(self) -> str:
        return self.todo.folder.folder_id

    def batches(self, root: int) -> Iterator[list[Prepared]]:
        """The documents to be written, some at a time."""
        batch: list[Prepared] = []
        for path in self.todo.to_read:
            if prepared := self._read(root, path):
                batch.append(prepared)
            self.done += 1
            # A little more is read, and what was read is written: else many short runs would hardly get on.
            if self.is_stopped and time.monotonic() > self.stopped_at + _GRACE:
                break
            full = sum(len(each.chunks) for each in batch) >= BATCH
            if full or sum(each.row["characters"] for each in batch) > _LOADED_CHARACTERS:
                yield batch
                batch = []
        if batch:
            yield batch

    def _read(self, root: int, path: str) -> Prepared | None:
        """The document, unless it cannot be read or is what it was."""
        stamp = self.todo.seen.files[path]
        if (shown := redact(path)) != path:
            self.todo.problems[shown] = ("quarantined: its name holds a secret", False, "")
            return None
        try:
            data, looked = read_file(root, path)
            if self.todo.known.get(path) == content_hash(data):
                self.touched.append((path, looked))
                return None
            prepared = self._prepared(path, data, looked)
        except Unreadable as error:
            if self.is_stopped and self.desk.closing.is_set():  # its reader was ended by us, and so would the next be
                self.stopped_at -= _GRACE
                return None
            lasts = settled_stamp(stamp, time.time_ns()) and not isinstance(error, Unreachable)
            self.todo.problems[path] = (str(error), False, stamp.in_full if lasts else "")
            self.remove([path] if path in self.todo.known else [])
            return None
        if prepared.note:
            self.todo.problems[path] = (prepared.note, True, prepared.row["stamp"])
        return prepared

    def _prepared(self, path: str, data: bytes, stamp: Stamp) -> Prepared:
        """The document; one that trips us up is no reason to leave the others unread."""
        try:
            return prepare(self.desk.readers, self.space, path, data, stamp, time.time_ns())
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            log.warning("%s of %s cannot be indexed.", path, self.space, exc_info=error)
            raise Unreadable(f"could not be understood ({type(error).__name__})") from error

    def write(self, batch: Sequence[Prepared]) -> None:
        """Put documents in the place of what was known of them."""
        passages = [passage for each in batch for passage in each.passages]
        vectors = self.desk.embed(passages)
        for waited in range(_PATIENCE + 1):
            try:
                self._replace(batch, passages, vectors)
                break
            except StoreBusy:
                if waited == _PATIENCE:
                    raise
        self.progress(self.done, len(self.todo.to_read))

    def _replace(self, batch: Sequence[Prepared], passages: Sequence[Passage], vectors: Vectors | None) -> None:
        with self.desk.store.transaction(durable=False, spaces=(self.space,)) as transaction:
            folders.registered(transaction, self.space)  # somebody else may have removed it meanwhile
            delete(transaction, self.space, [each.row["id"] for each in batch])
            transaction.execute_many(_insert("documents", _DOCUMENT), [each.row for each in batch])
            transaction.execute_many(_insert("document_chunks", _CHUNK), rows_of(batch))
            transaction.put(INDEX, passages, vectors)
            _grow(transaction, self.space)
            folders.set_state(transaction, self.desk, self.space, done=self.done)

    def remove(self, paths: Sequence[str]) -> None:
        """Forget documents whose files are gone."""
        for start in range(0, len(paths), DELETED_TOGETHER):
            with self.desk.store.transaction(durable=False, spaces=(self.space,)) as transaction:
                delete(transaction, self.space, paths[start : start + DELETED_TOGETHER])
                _grow(transaction, self.space)

    def finish(self) -> None:
        """Say that all is done, and what could not be."""
        now = time.time_ns()
        with self.desk.store.transaction(durable=False, spaces=(self.space,)) as transaction:
            folders.registered(transaction, self.space)
            transaction.execute_many(
                "UPDATE documents SET size = :size, modified_at = :modified_at, stamp = :stamp "
                "WHERE space = :space AND id = :id AND hash = :hash",
                [
                    {**_touched(self.space, path, stamp, now), "hash": self.todo.known[path]}
                    for path, stamp in self.touched
                ],
            )
            _write_problems(transaction, self.space, self.todo.problems)
            folders.set_state(
                transaction,
                self.desk,
                self.space,
                state="ready",
                reason=None,
                done=self.done,
                skipped=json.dumps(self.todo.seen.skipped),
                indexed_at=to_microseconds(self.desk.now()),
            )
        self.progress(len(self.todo.to_read), len(self.todo.to_read))


def _store_within(desk: Desk, folder: str) -> str:
    """The path of the store relative to the folder, where it lies in it: it changes with everything we write."""
    store = Path(desk.store.location).resolve()
    return store.relative_to(folder).as_posix() if store.is_relative_to(folder) else ""


def _known(snapshot: Snapshot, space: str) -> dict[str, tuple[str, str]]:
    found = snapshot.rows("SELECT id, stamp, hash FROM documents WHERE space = :space", _in(space))
    return {id_: (stamp, hash_) for id_, stamp, hash_ in found}


def _problems(snapshot: Snapshot, space: str) -> dict[str, tuple[str, bool, str]]:
    sql = "SELECT id, reason, is_indexed, stamp FROM document_problems WHERE space = :space"
    return {id_: (reason, bool(indexed), stamp) for id_, reason, indexed, stamp in snapshot.rows(sql, _in(space))}


def _write_problems(transaction: Transaction, space: str, problems: dict[str, tuple[str, bool, str]]) -> None:
    if _problems(transaction, space) == problems:
        return
    transaction.execute("DELETE FROM document_problems WHERE space = :space", _in(space))
    transaction.execute_many(
        "INSERT INTO document_problems (space, id, reason, is_indexed, stamp) "
        "VALUES (:space, :id, :reason, :is_indexed, :stamp)",
        [
            {"space": space, "id": path, "reason": reason, "is_indexed": int(indexed), "stamp": stamp}
            for path, (reason, indexed, stamp) in problems.items()
        ],
    )


def delete(transaction: Transaction, space: str, paths: Sequence[str]) -> None:
    """Take documents out. What is derived goes first: it is found by what it was derived from."""
    transaction.remove(INDEX, space, paths)
    places = [{"space": space, "id": path} for path in paths]
    transaction.execute_many("DELETE FROM document_chunks WHERE space = :space AND document_id = :id", places)
    transaction.execute_many("DELETE FROM documents WHERE space = :space AND id = :id", places)


def _grow(transaction: Transaction, space: str) -> None:
    transaction.execute("UPDATE document_folders SET generation = generation + 1 WHERE space = :space", _in(space))


def _say(desk: Desk, folder_id: str, **values: object) -> None:
    with desk.store.transaction(durable=False, spaces=(folder_id,)) as transaction:
        folders.set_state(transaction, desk, folder_id, **values)


def _touched(space: str, path: str, stamp: Stamp, now_ns: int) -> dict[str, object]:
    return {
        "space": space,
        "id": path,
        "size": stamp.size,
        "modified_at": max(0, stamp.modified_ns) // 1000,
        "stamp": settled_stamp(stamp, now_ns),
    }


def _insert(table: str, columns: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(f':{name}' for name in columns)})"


def _in(space: str) -> dict[str, str]:
    return {"space": space}

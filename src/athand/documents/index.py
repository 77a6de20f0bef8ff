"""Incremental indexing of a folder: indexes new and changed files, removes deleted ones, leaves the rest alone.

Every document is written in one transaction with everything derived from it. An interrupted update is resumed by the
next one, which finds the remaining files still changed.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from athand.cancellation import is_cancelled, until_cancelled
from athand.documents import folders
from athand.documents.context import DocumentContext
from athand.documents.extract import UnreadableFile
from athand.documents.folders import INTERRUPTED, FolderRecord
from athand.documents.parse import ParsedDocument, content_hash, parse_file, settled_stamp
from athand.documents.rows import choose_key_phrases, list_paths, read_passages, renew_key_phrases
from athand.documents.scoring import INDEX
from athand.documents.walk import FileStamp, FolderListing, UnreachableFile, open_root, read_file, walk_folder
from athand.errors import Cancelled, StoreBusy, StoreError, Unavailable
from athand.store import Passage, Snapshot, Transaction, to_microseconds
from athand.types import Vectors

log = logging.getLogger("athand")

BATCH = 256  # chunks embedded and written in one transaction
# Documents per transaction, so that other writers get their turn:
DELETE_BATCH, KEY_PHRASE_BATCH = 100, 500
_KEY_PHRASE_DRIFT = 0.25  # within this change of its passages, a folder's key phrases stay as they were chosen
_MAX_PENDING_CHARACTERS = 4_000_000  # of text held before it is written
_GRACE_SECONDS = 1.0  # reading goes on this long after a stop, so that short runs make progress
_MAX_BUSY_RETRIES = 2  # each as long as the busy timeout of the store
_DOCUMENT_COLUMNS = (
    *("space", "id", "kind", "language", "title", "encoding", "size", "modified_at", "stamp", "hash"),
    *("characters", "lines", "chunks", "phrases", "key_phrases", "outline"),
)
_CHUNK_COLUMNS = (
    *("space", "id", "document_id", "position", "start_offset", "end_offset", "start_line", "end_line"),
    *("heading", "names", "place", "content"),
)

Progress = Callable[[int, int], None]
FileProblem = tuple[str, bool, str]  # reason, whether the file is indexed nevertheless, stamp


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """The difference between a folder and its index."""

    folder: FolderRecord
    listing: FolderListing
    hashes: dict[str, str]  # by indexed document
    to_read: tuple[str, ...]
    to_remove: tuple[str, ...]
    problems: dict[str, FileProblem]  # by path
    is_needed: bool  # whether there is anything to write

    @property
    def size(self) -> int:
        """Bytes to read."""
        return sum(self.listing.files[path].size for path in self.to_read)

    @property
    def changes(self) -> int:
        """Number of new, changed and deleted documents."""
        return len(self.to_read) + len(self.to_remove)


def plan_update(context: DocumentContext, folder: FolderRecord) -> UpdatePlan:
    """Walks the folder and compares it with the index."""
    if not folders.is_reachable(context, folder.path, folder.host):
        raise Unavailable(f"{folders.absence_reason(context, folder, folder.host)}.")
    # Read the index before the walk: a file that another process indexes meanwhile must not count as deleted.
    with context.store.snapshot() as snapshot:
        known = _indexed_documents(snapshot, folder.folder_id)
        before = _read_problems(snapshot, folder.folder_id)
    listing = _walk(context, folder.path)
    if known and listing.is_empty:
        raise Unavailable(
            f"{folder.path} is empty now, as if it were not mounted. The index of {folder.folder_id} stays as it is; "
            f"if this is meant, forget it with: athand docs remove {folder.folder_id}"
        )
    return _compare(context, folder, listing, known, before)


def _walk(context: DocumentContext, path: str) -> FolderListing:
    parent_names = "/".join([*Path(path).parts[-2:], ""]).lstrip("/")
    with open_root(path) as root:
        return walk_folder(root, _store_path_within(context, path), parent_names)


def _failed_stamp(context: DocumentContext, stamp: FileStamp) -> str:
    """The stamp of a file that could not be read: while it is the same, the file is not tried again."""
    return f"{stamp.with_change_time} {context.reading}"


def _compare(
    context: DocumentContext,
    folder: FolderRecord,
    listing: FolderListing,
    known: dict[str, tuple[str, str]],
    before: dict[str, FileProblem],
) -> UpdatePlan:
    """The difference of a listing to the indexed documents (stamp and hash) and the problems before."""
    tried = {path: stamp for path, (stamp, _) in known.items()}
    tried |= {path: stamp for path, (_, indexed, stamp) in before.items() if not indexed}
    failed = {path for path, (_, indexed, _) in before.items() if not indexed}
    changed = {
        path: None
        for path, stamp in listing.files.items()
        if tried.get(path) != (_failed_stamp(context, stamp) if path in failed else f"{stamp} {context.reading}")
    }
    removed = [path for path in known if path not in listing.files and not listing.is_unread(path)]
    problems = {path: before[path] for path in before if path in listing.files and path not in changed}
    problems |= {path: (reason, False, "") for path, reason in listing.problems.items()}
    hashes = {path: hash_ for path, (_, hash_) in known.items()}
    is_needed = bool(changed or removed or problems != before or folder.state != "ready")
    return UpdatePlan(folder, listing, hashes, tuple(changed), tuple(removed), problems, is_needed)


def apply_update(
    context: DocumentContext,
    plan: UpdatePlan,
    progress: Progress = lambda done, total: None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Applies a plan; stops after the current batch when the store is closed or `stop` returns True."""
    folder_id = plan.folder.folder_id
    _set_state(context, folder_id, state="indexing", reason=None, done=0, total=len(plan.to_read))
    progress(0, len(plan.to_read))
    run = _UpdateRun(context, plan, progress, stop)
    try:
        run.remove(plan.to_remove)
        with open_root(plan.folder.path) as root:
            for batch in run.batches(root):
                run.write(batch)
        if run.is_stopped:
            _set_state(context, folder_id, state="pending", reason=INTERRUPTED)
        else:
            run.update_key_phrases()
            run.finish()
    except BaseException as error:
        is_ended = isinstance(error, Cancelled) or not isinstance(error, Exception)
        state, reason = ("pending", INTERRUPTED) if is_ended else ("error", str(error)[:500])
        with suppress(StoreError):  # the first error is the one to raise
            _set_state(context, folder_id, state=state, reason=reason)
        raise


@dataclass(slots=True)
class _UpdateRun:
    """One run of a plan."""

    context: DocumentContext
    plan: UpdatePlan
    progress: Progress
    stop: Callable[[], bool]
    unchanged: list[tuple[str, FileStamp]] = field(default_factory=list)
    done: int = 0
    stopped_at: float = 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether to stop; notes the time when it first was."""
        if not self.stopped_at and (self.context.closing.is_set() or self.stop() or is_cancelled()):
            self.stopped_at = time.monotonic()
        return self.stopped_at > 0

    @property
    def space(self) -> str:
        return self.plan.folder.folder_id

    def batches(self, root: int) -> Iterator[list[ParsedDocument]]:
        """Parsed documents in batches to be written together."""
        batch: list[ParsedDocument] = []
        for path in self.plan.to_read:
            if parsed := self._read(root, path):
                batch.append(parsed)
            self.done += 1
            # After a stop, read on for a moment and write the batch: else many short runs make no progress.
            if self.is_stopped and time.monotonic() > self.stopped_at + _GRACE_SECONDS:
                break
            full = sum(len(each.chunks) for each in batch) >= BATCH
            if full or sum(each.row["characters"] for each in batch) > _MAX_PENDING_CHARACTERS:
                yield batch
                batch = []
        if batch:
            yield batch

    def _read(self, root: int, path: str) -> ParsedDocument | None:
        """The parsed document; None when it is unreadable (recorded as a problem) or its content is unchanged."""
        stamp = self.plan.listing.files[path]
        if (redacted := self.context.redact(path)) != path:
            self.plan.problems[redacted] = ("quarantined: its name holds a secret", False, "")
            return None
        try:
            data, read_stamp = read_file(root, path)
            if self.plan.hashes.get(path) == content_hash(data, self.context.reading):
                self.unchanged.append((path, read_stamp))
                return None
            parsed = self._parse(path, data, read_stamp)
        except UnreadableFile as error:
            if self.is_stopped and self.context.closing.is_set():  # closing killed the reader, and would kill the next
                self.stopped_at -= _GRACE_SECONDS
                return None
            is_lasting = settled_stamp(stamp, time.time_ns(), "") and not isinstance(error, UnreachableFile)
            self.plan.problems[path] = (str(error), False, _failed_stamp(self.context, stamp) if is_lasting else "")
            self.remove([path] if path in self.plan.hashes else [])
            return None
        if parsed.note:
            self.plan.problems[path] = (parsed.note, True, parsed.row["stamp"])
        return parsed

    def _parse(self, path: str, data: bytes, stamp: FileStamp) -> ParsedDocument:
        """Parses a file; an unexpected error becomes a problem of this file, so that the others are indexed."""
        try:
            return parse_file(self.context, self.space, path, data, stamp)
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            log.warning("%s of %s cannot be indexed.", path, self.space, exc_info=error)
            raise UnreadableFile(f"could not be understood ({type(error).__name__})") from error

    def write(self, batch: Sequence[ParsedDocument]) -> None:
        """Embeds and writes a batch, replacing earlier versions; retries while the store is busy."""
        passages = [passage for each in batch for passage in each.passages]
        vectors = self.context.embed(passages)
        for waited in range(_MAX_BUSY_RETRIES + 1):
            try:
                self._replace(batch, passages, vectors)
                break
            except StoreBusy:
                if waited == _MAX_BUSY_RETRIES:
                    raise
        self.progress(self.done, len(self.plan.to_read))

    def _replace(self, batch: Sequence[ParsedDocument], passages: Sequence[Passage], vectors: Vectors | None) -> None:
        with self.context.store.transaction(durable=False, spaces=(self.space,)) as transaction:
            folders.get_folder(transaction, self.space)  # raises NotFound if it was removed meanwhile
            delete_documents(transaction, self.space, [each.row["id"] for each in batch])
            transaction.execute_many(
                _insert_sql("document_chunks", _CHUNK_COLUMNS), [row for each in batch for row in each.chunks]
            )
            transaction.put(INDEX, passages, vectors)
            key_phrases = choose_key_phrases(transaction, self.space, [each.row["phrases"] for each in batch])
            transaction.execute_many(
                _insert_sql("documents", _DOCUMENT_COLUMNS),
                [
                    {**each.row, "key_phrases": json.dumps(chosen, ensure_ascii=False)}
                    for each, chosen in zip(batch, key_phrases, strict=True)
                ],
            )
            _bump_generation(transaction, self.space)
            folders.set_state(transaction, self.context, self.space, done=self.done)

    def remove(self, paths: Sequence[str]) -> None:
        """Deletes documents whose files are deleted."""
        for start in until_cancelled(range(0, len(paths), DELETE_BATCH)):
            with self.context.store.transaction(durable=False, spaces=(self.space,)) as transaction:
                delete_documents(transaction, self.space, paths[start : start + DELETE_BATCH])
                _bump_generation(transaction, self.space)

    def update_key_phrases(self) -> None:
        """Chooses all key phrases anew if the folder has grown or shrunk by a quarter since that was done last."""
        update_key_phrases(self.context, self.space, lambda: self.is_stopped, _KEY_PHRASE_DRIFT)

    def finish(self) -> None:
        """Writes new stamps, problems and the state `ready`."""
        now = time.time_ns()
        with self.context.store.transaction(durable=False, spaces=(self.space,)) as transaction:
            folders.get_folder(transaction, self.space)
            transaction.execute_many(
                "UPDATE documents SET size = :size, modified_at = :modified_at, stamp = :stamp "
                "WHERE space = :space AND id = :id AND hash = :hash",
                [
                    {**_stamp_values(self, path, stamp, now), "hash": self.plan.hashes[path]}
                    for path, stamp in self.unchanged
                ],
            )
            _write_problems(transaction, self.space, self.plan.problems)
            folders.set_state(
                transaction,
                self.context,
                self.space,
                state="ready",
                reason=None,
                done=self.done,
                skipped=json.dumps(self.plan.listing.skipped),
                indexed_at=to_microseconds(self.context.now()),
            )
        self.progress(len(self.plan.to_read), len(self.plan.to_read))


def _store_path_within(context: DocumentContext, folder: str) -> str:
    """The path of the store relative to the folder, which must not index it; empty when it is outside."""
    store = Path(context.store.location).resolve()
    return store.relative_to(folder).as_posix() if store.is_relative_to(folder) else ""


def _indexed_documents(snapshot: Snapshot, space: str) -> dict[str, tuple[str, str]]:
    """Stamp and hash of every indexed document, by path."""
    found = snapshot.rows("SELECT id, stamp, hash FROM documents WHERE space = :space", {"space": space})
    return {id_: (stamp, hash_) for id_, stamp, hash_ in found}


def _read_problems(snapshot: Snapshot, space: str) -> dict[str, FileProblem]:
    sql = "SELECT id, reason, is_indexed, stamp FROM document_problems WHERE space = :space"
    return {id_: (reason, bool(indexed), stamp) for id_, reason, indexed, stamp in snapshot.rows(sql, {"space": space})}


def _write_problems(transaction: Transaction, space: str, problems: dict[str, FileProblem]) -> None:
    if _read_problems(transaction, space) == problems:
        return
    transaction.execute("DELETE FROM document_problems WHERE space = :space", {"space": space})
    transaction.execute_many(
        "INSERT INTO document_problems (space, id, reason, is_indexed, stamp) "
        "VALUES (:space, :id, :reason, :is_indexed, :stamp)",
        [
            {"space": space, "id": path, "reason": reason, "is_indexed": int(indexed), "stamp": stamp}
            for path, (reason, indexed, stamp) in problems.items()
        ],
    )


def delete_documents(transaction: Transaction, space: str, paths: Sequence[str]) -> None:
    """Deletes documents; their passages first, since they are found by their chunks."""
    transaction.remove(INDEX, space, paths)
    places = [{"space": space, "id": path} for path in paths]
    transaction.execute_many("DELETE FROM document_chunks WHERE space = :space AND document_id = :id", places)
    transaction.execute_many("DELETE FROM documents WHERE space = :space AND id = :id", places)


def update_key_phrases(context: DocumentContext, space: str, stop: Callable[[], bool], drift: float) -> None:
    """Chooses all key phrases of a folder anew, in short writes, if it has changed by more than this share since."""
    with context.store.snapshot() as snapshot:
        passages = snapshot.frequencies(INDEX, (space,), ())[""]
        sql = "SELECT key_phrases_at FROM document_folders WHERE space = :space"
        [(before,)] = snapshot.rows(sql, {"space": space}) or [(0,)]
        paths = list_paths(snapshot, space)
    if drift and abs(passages - before) <= before * drift:
        return
    for start in range(0, len(paths), KEY_PHRASE_BATCH):
        if stop():
            return
        with context.store.transaction(durable=False, spaces=(space,)) as transaction:
            renew_key_phrases(transaction, space, paths[start : start + KEY_PHRASE_BATCH])
    _set_state(context, space, key_phrases_at=passages)


def _bump_generation(transaction: Transaction, space: str) -> None:
    transaction.execute(
        "UPDATE document_folders SET generation = generation + 1 WHERE space = :space", {"space": space}
    )


def _set_state(context: DocumentContext, folder_id: str, **values: object) -> None:
    with context.store.transaction(durable=False, spaces=(folder_id,)) as transaction:
        folders.set_state(transaction, context, folder_id, **values)


def _stamp_values(run: _UpdateRun, path: str, stamp: FileStamp, now_ns: int) -> dict[str, object]:
    return {
        "space": run.space,
        "id": path,
        "size": stamp.size,
        "modified_at": max(0, stamp.modified_ns) // 1000,
        "stamp": settled_stamp(stamp, now_ns, run.context.reading),
    }


def _insert_sql(table: str, columns: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(f':{name}' for name in columns)})"


def forget_folder(context: DocumentContext, folder_id: str) -> None:
    """Deletes a folder with all its documents and their traces in the store."""
    while _forget_batch(context, folder_id, DELETE_BATCH):
        pass
    context.store.erase_traces()


def _forget_batch(context: DocumentContext, folder_id: str, batch: int) -> bool:
    """Deletes a batch of documents, and with the last batch the folder; returns whether documents are left."""
    with context.store.transaction(spaces=(folder_id,)) as transaction:
        sql = "SELECT id FROM documents WHERE space = :space ORDER BY id LIMIT :limit"
        paths = [row[0] for row in transaction.rows(sql, {"space": folder_id, "limit": batch + 1})]
        removed = paths[:batch]
        passages = read_passages(transaction, [(folder_id, path) for path in removed])
        delete_documents(transaction, folder_id, removed)
        transaction.forget(INDEX, passages, partial(read_passages, transaction))
        if len(paths) <= batch:
            folders.unregister(transaction, folder_id)
    return len(paths) > batch

"""Keeps indexes fresh: rescans before a search, at most once a second and 1/30 of the time, and a file watcher."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from athand.documents import folders, index
from athand.documents.context import DocumentContext
from athand.documents.folders import FolderRecord
from athand.documents.gitignore import is_always_ignored
from athand.documents.index import Progress, UpdatePlan
from athand.documents.walk import is_store_file
from athand.errors import AthandError, Cancelled, NotFound, Unavailable
from athand.store import to_datetime

log = logging.getLogger("athand")

_MIN_INTERVAL = 1.0  # seconds between two scans of a folder
_REST_FACTOR = 30  # and at least this many times the duration of the last scan
_MAX_INLINE_SECONDS = 0.1  # a slower scan runs in the background, and so does an update larger than:
_MAX_INLINE_FILES, _MAX_INLINE_BYTES = 50, 2_000_000
_DEBOUNCE_MS, _STEP_MS = 300, 50  # parameters of watchfiles
_CHECK_MS = 1_000  # how often to check that the watched path is still the same directory

ChangeCallback = Callable[[str, int], None]  # folder id, number of changed paths


@dataclass(slots=True)
class _FolderState:
    """The refresh state of one folder in this process."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    next_scan_at: float = 0.0
    scan_seconds: float = 0.0
    checked_at: datetime | None = None
    pending: int = 0
    problem: str | None = None
    stopping: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class FolderRefresher:
    """Updates the indexes of folders: on demand, before searches, or in background threads."""

    context: DocumentContext
    _states: dict[str, _FolderState] = field(default_factory=dict)
    _threads: list[threading.Thread] = field(default_factory=list)
    _starting: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self, folder: FolderRecord, progress: Progress = lambda done, total: None) -> None:
        """Scans a folder now and indexes its changes; waits for a running update of this process first."""
        state = self._state(folder.folder_id)
        with state.lock:
            self._apply_plan(state, self._plan_update(state, folder), progress)

    def remove(self, folder_id: str, forget: Callable[[], None]) -> None:
        """Stops the update of a folder, waits for its end and calls `forget`."""
        state = self._state(folder_id)
        state.stopping.set()
        with state.lock:
            try:
                forget()
            finally:
                self._states.pop(folder_id, None)

    def refresh_stale(self, searched: Sequence[FolderRecord]) -> None:
        """Rescans folders that are due; small updates are applied at once, larger ones in the background."""
        for folder in searched:
            if folder.is_waiting:
                continue
            state = self._state(folder.folder_id)
            if folder.is_being_indexed(self.context.now()):
                state.pending = max(1, state.pending)  # by this process or another one
                continue
            if time.monotonic() < state.next_scan_at or not state.lock.acquire(blocking=False):
                continue
            try:
                if state.scan_seconds > _MAX_INLINE_SECONDS:
                    state.next_scan_at = (
                        time.monotonic() + _MIN_INTERVAL
                    )  # no second thread until the first has scanned
                    self.start_background(folder)
                else:
                    self._refresh_inline(state, folder)
            finally:
                state.lock.release()

    def start_background(self, folder: FolderRecord) -> None:
        """Refreshes a folder in a background thread."""
        thread = threading.Thread(target=self._refresh_in_background, args=(folder,), name="athand-index", daemon=True)
        with self._starting:
            if not self.context.closing.is_set():
                thread.start()
                self._threads = [each for each in self._threads if each.is_alive()] + [thread]

    def close(self) -> None:
        """Waits for the background threads, which stop at the next batch once `closing` is set."""
        with self._starting:
            running = self._threads
        for thread in running:
            thread.join()

    def freshness(self, searched: Sequence[FolderRecord]) -> Mapping[str, Any]:
        """By folder: when its index was last up to date, its age, its state and the number of pending changes."""
        return {folder.folder_id: self._folder_freshness(folder) for folder in searched}

    def _folder_freshness(self, folder: FolderRecord) -> dict[str, Any]:
        state, now = self._state(folder.folder_id), self.context.now()
        indexed = None if folder.indexed_at is None else to_datetime(folder.indexed_at)
        current_at = max((each for each in (indexed, state.checked_at) if each), default=None)
        offline = not folders.is_reachable(self.context, folder.path, folder.host)
        return {
            "indexed_at": current_at,
            "age_seconds": None if current_at is None else round(max(0.0, (now - current_at).total_seconds()), 3),
            "state": "offline" if offline else folder.state,
            "pending": state.pending,
            **({"problem": state.problem} if state.problem else {}),
        }

    def _state(self, folder_id: str) -> _FolderState:
        return self._states.setdefault(folder_id, _FolderState())

    def _refresh_inline(self, state: _FolderState, folder: FolderRecord) -> None:
        """Scans a folder and applies a small update; errors are kept as its problem, so that searches go on."""
        try:
            plan = self._plan_update(state, folder)
            if plan.changes <= _MAX_INLINE_FILES and plan.size <= _MAX_INLINE_BYTES:
                self._apply_plan(state, plan)
            else:
                state.pending = plan.changes
                self.start_background(folder)
        except Cancelled:
            raise
        except AthandError as error:
            state.problem = str(error)

    def _plan_update(self, state: _FolderState, folder: FolderRecord) -> UpdatePlan:
        began = time.monotonic()
        try:
            with self.context.store.snapshot() as snapshot:
                newest = folders.get_folder(snapshot, folder.folder_id)
            plan = index.plan_update(self.context, newest)
        finally:
            state.scan_seconds = time.monotonic() - began
            state.next_scan_at = time.monotonic() + max(_MIN_INTERVAL, _REST_FACTOR * state.scan_seconds)
        state.problem = None
        return plan

    def _apply_plan(self, state: _FolderState, plan: UpdatePlan, progress: Progress = lambda done, total: None) -> None:
        began = self.context.now()
        if plan.is_needed:
            state.pending = plan.changes
            index.apply_update(self.context, plan, progress, state.stopping.is_set)
        if not self.context.closing.is_set() and not state.stopping.is_set():
            state.pending, state.checked_at = 0, began

    def _refresh_in_background(self, folder: FolderRecord) -> None:
        try:
            self.refresh(folder)
        except Unavailable as error:
            self._state(folder.folder_id).problem = str(error)
        except AthandError as error:
            log.warning("Indexing %s stopped: %s", folder.folder_id, error)


@dataclass(frozen=True, slots=True)
class _WatchedFolder:
    """A watched folder and its thread."""

    folder: FolderRecord
    thread: threading.Thread
    stopping: threading.Event

    def is_watching(self, folder: FolderRecord) -> bool:
        return self.thread.is_alive() and self.folder.path == folder.path and not self.stopping.is_set()


@dataclass(slots=True)
class FolderWatcher:
    """Watches folders with watchfiles, one thread per folder, and refreshes them on changes."""

    refresher: FolderRefresher
    changed: ChangeCallback = lambda folder_id, paths: None
    _watched: dict[str, _WatchedFolder] = field(default_factory=dict)

    def add(self, folders: Sequence[FolderRecord]) -> None:
        """Watches more folders; changes made before are indexed first."""
        for folder in folders:
            watched = self._watched.get(folder.folder_id)
            if folder.is_waiting:
                log.info("%s is not watched: it came with an archive, and nobody has asked for it yet.", folder.path)
            elif watched is None or not watched.is_watching(folder):
                self.remove(folder.folder_id)
                self._watched[folder.folder_id] = self._start_thread(folder)

    def remove(self, folder_id: str) -> None:
        """Stops watching a folder, after its running update."""
        watched = self._watched.pop(folder_id, None)
        if watched:
            watched.stopping.set()
            watched.thread.join()

    def stop(self) -> None:
        """Stops all threads, after their running updates."""
        for each in self._watched.values():
            each.stopping.set()
        for folder_id in list(self._watched):
            self.remove(folder_id)

    def _start_thread(self, folder: FolderRecord) -> _WatchedFolder:
        stopping = threading.Event()
        thread = threading.Thread(target=self._run, args=(folder, stopping), name="athand-watch", daemon=True)
        thread.start()
        return _WatchedFolder(folder, thread, stopping)

    def _run(self, folder: FolderRecord, stopping: threading.Event) -> None:
        """Watches until stopped; waits for a folder that disappears (unmounted, other branch) to return."""
        try:
            while not stopping.is_set():
                identity = _directory_identity(folder.path)
                if identity is None:
                    stopping.wait(_CHECK_MS / 1000)
                else:
                    self._watch_directory(folder, identity, stopping)
        except NotFound:
            log.info("%s was removed and is not watched any more.", folder.folder_id)
        except (OSError, RuntimeError) as error:
            log.warning("%s is not watched any more: %s. Searches still look at it themselves.", folder.path, error)

    def _watch_directory(self, folder: FolderRecord, identity: tuple[int, int], stopping: threading.Event) -> None:
        import watchfiles

        store = str(Path(self.refresher.context.store.location).resolve())
        changes = watchfiles.watch(
            folder.path,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=stopping,
            rust_timeout=_CHECK_MS,
            yield_on_timeout=True,
            watch_filter=lambda _, path: _is_relevant(path[len(folder.path) :]) and not is_store_file(path, store),
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        watched = False
        try:
            for batch in changes:
                # The first round comes once watching has begun: a refresh finds the changes made before.
                if (batch or not watched) and not stopping.is_set():
                    watched = True
                    self._refresh(folder)
                    self.changed(folder.folder_id, len(batch))
                if _directory_identity(folder.path) != identity:
                    return
        except FileNotFoundError:  # the folder disappeared before watching began
            return

    def _refresh(self, folder: FolderRecord) -> None:
        try:
            self.refresher.refresh(folder)
        except NotFound:
            raise
        except AthandError as error:
            log.warning("%s: %s", folder.folder_id, error)


def _is_relevant(path: str) -> bool:
    """Whether a changed path may be a document, not in version control or caches."""
    return not any(map(is_always_ignored, path.split("/")))


def _directory_identity(path: str) -> tuple[int, int] | None:
    """Device and inode of the directory at a path; None while there is none."""
    try:
        info = Path(path).stat()
    except OSError:
        return None
    return info.st_dev, info.st_ino

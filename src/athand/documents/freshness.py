"""How old an index is, and keeping it young: a look at the folder before a search, as often as that is cheap."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from athand.documents import folders, indexing
from athand.documents.desk import Desk
from athand.documents.folders import Registered
from athand.documents.indexing import Plan, Progress
from athand.errors import AthandError, Unavailable
from athand.store import to_datetime

log = logging.getLogger("athand")

_OFTEN = 1.0  # seconds: a folder is looked at no more often than this,
_SHARE = 30  # and resting so many times as long as looking took
_CHEAP = 0.1  # seconds: what takes longer goes on in the background, and so does more than this to read:
_FEW_FILES, _FEW_BYTES = 50, 2_000_000


@dataclass(slots=True)
class _Look:
    """What is known of one folder since this process began."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    next_at: float = 0.0
    took: float = 0.0
    checked_at: datetime | None = None
    pending: int = 0
    problem: str | None = None
    stopping: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class Keeper:
    """Keeps folders and their indexes alike."""

    desk: Desk
    _looks: dict[str, _Look] = field(default_factory=dict)
    _threads: list[threading.Thread] = field(default_factory=list)
    _starting: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self, folder: Registered, progress: Progress = lambda done, total: None) -> None:
        """Look at a folder now and index all that is new; whoever is at it already is waited for."""
        look = self._look(folder.folder_id)
        with look.lock:
            self._index(look, self._plan(look, folder), progress)

    def drop(self, folder_id: str, forget: Callable[[], None]) -> None:
        """Forget a folder when nobody is indexing it."""
        look = self._look(folder_id)
        look.stopping.set()
        with look.lock:
            try:
                forget()
            finally:
                self._looks.pop(folder_id, None)

    def freshen(self, searched: Sequence[Registered]) -> None:
        """Before a search: bring folders up to date where that is quick, else begin to."""
        for folder in searched:
            look = self._look(folder.folder_id)
            if folder.is_being_indexed(self.desk.now()):
                look.pending = max(1, look.pending)  # somebody is at it: this process or another one
                continue
            if time.monotonic() < look.next_at or not look.lock.acquire(blocking=False):
                continue
            try:
                if look.took > _CHEAP:
                    look.next_at = time.monotonic() + _OFTEN  # until it has looked, one is enough
                    self.start(folder)
                else:
                    self._quickly(look, folder)
            finally:
                look.lock.release()

    def start(self, folder: Registered) -> None:
        """Refresh a folder in the background."""
        thread = threading.Thread(target=self._refresh_aside, args=(folder,), name="athand-index", daemon=True)
        with self._starting:
            if not self.desk.closing.is_set():
                thread.start()
                self._threads = [each for each in self._threads if each.is_alive()] + [thread]

    def close(self) -> None:
        """Wait until what runs in the background has come to a point where it can be gone on with later."""
        with self._starting:
            running = self._threads
        for thread in running:
            thread.join()

    def of(self, searched: Sequence[Registered]) -> Mapping[str, Any]:
        """By folder: when its index was right for the last time, how long ago that is, and what is still to come."""
        return {folder.folder_id: self._freshness(folder) for folder in searched}

    def _freshness(self, folder: Registered) -> dict[str, Any]:
        look, now = self._look(folder.folder_id), self.desk.now()
        indexed = None if folder.indexed_at is None else to_datetime(folder.indexed_at)
        known = max((each for each in (indexed, look.checked_at) if each), default=None)
        offline = not folders.is_here(self.desk, folder.path, folder.host)
        return {
            "indexed_at": known,
            "age_seconds": None if known is None else round(max(0.0, (now - known).total_seconds()), 3),
            "state": "offline" if offline else folder.state,
            "pending": look.pending,
            **({"problem": look.problem} if look.problem else {}),
        }

    def _look(self, folder_id: str) -> _Look:
        return self._looks.setdefault(folder_id, _Look())

    def _quickly(self, look: _Look, folder: Registered) -> None:
        """A look, and what little there may be to do; a folder that is away is searched all the same."""
        try:
            todo = self._plan(look, folder)
            if todo.changes <= _FEW_FILES and todo.size <= _FEW_BYTES:
                self._index(look, todo)
            else:
                look.pending = todo.changes
                self.start(folder)
        except AthandError as error:
            look.problem = str(error)

    def _plan(self, look: _Look, folder: Registered) -> Plan:
        began = time.monotonic()
        try:
            with self.desk.store.snapshot() as snapshot:
                newest = folders.registered(snapshot, folder.folder_id)
            todo = indexing.plan(self.desk, newest)
        finally:
            look.took = time.monotonic() - began
            look.next_at = time.monotonic() + max(_OFTEN, _SHARE * look.took)
        look.problem = None
        return todo

    def _index(self, look: _Look, todo: Plan, progress: Progress = lambda done, total: None) -> None:
        began = self.desk.now()
        if todo.is_needed:
            look.pending = todo.changes
            indexing.carry_out(self.desk, todo, progress, look.stopping.is_set)
        if not self.desk.closing.is_set() and not look.stopping.is_set():
            look.pending, look.checked_at = 0, began

    def _refresh_aside(self, folder: Registered) -> None:
        try:
            self.refresh(folder)
        except Unavailable as error:
            self._look(folder.folder_id).problem = str(error)
        except AthandError as error:
            log.warning("Indexing %s stopped: %s", folder.folder_id, error)

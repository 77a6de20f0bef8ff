"""Watching folders: what changes on disk is indexed a moment later."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from athand.documents.folders import Registered
from athand.documents.freshness import Keeper
from athand.documents.ignoring import is_left_alone
from athand.documents.walking import is_own
from athand.errors import AthandError, NotFound

log = logging.getLogger("athand")

_SETTLE, _STEP = 300, 50  # milliseconds: how long to wait for more, and between two looks
_STILL_THERE = 1_000  # milliseconds: how often to see whether the folder itself is still the one we watch

Changed = Callable[[str, int], None]  # a folder, and how many paths have changed in it


@dataclass(frozen=True, slots=True)
class _Watched:
    """A folder and the thread that watches it."""

    folder: Registered
    thread: threading.Thread
    stopping: threading.Event

    def is_good_for(self, folder: Registered) -> bool:
        return self.thread.is_alive() and self.folder.path == folder.path and not self.stopping.is_set()


@dataclass(slots=True)
class Watch:
    """Watches folders until it is stopped, each in a thread of its own."""

    keeper: Keeper
    changed: Changed = lambda folder_id, paths: None
    _watched: dict[str, _Watched] = field(default_factory=dict)

    def add(self, folders: Sequence[Registered]) -> None:
        """Watch these folders too; what changed before is indexed first."""
        for folder in folders:
            known = self._watched.get(folder.folder_id)
            if known is None or not known.is_good_for(folder):
                self.remove(folder.folder_id)
                self._watched[folder.folder_id] = self._begin(folder)

    def remove(self, folder_id: str) -> None:
        """Watch a folder no more; what is being indexed is finished first."""
        known = self._watched.pop(folder_id, None)
        if known:
            known.stopping.set()
            known.thread.join()

    def stop(self) -> None:
        """Watch no more; what is being indexed is finished first."""
        for each in self._watched.values():
            each.stopping.set()
        for folder_id in list(self._watched):
            self.remove(folder_id)

    def _begin(self, folder: Registered) -> _Watched:
        stopping = threading.Event()
        thread = threading.Thread(target=self._watch, args=(folder, stopping), name="athand-watch", daemon=True)
        thread.start()
        return _Watched(folder, thread, stopping)

    def _watch(self, folder: Registered, stopping: threading.Event) -> None:
        """Follow the folder; one that goes away (a disk, a branch) is waited for."""
        try:
            while not stopping.is_set():
                place = _place(folder.path)
                if place is None:
                    stopping.wait(_STILL_THERE / 1000)
                else:
                    self._follow(folder, place, stopping)
        except NotFound:
            log.info("%s was removed and is not watched any more.", folder.folder_id)
        except (OSError, RuntimeError) as error:
            log.warning("%s is not watched any more: %s. Searches still look at it themselves.", folder.path, error)

    def _follow(self, folder: Registered, place: tuple[int, int], stopping: threading.Event) -> None:
        import watchfiles

        store = str(Path(self.keeper.desk.store.location).resolve())
        changes = watchfiles.watch(
            folder.path,
            debounce=_SETTLE,
            step=_STEP,
            stop_event=stopping,
            rust_timeout=_STILL_THERE,
            yield_on_timeout=True,
            watch_filter=lambda _, path: _is_worth_a_look(path[len(folder.path) :]) and not is_own(path, store),
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        known = False
        try:
            for batch in changes:
                # The first round comes when watching has begun: what changed until then is seen by looking.
                if (batch or not known) and not stopping.is_set():
                    known = True
                    self._refresh(folder)
                    self.changed(folder.folder_id, len(batch))
                if _place(folder.path) != place:
                    return
        except FileNotFoundError:  # it went away before watching began
            return

    def _refresh(self, folder: Registered) -> None:
        try:
            self.keeper.refresh(folder)
        except NotFound:
            raise
        except AthandError as error:
            log.warning("%s: %s", folder.folder_id, error)


def _is_worth_a_look(path: str) -> bool:
    """Whether a change could be one of a document: version control and caches change all the time."""
    return not any(map(is_left_alone, path.split("/")))


def _place(path: str) -> tuple[int, int] | None:
    """Which directory stands at a path; None while there is none."""
    try:
        looks = Path(path).stat()
    except OSError:
        return None
    return looks.st_dev, looks.st_ino

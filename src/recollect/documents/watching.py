"""Watching folders: what changes on disk is indexed a moment later."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from recollect.documents.folders import Registered
from recollect.documents.freshness import Keeper
from recollect.errors import RecollectError

log = logging.getLogger("recollect")

_SETTLE, _STEP = 300, 50  # milliseconds: how long to wait for more, and between two looks

Changed = Callable[[str, int], None]  # a folder, and how many paths have changed in it


@dataclass(slots=True)
class Watch:
    """Watches folders until it is stopped, each in a thread of its own."""

    keeper: Keeper
    changed: Changed = lambda folder_id, paths: None
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: dict[str, threading.Thread] = field(default_factory=dict)

    def add(self, folders: Sequence[Registered]) -> None:
        """Watch these folders too; what changed before is indexed first."""
        for folder in folders:
            if folder.folder_id not in self._threads:
                thread = threading.Thread(target=self._watch, args=(folder,), name="recollect-watch", daemon=True)
                self._threads[folder.folder_id] = thread
                thread.start()

    def stop(self) -> None:
        """Watch no more; what is being indexed is finished first."""
        self._stopping.set()
        for thread in self._threads.values():
            thread.join()

    def _watch(self, folder: Registered) -> None:
        import watchfiles

        try:
            changes = watchfiles.watch(
                folder.path,
                debounce=_SETTLE,
                step=_STEP,
                stop_event=self._stopping,
                rust_timeout=1_000,
                yield_on_timeout=True,
                watch_filter=None,
                raise_interrupt=False,
                ignore_permission_denied=True,
            )
            known = False
            for batch in changes:
                # The first round comes when watching has begun: what changed until then is seen by looking.
                if (batch or not known) and not self._stopping.is_set():
                    known = self._refresh(folder)
                    self.changed(folder.folder_id, len(batch))
        except (OSError, RuntimeError) as error:
            log.warning("%s is not watched any more: %s. Searches still look at it themselves.", folder.path, error)

    def _refresh(self, folder: Registered) -> bool:
        try:
            self.keeper.refresh(folder)
        except RecollectError as error:
            log.warning("%s: %s", folder.folder_id, error)
        return True

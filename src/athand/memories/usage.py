"""Uses of memories: counted at once where nobody else is writing, else a little later, so that no answer waits."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable

from athand.errors import StoreBusy, StoreError
from athand.store import Store, Transaction

_MOST_WAITING = 10_000  # beyond that the oldest are not counted
_LAST_PATIENCE = 5.0  # seconds that closing waits for other writers

WriteUse = Callable[[Transaction], None]

log = logging.getLogger("athand")


class UseCounter:
    """Writes uses to the store; those that met another writer wait in memory for the next one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: deque[tuple[frozenset[str], WriteUse]] = deque(maxlen=_MOST_WAITING)
        self._lock = threading.Lock()

    def count(self, spaces: Iterable[str], write: WriteUse) -> None:
        """Write a use of memories in these spaces, and those that wait, unless somebody else is writing now."""
        self._waiting.append((frozenset(spaces), write))
        if self._lock.acquire(blocking=False):
            try:
                self._write(0.0)
            except StoreBusy:
                pass
            finally:
                self._lock.release()

    def close(self) -> None:
        """Write what waits."""
        with self._lock:
            try:
                self._write(_LAST_PATIENCE)
            except StoreError as error:
                log.warning("%d uses of memories were not counted: %s", len(self._waiting), error)

    def _write(self, patience: float) -> None:
        """Write all that wait; what cannot be written for another reason than a writer is dropped."""
        uses = list(self._waiting)
        if not uses:
            return
        spaces = frozenset[str]().union(*(each for each, _ in uses))
        try:
            with self._store.transaction(durable=False, spaces=spaces, patience=patience) as transaction:
                for _, write in uses:
                    write(transaction)
        except StoreBusy:
            raise
        except BaseException:
            self._drop(len(uses))
            raise
        self._drop(len(uses))

    def _drop(self, count: int) -> None:
        for _ in range(min(count, len(self._waiting))):
            self._waiting.popleft()

"""A cache in memory that forgets what was used least recently."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class BoundedCache(Generic[KeyT, ValueT]):
    """A dictionary of at most `max_entries` for several threads; the least recently used entries go first.

    With `size_of`, the sizes of all values together stay within `max_size` too. The newest value always stays.
    """

    def __init__(
        self, max_entries: int, *, max_size: int = 0, size_of: Callable[[ValueT], int] = lambda value: 0
    ) -> None:
        self._max_entries = max_entries
        self._max_size = max_size
        self._size_of = size_of
        self._values: OrderedDict[KeyT, ValueT] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: KeyT) -> ValueT | None:
        """The value of a key, which counts as used now; None without one."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: KeyT, value: ValueT) -> None:
        """Stores a value, and forgets others where there are too many."""
        with self._lock:
            self._remove(key)
            self._values[key] = value
            self._size += self._size_of(value)
            while len(self._values) > 1 and (len(self._values) > self._max_entries or self._size > self._max_size):
                self._remove(next(iter(self._values)))

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._values.clear()
            self._size = 0

    def _remove(self, key: KeyT) -> None:
        if key in self._values:
            self._size -= self._size_of(self._values.pop(key))

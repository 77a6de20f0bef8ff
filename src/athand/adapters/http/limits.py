"""How much one may ask: sizes, depths, times and rates."""

import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_OPENING = b"[{"
_MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """So many at once, and so many per second after that."""

    at_once: float
    per_second: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes on."""

    body_bytes: int = 8_000_000
    body_seconds: float = 30.0
    depth: int = 64
    in_flight: int = 256
    calls: Rate = Rate(2000, 1000)  # of one caller
    failures: Rate = Rate(20, 1)  # wrong tokens from one address


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


@dataclass(slots=True)
class Meter:
    """Counts what each key does, and says when it was too much."""

    rate: Rate
    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict)

    def take(self, key: str) -> int:
        """Count one; 0, or the seconds after which the next is allowed."""
        now = self.clock()
        bucket = self._buckets.setdefault(key, _Bucket(self.rate.at_once, now))
        bucket.left = min(self.rate.at_once, bucket.left + (now - bucket.at) * self.rate.per_second)
        bucket.at = now
        self._buckets.move_to_end(key)
        self._forget_the_oldest()
        if bucket.left >= 1:
            bucket.left -= 1
            return 0
        return max(1, math.ceil((1 - bucket.left) / self.rate.per_second))

    def _forget_the_oldest(self) -> None:
        while len(self._buckets) > _MOST_KEPT:
            self._buckets.popitem(last=False)


def is_deeper(data: bytes, depth: int) -> bool:
    """Whether JSON has more levels than that; text within strings does not count."""
    if data.count(b"[") + data.count(b"{") <= depth:
        return False
    level = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", data)):
        level += 1 if bracket in _OPENING else -1
        if level > depth:
            return True
    return False

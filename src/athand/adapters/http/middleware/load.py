"""How much each caller may ask: requests in progress, and requests a second."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from athand.adapters.http.middleware import CLOSE_CONNECTION, Limits, Rate
from athand.adapters.http.responses import ProblemResponse
from athand.bounded_cache import BoundedCache

_MAX_BUCKETS = 10_000


class RequestsInProgress:
    """One caller may have only a part of them, so that a program that has run wild leaves room for the others."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._counts: Counter[str] = Counter()

    def refuse(self, caller: str) -> ProblemResponse | None:
        """The answer to a caller who has to wait; None if there is room."""
        if self._counts[caller] >= self._limits.in_flight_of_one:
            reason = f"{caller!r} has {self._counts[caller]} requests in progress. Let some of them end."
            return retry_later(HTTPStatus.TOO_MANY_REQUESTS, reason, 1)
        if self._counts.total() >= self._limits.in_flight:
            return retry_later(HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests are being answered.", 1)
        return None

    @contextmanager
    def track(self, caller: str) -> Iterator[None]:
        """Count one request until it is answered."""
        self._counts[caller] += 1
        try:
            yield
        finally:
            self._counts[caller] -= 1
            if not self._counts[caller]:
                del self._counts[caller]


def retry_later(status: HTTPStatus, detail: str, seconds: int) -> ProblemResponse:
    """The answer to whoever has to come back after some seconds."""
    detail = f"{detail} Try again in {seconds} s."
    return ProblemResponse(status, detail, headers={"Retry-After": str(seconds), **CLOSE_CONNECTION})


@dataclass(slots=True)
class _Bucket:
    left: float
    updated_at: float


@dataclass(slots=True)
class RateLimiter:
    """Token buckets by key; the least recently used are dropped when there are too many."""

    rate: Rate
    clock: Callable[[], float] = time.monotonic
    _buckets: BoundedCache[str, _Bucket] = field(default_factory=lambda: BoundedCache(_MAX_BUCKETS))

    def take(self, key: str) -> int:
        """Count one request: 0 if it is allowed, else the seconds after which the next one is."""
        now = self.clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = _Bucket(self.rate.burst, now)
            self._buckets.put(key, bucket)
        bucket.left = min(self.rate.burst, bucket.left + (now - bucket.updated_at) * self.rate.per_second)
        bucket.updated_at = now
        if bucket.left >= 1:
            bucket.left -= 1
            return 0
        return max(1, math.ceil((1 - bucket.left) / self.rate.per_second))

"""Health checks and Prometheus metrics: /healthz, /readyz, /metrics."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from athand.adapters.http.responses import AsciiJsonResponse, ProblemResponse
from athand.adapters.operations import AppContext
from athand.errors import AthandError
from athand.types import Status

log = logging.getLogger("athand")

_CACHE_SECONDS = 5.0  # /readyz needs no token, so asking often must cost nothing
_TEXT = {"type": "string"}
_METHODS = frozenset(("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"))
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10, 60)  # seconds


class HealthCache:
    """The status of the store, at most five seconds old."""

    def __init__(self, ctx: AppContext, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._ctx, self._clock = ctx, clock
        self._lock = threading.Lock()
        self._updated_at = float("-inf")
        self._status: Status | None = None

    def status(self) -> Status | None:
        """The status; None if the store cannot be read, for a reason that is only logged."""
        with self._lock:
            if self._clock() - self._updated_at > _CACHE_SECONDS:
                try:
                    self._status = self._ctx.athand.status()
                except AthandError as error:
                    log.warning("Not ready: %s", error)
                    self._status = None
                self._updated_at = self._clock()
            return self._status


class Metrics:
    """Counters of requests and operations, and gauges of the store, in a registry of its own."""

    def __init__(self, status: Callable[[], Status | None]) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=self.registry)
        options: dict[str, Any] = {"registry": self.registry, "namespace": "athand"}
        labels = ("route", "method", "status")
        self._requests = Counter("http_requests", "Requests that were answered", labels, **options)
        self._seconds = Histogram("http_seconds", "How long answers took", ("route",), buckets=_BUCKETS, **options)
        self._operations = Counter("operations", "Operations that were done", ("name", "outcome"), **options)
        self.in_flight = Gauge("http_in_flight", "Requests that are being answered", **options)
        self.registry.register(_StoreCollector(status))

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request; unknown methods share one label."""
        label = method if method in _METHODS else "other"
        self._requests.labels(route, label, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_operation(self, name: str, outcome: str) -> None:
        """Count an operation: ok, or the class of its error."""
        self._operations.labels(name, outcome).inc()

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class _StoreCollector(Collector):
    """Gauges of the store, read when the metrics are scraped."""

    def __init__(self, status: Callable[[], Status | None]) -> None:
        self._status = status

    def describe(self) -> list[Metric]:
        """Nothing: registering must not open the store."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Items per corpus, store size, whether the model works; nothing while the store cannot be read."""
        status = self._status()
        if status is None:
            return
        items = GaugeMetricFamily("athand_items", "Items of a corpus", labels=("corpus",))
        for corpus, counts in status.corpora.items():
            items.add_metric((corpus,), counts["count"])
        yield items
        yield GaugeMetricFamily("athand_store_bytes", "Size of the store", value=status.store["bytes"])
        yield GaugeMetricFamily("athand_model_working", "Whether texts are embedded", value=status.model["working"])


def monitoring_router(health: HealthCache, metrics: Metrics) -> APIRouter:
    """The routes for monitoring."""
    router = APIRouter(default_response_class=AsciiJsonResponse, tags=["server"])
    alive = {"type": "object", "properties": {"alive": {"const": True}}}
    ready = {"type": "object", "properties": {"ready": {"const": True}, "store": _TEXT, "model": _TEXT}}

    @router.get("/healthz", operation_id="healthz", responses={200: _json_response(alive)})
    async def healthz() -> Response:
        """The process lives. No token is needed."""
        return AsciiJsonResponse({"alive": True})

    @router.get("/readyz", operation_id="readyz", responses={200: _json_response(ready)})
    def readyz() -> Response:
        """The store can be read; without a working model searches are by keyword. No token is needed."""
        status = health.status()
        if status is None:
            detail = "The store cannot be read. See why with: athand status"
            return ProblemResponse(HTTPStatus.SERVICE_UNAVAILABLE, detail)
        model = "working" if status.model["working"] else "not working: searching by keyword only"
        return AsciiJsonResponse({"ready": True, "store": "readable", "model": model})

    plain: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": _TEXT}}}}

    @router.get("/metrics", operation_id="metrics", summary="Metrics", responses=plain)
    def get_metrics() -> Response:
        """Numbers for Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    for path, answer in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", get_metrics)):
        router.add_api_route(path, answer, methods=["HEAD"], include_in_schema=False)
    return router


def _json_response(schema: Mapping[str, object]) -> dict[str, object]:
    return {"description": "How it is", "content": {"application/json": {"schema": schema}}}

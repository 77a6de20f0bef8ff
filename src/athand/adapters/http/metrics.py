"""Numbers for Prometheus, in a registry of our own."""

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from athand.types import Status

CONTENT_TYPE = CONTENT_TYPE_LATEST
_METHODS = frozenset(("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"))
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10, 60)


class Metrics:
    """Counts requests and operations; what is in the store is asked for when somebody looks."""

    def __init__(self, status: Callable[[], Status | None]) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=self.registry)
        named: dict[str, Any] = {"registry": self.registry, "namespace": "athand"}
        labels = ("route", "method", "status")
        self._requests = Counter("http_requests", "Requests that were answered", labels, **named)
        self._seconds = Histogram("http_seconds", "How long answers took", ("route",), buckets=_SECONDS, **named)
        self._operations = Counter("operations", "Operations that were done", ("name", "outcome"), **named)
        self.in_flight = Gauge("http_in_flight", "Requests that are being answered", **named)
        self.registry.register(_Contents(status))

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request; methods that nobody knows are one."""
        known = method if method in _METHODS else "other"
        self._requests.labels(route, known, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def operation(self, name: str, outcome: str) -> None:
        """Count an operation: ok, or the kind of its error."""
        self._operations.labels(name, outcome).inc()

    def text(self) -> bytes:
        """All numbers as Prometheus reads them."""
        return generate_latest(self.registry)


class _Contents(Collector):
    """How much there is."""

    def __init__(self, status: Callable[[], Status | None]) -> None:
        self._status = status

    def describe(self) -> list[Metric]:
        """Nothing in advance: the store is not opened to be registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Items of each corpus, bytes of the store, whether the model works; nothing while the store cannot be read."""
        status = self._status()
        if status is None:
            return
        items = GaugeMetricFamily("athand_items", "Items of a corpus", labels=("corpus",))
        for corpus, found in status.corpora.items():
            items.add_metric((corpus,), found["count"])
        yield items
        yield GaugeMetricFamily("athand_store_bytes", "Size of the store", value=status.store["bytes"])
        yield GaugeMetricFamily("athand_model_working", "Whether texts are embedded", value=status.model["working"])

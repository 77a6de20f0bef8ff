"""Usage counters: searches, calls, failures, and the tokens saved by searching instead of listing."""

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from athand.errors import AthandError, StoreError
from athand.store import Store
from athand.tools import rows
from athand.tools.access import are_searches_counted
from athand.tools.catalogue import CatalogueUpdate
from athand.tools.context import ToolContext
from athand.tools.model import Tool, ToolStats
from athand.tools.scoring import INDEX

_FLUSH_AFTER = 200  # searches, so that a search does not wait for the disk

log = logging.getLogger("athand")


class UsageCounter:
    """Counts in memory, and writes to the store from time to time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._amounts: dict[str, int] = {}
        self._lock = threading.Lock()

    def count_search(self, tools: Sequence[Tool]) -> None:
        """Count a search, and the tokens of its hits, if its caller may change anything."""
        if not are_searches_counted():
            return
        self._add(searches=1, shown=sum(map(rows.estimate_tool_tokens, tools)))
        if self._amounts.get("searches", 0) >= _FLUSH_AFTER:
            self.flush()

    @contextmanager
    def count_call(self) -> Iterator[None]:
        """Count a call, and whether it fails."""
        self._add(calls=1)
        try:
            yield
        except AthandError:
            self._add(failures=1)
            raise

    def flush(self) -> None:
        """Write the counters to the store."""
        with self._lock:
            amounts, self._amounts = self._amounts, {}
        try:
            self._write_amounts(amounts)
        except StoreError as error:  # counting must not make the operation fail
            self._add(**amounts)
            log.warning("The usage counters of tools could not be written: %s", error)

    def _write_amounts(self, amounts: Mapping[str, int]) -> None:
        if amounts:
            with self._store.transaction(durable=False, spaces=(rows.EVERYWHERE,)) as transaction:
                rows.add_usage(transaction, rows.EVERYWHERE, amounts)

    def count_update(self, update: CatalogueUpdate) -> None:
        """Count the texts that were embedded, and those that had a vector already."""
        self._add(embedded=update.embedded, reused=update.reused)

    def stats(self, context: ToolContext) -> ToolStats:
        """All counters, with those that are not yet written, and the numbers of servers and tools."""
        model_id = context.embedder.attempt(lambda model: model.model_id)
        with self._lock:
            amounts = Counter(self._amounts)
        with self._store.snapshot() as snapshot:
            amounts.update(rows.get_usage_totals(snapshot))
            servers, tools, tokens = rows.count_all(snapshot)
        indexed = sum(self._store.counts(INDEX.corpus).values())
        missing = len(self._store.missing_vectors(INDEX.corpus, model_id, 0, indexed + 1)) if model_id else indexed
        searches, shown, embedded, reused = (amounts[name] for name in ("searches", "shown", "embedded", "reused"))
        return ToolStats(
            servers=servers,
            tools=tools,
            indexed=indexed,
            cached=indexed - missing,
            searches=searches,
            hit_rate=reused / (embedded + reused) if embedded + reused else 0.0,
            calls=amounts["calls"],
            failures=amounts["failures"],
            tokens_of_all=tokens,
            tokens_per_search=shown // searches if searches else 0,
            tokens_saved=max(0, tokens * searches - shown),
        )

    def _add(self, **amounts: int) -> None:
        with self._lock:
            for name, amount in amounts.items():
                self._amounts[name] = self._amounts.get(name, 0) + amount

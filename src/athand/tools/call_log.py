"""The log of calls: who called which tool when, how long it took and how it ended; bounded in rows and age."""

import json
import logging
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from athand.errors import InvalidInput, Refused, StoreError, ToolFailed, Unavailable
from athand.redaction import clean, redact
from athand.store import Snapshot, Transaction, one_of, to_datetime, to_microseconds
from athand.text_length import shorten
from athand.tools.context import ToolContext
from athand.tools.model import CallRecord, Tool
from athand.tools.relay import CallCancelled

MOST_ROWS, OLDEST = 10_000, timedelta(days=30)  # of a catalogue
_MOST_UNWRITTEN = 10_000
_LONGEST_VALUE, _LONGEST_ARGUMENTS, _LONGEST_REASON = 200, 2_000, 300
_LONGEST_READ = 2_000  # characters of a value that are looked at
_MOST_VALUES, _DEEPEST = 100, 8
_SECRET_KEY = re.compile(
    r"passw|passphrase|secret|token|credential|authori[sz]ation|cookie|(?:api|private|access)[_-]?key|\bpin\b", re.I
)
_OUTCOMES: Mapping[type[BaseException], str] = {
    ToolFailed: "failed",
    InvalidInput: "invalid",
    Refused: "refused",
    CallCancelled: "cancelled",
    Unavailable: "unavailable",
}
_COLUMNS = "called_at, caller, id, space, tool, server, outcome, reason, microseconds, arguments"


class CallLog:
    """Calls are written by a thread of its own: no call waits for the disk, or fails because of it."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._unwritten: deque[dict[str, Any]] = deque(maxlen=_MOST_UNWRITTEN)
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def record(self, tool: Tool, arguments: Any, caller: str) -> Iterator[None]:
        """Record a call, and how it ends."""
        at, began = to_microseconds(self._context.now()), time.monotonic()
        outcome, reason = "ok", None
        try:
            yield
        except BaseException as error:
            outcome = next((name for kind, name in _OUTCOMES.items() if isinstance(error, kind)), "error")
            reason = redact(shorten(str(error), _LONGEST_REASON))
            raise
        finally:
            entry = {
                "space": tool.catalogue,
                "id": f"{at:016x}{secrets.token_hex(4)}",  # in the order of time
                "called_at": at,
                "caller": caller,
                "tool": tool.id,
                "server": tool.server,
                "outcome": outcome,
                "reason": reason,
                "microseconds": round((time.monotonic() - began) * 1e6),
                "arguments": render_arguments(arguments),
            }
            self._submit(entry)

    def read(
        self,
        spaces: tuple[str, ...] | None,
        *,
        server: str | None = None,
        tool: str | None = None,
        outcome: str | None = None,
        limit: int = 100,
    ) -> list[CallRecord]:
        """The latest calls that fit, newest first."""
        self.flush()
        inside, values = one_of("space", spaces)
        wanted = {"server": server, "tool": tool, "outcome": outcome}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join((inside, *(f"{name} = :{name}" for name in given)))
        sql = f"SELECT {_COLUMNS} FROM tool_calls WHERE {where} ORDER BY id DESC LIMIT :limit"
        with self._context.store.snapshot() as snapshot:
            rows = snapshot.rows(sql, {**values, **given, "limit": limit})
        return [_to_record(*row) for row in rows]

    def flush(self) -> None:
        """Wait until all calls that have ended are written, or were found not to be writable."""
        with self._lock:
            pool = self._pool
        if pool is not None:
            pool.submit(self._write).result()

    def close(self) -> None:
        """Write what is left."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.submit(self._write)
            pool.shutdown()

    def _submit(self, entry: dict[str, Any]) -> None:
        self._unwritten.append(entry)
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, "athand-call-log")
            self._pool.submit(self._write)

    def _write(self) -> None:
        entries = []
        while self._unwritten:
            entries.append(self._unwritten.popleft())
        by_space = sorted(entries, key=lambda entry: entry["space"])
        try:
            for space, some in groupby(by_space, key=lambda entry: str(entry["space"])):
                with self._context.store.transaction(durable=False, spaces=(space,)) as transaction:
                    self._write_some(transaction, space, list(some))
        except StoreError as error:
            logging.getLogger("athand").warning("%d calls of tools could not be logged: %s", len(entries), error)

    def _write_some(self, transaction: Transaction, space: str, entries: list[dict[str, Any]]) -> None:
        names = ", ".join(entries[0])
        marks = ", ".join(f":{name}" for name in entries[0])
        transaction.execute_many(f"INSERT INTO tool_calls ({names}) VALUES ({marks})", entries)
        oldest = _find_oldest_to_keep(transaction, space, self._context.now())
        transaction.execute("DELETE FROM tool_calls WHERE space = :space AND id < :id", {"space": space, "id": oldest})


def _find_oldest_to_keep(snapshot: Snapshot, space: str, now: datetime) -> str:
    """The id below which calls are too old, or too many."""
    too_old = f"{to_microseconds(now - OLDEST):016x}"
    sql = "SELECT id FROM tool_calls WHERE space = :space ORDER BY id DESC LIMIT 1 OFFSET :most"
    found = snapshot.rows(sql, {"space": space, "most": MOST_ROWS - 1})
    return max(too_old, found[0][0]) if found else too_old


def render_arguments(arguments: Any) -> str:
    """Arguments as short JSON, without secrets."""
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):  # then it is kept as a text
            arguments = json.loads(arguments)
    text = json.dumps(_shorten_values(arguments, _DEEPEST), ensure_ascii=False, default=str)
    return shorten(redact(text), _LONGEST_ARGUMENTS)


def _shorten_values(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return shorten(clean(value[:_LONGEST_READ]), _LONGEST_VALUE)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        some = [(shorten(str(key), _LONGEST_VALUE), each) for key, each in list(value.items())[:_MOST_VALUES]]
        return {
            key: "[redacted]" if _SECRET_KEY.search(key) else _shorten_values(each, depth - 1) for key, each in some
        }
    return [_shorten_values(each, depth - 1) for each in value[:_MOST_VALUES]]


def _to_record(called_at: int, caller: str, _: str, catalogue: str, *rest: Any) -> CallRecord:
    tool, server, outcome, reason, microseconds, arguments = rest
    at = to_datetime(called_at)
    return CallRecord(at, caller, tool, server, catalogue, outcome, reason, microseconds / 1e6, arguments)

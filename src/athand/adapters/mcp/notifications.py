"""Sends progress and log notifications from the worker thread until the request ends."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mcp import types
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

RequestContext = ServerRequestContext[Any, Any]
RecordHandler = Callable[[logging.LogRecord], None]

_PROGRESS_INTERVAL = 0.1  # seconds
_LEVEL_NAMES: dict[int, types.LoggingLevel] = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
    logging.CRITICAL: "critical",
}
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_LEVEL_KEY = "athand.log_level"
_record_handler: ContextVar[RecordHandler | None] = ContextVar("record_handler", default=None)


class NotificationSender:
    """Created on the event loop of a request; its worker thread sends, and waits until each message is sent."""

    def __init__(self) -> None:
        self._loop, self._loop_thread = asyncio.get_running_loop(), threading.get_ident()
        self._sending: Future[Any] | None = None
        self._is_closed = False

    def send(self, send: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> None:
        """Send a notification; nothing after `close`, and nothing on the loop's own thread, which would deadlock."""
        if self._is_closed or threading.get_ident() == self._loop_thread:
            return
        self._sending = asyncio.run_coroutine_threadsafe(send(*arguments), self._loop)
        if self._is_closed:  # meanwhile: close() may have missed this one
            self._sending.cancel()
        try:
            self._sending.result()
        except (CancelledError, RuntimeError):
            return  # the request has ended

    def close(self) -> None:
        """Cancel what is being sent, even if the client does not read it, and send nothing more."""
        self._is_closed = True
        if self._sending is not None:
            self._sending.cancel()


class ProgressReporter:
    """Reports the progress of an operation: at most every 0.1 s, and only increasing."""

    def __init__(self, context: RequestContext, sender: NotificationSender) -> None:
        self._report = context.session.report_progress
        self._sender = sender
        self._done, self._sent_at = -1, 0.0

    def __call__(self, done: int, total: int) -> None:
        is_due = done >= total or time.monotonic() - self._sent_at >= _PROGRESS_INTERVAL
        if done <= self._done or not is_due:
            return
        self._done, self._sent_at = done, time.monotonic()
        self._sender.send(self._report, done, total)


class _ForwardingHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        handle = _record_handler.get()
        if handle is not None:
            handle(record)


_forwarding_handler = _ForwardingHandler()


def set_log_level(context: RequestContext, level: types.LoggingLevel) -> None:
    """Send this connection log messages of this level and above; before, none are sent."""
    _connection_state(context)[_LEVEL_KEY] = level


@contextmanager
def forward_logs(context: RequestContext, sender: NotificationSender) -> Iterator[None]:
    """Forward what the request writes to the log to its client, if it has asked for it."""
    logging.getLogger("athand").addHandler(_forwarding_handler)  # adding it again has no effect
    levels = _requested_levels(context)
    token = _record_handler.set(_make_record_handler(context, sender, levels) if levels else None)
    try:
        yield
    finally:
        _record_handler.reset(token)


def _make_record_handler(context: RequestContext, sender: NotificationSender, levels: frozenset[str]) -> RecordHandler:
    def handle(record: logging.LogRecord) -> None:
        name = _LEVEL_NAMES.get(record.levelno)
        if name is None or name not in levels:
            return
        params = types.LoggingMessageNotificationParams(level=name, logger=record.name, data=record.getMessage())
        notification = types.LoggingMessageNotification(params=params)
        sender.send(context.session.send_notification, notification, context.request_id)

    return handle


def _requested_levels(context: RequestContext) -> frozenset[str]:
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return frozenset(allowed_log_levels(context.protocol_version, context.meta))
    level = _connection_state(context).get(_LEVEL_KEY)
    return frozenset(_LEVELS[_LEVELS.index(level) :]) if level else frozenset()


def _connection_state(context: RequestContext) -> dict[str, Any]:
    """State of the connection; the SDK has no public access to it from a request."""
    return context.session._connection.state

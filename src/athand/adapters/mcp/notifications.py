"""Sends progress and log notifications from the worker thread until the request ends."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from mcp import types
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

RequestContext = ServerRequestContext[Any, Any]
RecordHandler = Callable[[logging.LogRecord], None]
Sending = Callable[[RequestContext], Coroutine[Any, Any, None]]

_PROGRESS_INTERVAL = 0.1  # seconds
_MOST_UNREAD = 100  # notifications of one call that its client has not read yet
_LEVEL_NAMES: dict[int, types.LoggingLevel] = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
    logging.CRITICAL: "critical",
}
LEVELS: tuple[types.LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
_LEVEL_KEY = "athand.log_level"
_record_handler: ContextVar[RecordHandler | None] = ContextVar("record_handler", default=None)


class NotificationSender:
    """Created on the event loop; sends to the request that waits for the work at present, if there is one."""

    def __init__(self, context: RequestContext) -> None:
        self._loop, self._loop_thread = asyncio.get_running_loop(), threading.get_ident()
        self._context: RequestContext | None = context
        self.last_context = context
        self._sending: set[Future[Any]] = set()
        self._is_closed = False

    @property
    def context(self) -> RequestContext | None:
        """The request that waits; None while there is none, and then nothing is sent."""
        return self._context

    @context.setter
    def context(self, context: RequestContext | None) -> None:
        self._context, self.last_context = context, context or self.last_context

    def send(self, make: Sending) -> None:
        """Send a notification and wait until that is done; not on the loop's own thread, which would deadlock."""
        sending = None if threading.get_ident() == self._loop_thread else self._start(make)
        if sending is not None:
            with suppress(CancelledError, RuntimeError):  # the request has ended
                sending.result()

    def send_soon(self, make: Sending) -> None:
        """Send a notification without waiting; it is left out if many others have not been read yet."""
        if len(self._sending) < _MOST_UNREAD:
            self._start(make)

    def close(self) -> None:
        """Cancel what is being sent, even if the client does not read it, and send nothing more."""
        self._is_closed = True
        for sending in list(self._sending):
            sending.cancel()

    def _start(self, make: Sending) -> "Future[Any] | None":
        context = self._context
        if self._is_closed or context is None:
            return None
        sending = asyncio.run_coroutine_threadsafe(make(context), self._loop)
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)
        if self._is_closed:  # meanwhile: close() may have missed this one
            sending.cancel()
        return sending


class ProgressReporter:
    """Reports the progress of an operation: at most every 0.1 s, and only increasing."""

    def __init__(self, sender: NotificationSender) -> None:
        self._sender = sender
        self._done, self._sent_at = -1.0, 0.0

    def __call__(self, done: int, total: int) -> None:
        if self._is_due(done, total):
            self._sender.send(lambda context: context.session.report_progress(done, total))

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Report the progress of somebody else, without waiting for the client."""
        if self._is_due(done, total):
            self._sender.send_soon(lambda context: context.session.report_progress(done, total, message))

    def _is_due(self, done: float, total: float | None) -> bool:
        now = time.monotonic()
        is_last = total is not None and done >= total
        if done <= self._done or not (is_last or now - self._sent_at >= _PROGRESS_INTERVAL):
            return False
        self._done, self._sent_at = done, now
        return True


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
def forward_logs(sender: NotificationSender) -> Iterator[None]:
    """Forward what the request writes to the log to its client, if it has asked for it."""
    logging.getLogger("athand").addHandler(_forwarding_handler)  # adding it again has no effect

    def handle(record: logging.LogRecord) -> None:
        name = _LEVEL_NAMES.get(record.levelno)
        if name is not None and name in requested_levels(sender.last_context):
            sender.send(make_log_sender(name, record.getMessage(), record.name))

    token = _record_handler.set(handle if requested_levels(sender.last_context) else None)
    try:
        yield
    finally:
        _record_handler.reset(token)


def make_log_sender(level: types.LoggingLevel, data: Any, logger: str) -> Sending:
    """What sends a log message to the client of a request, if it has asked for this level."""

    async def send(context: RequestContext) -> None:
        if level in requested_levels(context):
            params = types.LoggingMessageNotificationParams(level=level, logger=logger, data=data)
            notification = types.LoggingMessageNotification(params=params)
            await context.session.send_notification(notification, context.request_id)

    return send


def requested_levels(context: RequestContext) -> frozenset[str]:
    """The levels of log messages that the client wants."""
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return frozenset(allowed_log_levels(context.protocol_version, context.meta))
    level = _connection_state(context).get(_LEVEL_KEY)
    return frozenset(LEVELS[LEVELS.index(level) :]) if level else frozenset()


def _connection_state(context: RequestContext) -> dict[str, Any]:
    """State of the connection; the SDK has no public access to it from a request."""
    return context.session._connection.state

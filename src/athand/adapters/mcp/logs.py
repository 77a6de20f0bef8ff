"""What the log says while a request is answered, for clients that have asked to hear it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mcp import types
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from athand.adapters.mcp.telling import Telling

Context = ServerRequestContext[Any, Any]
Teller = Callable[[logging.LogRecord], None]
_NAMES: dict[int, types.LoggingLevel] = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
    logging.CRITICAL: "critical",
}
_ORDER = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_CHOSEN = "athand.log_level"
_listener: ContextVar[Teller | None] = ContextVar("listener", default=None)


class _Forwarding(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        tell = _listener.get()
        if tell is not None:
            tell(record)


_forwarding = _Forwarding()


def choose(context: Context, level: types.LoggingLevel) -> None:
    """From now on this connection hears of what is as grave as this; nothing is told before."""
    _state(context)[_CHOSEN] = level


@contextmanager
def heard(context: Context, telling: Telling) -> Iterator[None]:
    """What the thread of a request writes to the log meanwhile is told to its client, if it wants to know."""
    logging.getLogger("athand").addHandler(_forwarding)  # a logger that has it already takes it only once
    levels = _wanted(context)
    before = _listener.set(_teller(context, telling, levels) if levels else None)
    try:
        yield
    finally:
        _listener.reset(before)


def _teller(context: Context, telling: Telling, levels: frozenset[str]) -> Teller:
    def tell(record: logging.LogRecord) -> None:
        name = _NAMES.get(record.levelno)
        if name is None or name not in levels:
            return
        told = types.LoggingMessageNotificationParams(level=name, logger=record.name, data=record.getMessage())
        notification = types.LoggingMessageNotification(params=told)
        telling.tell(context.session.send_notification, notification, context.request_id)

    return tell


def _wanted(context: Context) -> frozenset[str]:
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return frozenset(allowed_log_levels(context.protocol_version, context.meta))
    level = _state(context).get(_CHOSEN)
    return frozenset(_ORDER[_ORDER.index(level) :]) if level else frozenset()


def _state(context: Context) -> dict[str, Any]:
    """What is kept for the whole connection; the SDK has no public way to it from a request."""
    return context.session._connection.state

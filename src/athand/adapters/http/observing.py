"""What happens to every request: it is counted, timed, told to the log, and its answer gets safe headers."""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from athand.adapters.http.answers import Problem
from athand.adapters.http.guards import CALLER, PLACE
from athand.adapters.http.metrics import Metrics

log = logging.getLogger("athand")
requests = logging.getLogger("athand.requests")

HEADERS: Mapping[bytes, bytes] = {
    b"x-content-type-options": b"nosniff",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    b"cache-control": b"no-store",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}

# What a terminal obeys, as something to be read: an error may repeat what a stranger has sent.
_SHOWN = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


@dataclass(slots=True)
class _Seen:
    """What is known of an answer while it is sent."""

    status: int = 0

    def wrap(self, send: Send) -> Send:
        """Notes the status, and adds the headers that the answer does not have."""

        async def wrapped(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                given = message.get("headers") or []
                names = {name.lower() for name, _ in given}
                more = [(name, value) for name, value in HEADERS.items() if name not in names]
                message = {**message, "headers": [*given, *more]}
            await send(message)

        return wrapped


class Observer:
    """The outermost guard. It also answers what nobody expected: 500, with the traceback in the log only."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        seen, started = _Seen(), time.perf_counter()
        with self._metrics.in_flight.track_inprogress():
            try:
                await self._answered(seen, scope, receive, send)
            finally:
                self._note(scope, seen.status, time.perf_counter() - started)

    async def _answered(self, seen: _Seen, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, seen.wrap(send))
        except Exception:
            log.exception("Unexpected error while answering %s", _template(scope))
            if seen.status:
                raise  # the answer is cut off, and its reader must notice
            detail = "Something unexpected happened. The log of the server says what."
            await Problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)(scope, receive, seen.wrap(send))

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _template(scope)
        self._metrics.request(route, scope["method"], status, seconds)
        if requests.isEnabledFor(logging.INFO):
            caller = scope[CALLER].name if CALLER in scope else None
            note = {"method": scope["method"], "route": route, "status": status, "ms": round(seconds * 1000, 1)}
            requests.info("%s %s %s", scope["method"], route, status, extra={"note": note | {"caller": caller}})


def _template(scope: Scope) -> str:
    """The route, never the address: that may hold what somebody looks for."""
    place = scope.get(PLACE)
    return place.template if place is not None else "other"


class JsonLines(logging.Formatter):
    """Each record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; what a request was is spread into it."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": moment, "level": record.levelname.lower()}
        note = getattr(record, "note", None)
        line |= note if note is not None else {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


class ShortLines(logging.Formatter):
    """Lines for people: one for each record, and no character in it that a terminal would obey."""

    def format(self, record: logging.LogRecord) -> str:
        """Method, route, status, time and caller."""
        note = getattr(record, "note", None)
        if note is None:
            return super().format(record)
        return f"{note['method']} {note['route']} {note['status']} {note['ms']:.0f} ms {note['caller'] or '-'}"

    def formatMessage(self, record: logging.LogRecord) -> str:
        """What is told, in one line."""
        return super().formatMessage(record).translate(_SHOWN)

    def formatException(self, ei: Any) -> str:
        """The traceback, in its own lines."""
        return "\n".join(line.translate(_SHOWN) for line in super().formatException(ei).split("\n"))

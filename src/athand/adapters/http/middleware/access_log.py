"""Access log and request metrics, security headers on every response, and 500 for unexpected exceptions."""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from athand.adapters.http.middleware import CALLER, ROUTE
from athand.adapters.http.monitoring import Metrics
from athand.adapters.http.responses import ProblemResponse

log = logging.getLogger("athand")
requests = logging.getLogger("athand.requests")

SECURITY_HEADERS: Mapping[bytes, bytes] = {
    b"x-content-type-options": b"nosniff",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    b"cache-control": b"no-store",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}

# Control characters are escaped: an error may repeat what a stranger has sent, and a terminal would obey it.
_ESCAPED_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


@dataclass(slots=True)
class _ResponseRecorder:
    """The status of a response while it is sent."""

    status: int = 0

    def wrap(self, send: Send) -> Send:
        """A `send` that records the status and adds the security headers that the response lacks."""

        async def record_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                headers = message.get("headers") or []
                names = {name.lower() for name, _ in headers}
                missing = [(name, value) for name, value in SECURITY_HEADERS.items() if name not in names]
                message = {**message, "headers": [*headers, *missing]}
            await send(message)

        return record_and_send


class AccessLogMiddleware:
    """The outermost middleware. Unexpected exceptions are answered with 500; their traceback is only logged."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        recorder, started = _ResponseRecorder(), time.perf_counter()
        with self._metrics.in_flight.track_inprogress():
            try:
                await self._run(recorder, scope, receive, send)
            finally:
                self._record(scope, recorder.status, time.perf_counter() - started)

    async def _run(self, recorder: _ResponseRecorder, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, recorder.wrap(send))
        except Exception:
            log.exception("Unexpected error while answering %s", _route_path(scope))
            if recorder.status:
                raise  # the response is cut off, and the client must notice
            detail = "Something unexpected happened. The log of the server says what."
            await ProblemResponse(HTTPStatus.INTERNAL_SERVER_ERROR, detail)(scope, receive, recorder.wrap(send))

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        path = _route_path(scope)
        self._metrics.count_request(path, scope["method"], status, seconds)
        if requests.isEnabledFor(logging.INFO):
            caller = scope[CALLER].name if CALLER in scope else None
            fields = {"method": scope["method"], "route": path, "status": status, "ms": round(seconds * 1000, 1)}
            requests.info("%s %s %s", scope["method"], path, status, extra={"fields": fields | {"caller": caller}})


def _route_path(scope: Scope) -> str:
    """The path template of the route; never the URL, whose path and query may hold what somebody looks for."""
    rule = scope.get(ROUTE)
    return rule.path if rule is not None else "other"


class JsonLogFormatter(logging.Formatter):
    """Log records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON; the fields of a request are top-level keys."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": moment, "level": record.levelname.lower()}
        fields = getattr(record, "fields", None)
        line |= fields if fields is not None else {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


class TextLogFormatter(logging.Formatter):
    """Log records as lines for people, with control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Method, route, status, time and caller of a request; the message of any other record."""
        fields = getattr(record, "fields", None)
        if fields is None:
            return super().format(record)
        return (
            f"{fields['method']} {fields['route']} {fields['status']} {fields['ms']:.0f} ms {fields['caller'] or '-'}"
        )

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The message on one line."""
        return super().formatMessage(record).translate(_ESCAPED_CONTROLS)

    def formatException(self, ei: Any) -> str:
        """The traceback, with its line breaks."""
        return "\n".join(line.translate(_ESCAPED_CONTROLS) for line in super().formatException(ei).split("\n"))

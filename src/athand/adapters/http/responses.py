"""HTTP responses: JSON in ASCII, and errors as problem details (RFC 9457)."""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from athand.errors import (
    ActionFailed,
    AthandError,
    BadData,
    Conflict,
    InvalidInput,
    NotFound,
    Overloaded,
    Refused,
    ToolFailed,
    Unavailable,
)

log = logging.getLogger("athand")

# The first class that matches decides: subclasses stand before their bases.
_STATUSES: Sequence[tuple[type[AthandError], HTTPStatus]] = (
    (BadData, HTTPStatus.BAD_REQUEST),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (Refused, HTTPStatus.FORBIDDEN),
    (ToolFailed, HTTPStatus.BAD_GATEWAY),
    (ActionFailed, HTTPStatus.CONFLICT),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (AthandError, HTTPStatus.INTERNAL_SERVER_ERROR),
)
_TITLES = {each.value: each.phrase for each in HTTPStatus}
_MAX_ERRORS = 10
_MAX_ERROR_LENGTH = 300
_NOT_JSON = "The body is not JSON. Send a JSON object in UTF-8, not compressed."


class AsciiJsonResponse(JSONResponse):
    """JSON in ASCII: texts may hold lone surrogates, which UTF-8 cannot encode."""

    def render(self, content: Any) -> bytes:
        """The encoded JSON; NaN and infinities become null."""
        try:
            text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        except ValueError:
            finite = json.loads(json.dumps(content), parse_constant=lambda _: None)
            text = json.dumps(finite, separators=(",", ":"))
        return text.encode("ascii")


class ProblemResponse(AsciiJsonResponse):
    """Problem details: what went wrong, and what to do."""

    media_type = "application/problem+json"

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        type_: str = "about:blank",
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        content = {"type": type_, "title": _TITLES.get(status, "Error"), "status": int(status), "detail": detail}
        super().__init__(content if code is None else content | {"code": code}, status, headers)


def add_error_handlers(app: FastAPI) -> None:
    """Answer all errors of an app with problem details."""
    app.add_exception_handler(AthandError, _handle_athand_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(OSError, _handle_os_error)


def _handle_athand_error(_: Request, error: Exception) -> Response:
    """The class of the error is part of the problem's type, for programs."""
    kind, status = next((kind, status) for kind, status in _STATUSES if isinstance(error, kind))
    type_ = f"urn:athand:error:{kind.__name__}"
    headers = {"Retry-After": str(error.seconds)} if isinstance(error, Overloaded) else None
    return ProblemResponse(status, str(error), type_=type_, code=getattr(error, "code", None), headers=headers)


def _handle_validation_error(_: Request, error: Exception) -> Response:
    """400 if the body is not JSON, else 422 with the first errors."""
    errors: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError) else []
    if any(each["type"] == "json_invalid" for each in errors):
        return ProblemResponse(HTTPStatus.BAD_REQUEST, _NOT_JSON)
    details = "; ".join(f"{_location(each)}: {each['msg']}"[:_MAX_ERROR_LENGTH] for each in errors[:_MAX_ERRORS])
    return ProblemResponse(HTTPStatus.UNPROCESSABLE_ENTITY, f"The request cannot be used: {details}.")


def _location(error: Mapping[str, Any]) -> str:
    """The path of the invalid value, without the leading `query` or `body`."""
    return ".".join(str(step) for step in error["loc"][1:]) or "the body"


def _handle_http_error(_: Request, error: Exception) -> Response:
    """Errors of the framework: no such route, a body that cannot be decoded."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return ProblemResponse(HTTPStatus.BAD_REQUEST, _NOT_JSON)
    return ProblemResponse(error.status_code, str(error.detail), headers=error.headers)


def _handle_os_error(_: Request, error: Exception) -> Response:
    """503 for errors of disks and files; the path is only logged."""
    log.warning("A request met the system: %s", error)
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    detail = f"The system says: {reason}. The log of the server says where."
    return ProblemResponse(HTTPStatus.SERVICE_UNAVAILABLE, detail)

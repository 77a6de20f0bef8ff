"""How answers look: JSON that any reader takes, and errors as problem details (RFC 9457)."""

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
    Refused,
    ToolFailed,
    Unavailable,
)

log = logging.getLogger("athand")

# The first that fits: what is more special stands before what is more general.
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
_MOST_PROBLEMS = 10
_LONGEST = 300
_NOT_JSON = "The body is not JSON. Send a JSON object in UTF-8, not compressed."


class Json(JSONResponse):
    """Data as ASCII: what servers and callers say may hold halves of characters, which UTF-8 cannot."""

    def render(self, content: Any) -> bytes:
        """The bytes; numbers that JSON does not have become null."""
        try:
            text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        except ValueError:
            known = json.loads(json.dumps(content), parse_constant=lambda _: None)
            text = json.dumps(known, separators=(",", ":"))
        return text.encode("ascii")


class Problem(Json):
    """What went wrong, and what to do."""

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


def answer_with_problems(app: FastAPI) -> None:
    """Let an app answer all errors as problem details."""
    app.add_exception_handler(AthandError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_request)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(OSError, _of_system)


def _of_ours(_: Request, error: Exception) -> Response:
    """The kind of the error is part of the type, so that a program can tell them apart."""
    kind, status = next((kind, status) for kind, status in _STATUSES if isinstance(error, kind))
    return Problem(status, str(error), type_=f"urn:athand:error:{kind.__name__}", code=getattr(error, "code", None))


def _of_request(_: Request, error: Exception) -> Response:
    """A request that cannot be understood: 400 if its body is no JSON, else 422 with all that is wrong."""
    found: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError) else []
    if any(each["type"] == "json_invalid" for each in found):
        return Problem(HTTPStatus.BAD_REQUEST, _NOT_JSON)
    said = "; ".join(f"{_place(each)}: {each['msg']}"[:_LONGEST] for each in found[:_MOST_PROBLEMS])
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"The request cannot be used: {said}.")


def _place(problem: Mapping[str, Any]) -> str:
    """Where in the request something is wrong; query and body have names of ours only."""
    return ".".join(str(step) for step in problem["loc"][1:]) or "the body"


def _of_http(_: Request, error: Exception) -> Response:
    """What the framework or a dependency has to say: no such route, no permission, a body that is no text."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return Problem(HTTPStatus.BAD_REQUEST, _NOT_JSON)
    return Problem(error.status_code, str(error.detail), headers=error.headers)


def _of_system(_: Request, error: Exception) -> Response:
    """A disk or a file is not as it should be; the command line says the same."""
    log.warning("A request met the system: %s", error)
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"The system says: {reason}. The log of the server says where.")

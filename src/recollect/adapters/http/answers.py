"""How answers look: JSON that any reader takes, and errors as problem details (RFC 9457)."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from recollect.errors import BadData, Conflict, InvalidInput, NotFound, RecollectError, Refused, ToolFailed, Unavailable

# The first that fits: what is more special stands before what is more general.
_STATUSES: Sequence[tuple[type[RecollectError], HTTPStatus]] = (
    (BadData, HTTPStatus.BAD_REQUEST),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (Refused, HTTPStatus.FORBIDDEN),
    (ToolFailed, HTTPStatus.BAD_GATEWAY),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (RecollectError, HTTPStatus.INTERNAL_SERVER_ERROR),
)
_TITLES = {each.value: each.phrase for each in HTTPStatus}
_MOST_PROBLEMS = 10
_LONGEST = 300


class Json(Response):
    """Data as ASCII: what servers and callers say may hold halves of characters, which UTF-8 cannot."""

    media_type = "application/json"

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
        self, status: int, detail: str, *, type_: str = "about:blank", headers: Mapping[str, str] | None = None
    ) -> None:
        content = {"type": type_, "title": _TITLES.get(status, "Error"), "status": int(status), "detail": detail}
        super().__init__(content, status, headers)


def answer_with_problems(app: FastAPI) -> None:
    """Let an app answer all errors as problem details."""
    app.add_exception_handler(RecollectError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_request)
    app.add_exception_handler(HTTPException, _of_http)


def _of_ours(_: Request, error: Exception) -> Response:
    """The kind of the error is part of the type, so that a program can tell them apart."""
    kind, status = next((kind, status) for kind, status in _STATUSES if isinstance(error, kind))
    return Problem(status, str(error), type_=f"urn:recollect:error:{kind.__name__}")


def _of_request(_: Request, error: Exception) -> Response:
    """A request that cannot be understood: 400 if its body is no JSON, else 422 with all that is wrong."""
    found: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError) else []
    if any(each["type"] == "json_invalid" for each in found):
        return Problem(HTTPStatus.BAD_REQUEST, "The body is not JSON. Send a JSON object.")
    said = "; ".join(f"{_place(each)}: {each['msg']}"[:_LONGEST] for each in found[:_MOST_PROBLEMS])
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"The request cannot be used: {said}.")


def _place(problem: Mapping[str, Any]) -> str:
    """Where in the request something is wrong; query and body have names of ours only."""
    return ".".join(str(step) for step in problem["loc"][1:]) or "the body"


def _of_http(_: Request, error: Exception) -> Response:
    """What the framework or a dependency has to say: no such route, no permission."""
    if not isinstance(error, HTTPException):
        raise error
    return Problem(error.status_code, str(error.detail), headers=error.headers)

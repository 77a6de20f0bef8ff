"""Log in to the web page, and out: /v1/session takes a token or a one-time code and answers with a session cookie."""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response
from starlette.types import Scope

from athand import __version__
from athand.adapters.http.middleware import CALLER, Limits, get_headers
from athand.adapters.http.middleware.load import RateLimiter, retry_later
from athand.adapters.http.responses import AsciiJsonResponse, ProblemResponse
from athand.adapters.http.route_table import SESSION_PATH
from athand.adapters.http.sessions import SECONDS, SESSION, LoggedIn, Sessions
from athand.adapters.operations import Caller

PAGE_HEADER = b"x-athand"  # forms and images cannot send it, nor pages of other origins without being asked first
_SAFE_METHODS = ("GET", "HEAD")
_WHO = {
    "type": "object",
    "properties": {
        "name": {"type": ["string", "null"], "description": "The name of the token; null where nobody is logged in"},
        "scopes": {"type": "array", "items": {"type": "string"}, "description": "What it may do"},
        "version": {"type": "string", "description": "Of the server"},
    },
    "required": ["name", "scopes", "version"],
}
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "Who is logged in", "content": {"application/json": {"schema": _WHO}}}
}


class Login(BaseModel):
    """What somebody logs in with: a token, or the code of a one-time link."""

    model_config = ConfigDict(extra="forbid")

    token: Annotated[str | None, Field(max_length=200, description="A token of this server")] = None
    code: Annotated[str | None, Field(max_length=200, description="The code of a one-time link")] = None


def login_router(sessions: Sessions, limits: Limits) -> APIRouter:
    """The routes of sessions. Wrong tokens and codes are slowed down by address."""
    router = APIRouter(default_response_class=AsciiJsonResponse, tags=["server"])
    failures = RateLimiter(limits.failures)

    @router.post(SESSION_PATH, operation_id="log_in", summary="Log in", responses=_ANSWER, response_model=None)
    def log_in(login: Login, request: Request) -> Response:
        """Begin a session of 12 hours, as a cookie of the browser, with the scopes of a token."""
        if not _is_from_page(request.scope):
            return _refuse(HTTPStatus.FORBIDDEN, "The header X-Athand is missing: forms cannot send it.")
        begun = _begin(sessions, login)
        if begun is None:
            if wait := failures.take((request.scope.get("client") or ("",))[0]):
                return retry_later(HTTPStatus.TOO_MANY_REQUESTS, "Too many wrong tokens.", wait)
            return _refuse(HTTPStatus.UNAUTHORIZED, _describe_refusal(login))
        if (old := read_cookie(request.scope)) is not None:
            sessions.end(old)
        answer = AsciiJsonResponse(_describe(begun.caller))
        _set_cookie(answer, request.scope, begun.secret, SECONDS[SESSION], _format_time(begun))
        return answer

    @router.get(SESSION_PATH, operation_id="who", summary="Who is logged in", responses=_ANSWER, response_model=None)
    def who(request: Request) -> Response:
        """The name and the scopes of the token that this browser has logged in with, if it has."""
        secret = find_session(request.scope)
        return AsciiJsonResponse(_describe(None if secret is None else sessions.find(secret)))

    @router.delete(SESSION_PATH, operation_id="log_out", summary="Log out", responses=_ANSWER, response_model=None)
    def log_out(request: Request) -> Response:
        """End the session of the browser. A token stays what it is."""
        if (secret := read_cookie(request.scope)) is not None:
            sessions.end(secret)
        answer = AsciiJsonResponse(_describe(request.scope[CALLER]))
        _set_cookie(answer, request.scope, "", 0, "Thu, 01 Jan 1970 00:00:00 GMT")
        return answer

    return router


def find_session(scope: Scope) -> str | None:
    """The secret of the session that a request of our own page comes with; None if it could be another page's.

    Browsers say themselves who asks; those that do not, at addresses without encryption, say the origin of a POST.
    """
    sites, origins, hosts = (get_headers(scope, name) for name in (b"sec-fetch-site", b"origin", b"host"))
    own_origin = f"{scope['scheme']}://{hosts[0]}" if hosts else ""
    is_own = sites == ["same-origin"] if sites else origins == [own_origin]
    if not is_own or (scope["method"] not in _SAFE_METHODS and not _is_from_page(scope)):
        return None
    return read_cookie(scope)


def read_cookie(scope: Scope) -> str | None:
    """The value of the session cookie; None if there is none, or more than one, of which one was planted."""
    pairs = [pair.strip().partition("=") for line in get_headers(scope, b"cookie") for pair in line.split(";")]
    values = [value for name, _, value in pairs if name == _cookie_name(scope)]
    return values[0] if len(values) == 1 else None


def _cookie_name(scope: Scope) -> str:
    """It has the port: cookies do not tell ports of a host apart, and each may have a server of its own."""
    return f"athand-{(scope.get('server') or ('', 0))[1]}"


def _set_cookie(answer: Response, scope: Scope, value: str, seconds: float, expires: str) -> None:
    secure = "; Secure" if scope["scheme"] == "https" else ""
    answer.headers.append(
        "Set-Cookie",
        f"{_cookie_name(scope)}={value}; Path=/; Max-Age={seconds:.0f}; Expires={expires}; "
        f"HttpOnly; SameSite=Strict{secure}",
    )


def _format_time(begun: LoggedIn) -> str:
    return datetime.fromtimestamp(begun.expires_at, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")


def _is_from_page(scope: Scope) -> bool:
    return bool(get_headers(scope, PAGE_HEADER))


def _begin(sessions: Sessions, login: Login) -> LoggedIn | None:
    if login.code is not None:
        return sessions.redeem(login.code)
    return None if login.token is None else sessions.begin(login.token.strip())


def _describe(caller: Caller | None) -> dict[str, Any]:
    name, scopes = (None, []) if caller is None else (caller.name, sorted(caller.scopes))
    return {"name": name, "scopes": scopes, "version": __version__}


def _describe_refusal(login: Login) -> str:
    if login.code is not None:
        return "This link is used up or older than 5 minutes. Get a new one with: athand open"
    return "The token is not known here. Yours is in the file `token` of the data folder; or run: athand open"


def _refuse(status: HTTPStatus, detail: str) -> ProblemResponse:
    return ProblemResponse(status, detail)

"""Host and Origin check, authentication by bearer or session, scopes, rates: all of it before the body is read."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Collection
from dataclasses import replace
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from athand.adapters.http.login import find_session
from athand.adapters.http.middleware import CALLER, CLOSE_CONNECTION, IS_STILL_KNOWN, ROUTE, Limits, get_headers
from athand.adapters.http.middleware.load import RateLimiter, RequestsInProgress, retry_later
from athand.adapters.http.responses import ProblemResponse
from athand.adapters.http.route_table import PASSWORD_PATHS, RouteRule, RouteTable
from athand.adapters.http.sessions import Sessions
from athand.adapters.http.token_registry import TokenRegistry
from athand.adapters.operations import Caller
from athand.errors import InvalidInput
from athand.inputs import check_name
from athand.tools.access import limit_servers

PROJECT_HEADER = b"x-athand-project"
LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^:@/\s]+)(?::\d{1,5})?", re.IGNORECASE)


class HostMiddleware:
    """Refuses requests to other host names (DNS rebinding) and from pages of other origins."""

    def __init__(self, app: ASGIApp, *, names: Collection[str]) -> None:
        self._app = app
        self._extra_names = frozenset(map(_host_name, names)) - {""}
        self._names = LOOPBACK | self._extra_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            problem = self._check(scope)
            await (problem or self._app)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _check(self, scope: Scope) -> ProblemResponse | None:
        if get_headers(scope, b"content-length") and get_headers(scope, b"transfer-encoding"):
            # Request smuggling: a proxy may use one of them for the length, and this server the other.
            detail = "The request has a Content-Length and a Transfer-Encoding. Send one of them."
            return ProblemResponse(HTTPStatus.BAD_REQUEST, detail, headers=CLOSE_CONNECTION)
        hosts, origins = get_headers(scope, b"host"), get_headers(scope, b"origin")
        name = _host_name(hosts[0]) if len(hosts) == 1 else ""
        if name not in self._names and not _is_own_address(scope, name):
            reason = f"This server is not called {name!r}." if name else "Host does not name a server."
            detail = f"{reason} Give a server another name with: athand serve --allow-host NAME"
            return ProblemResponse(HTTPStatus.MISDIRECTED_REQUEST, detail)
        if any(not self._is_own_origin(origin, hosts[0]) for origin in origins):
            return ProblemResponse(HTTPStatus.FORBIDDEN, "Pages of other origins may not call this server.")
        return None

    def _is_own_origin(self, origin: str, host: str) -> bool:
        scheme, _, authority = origin.lower().partition("://")
        is_own = authority == host.lower() or _host_name(authority) in self._extra_names
        return scheme in ("http", "https") and is_own


def _host_name(authority: str) -> str:
    """The host name of an authority without its port; empty where it is malformed."""
    match = _AUTHORITY.fullmatch(authority.strip())
    return match[1].lower().strip("[]").rstrip(".") if match else ""


def _is_own_address(scope: Scope, name: str) -> bool:
    """Whether the host is the IP address that the request came in at: DNS cannot point to it under another name."""
    try:
        return ipaddress.ip_address(name) == ipaddress.ip_address((scope.get("server") or ("",))[0])
    except ValueError:
        return False


class AuthMiddleware:
    """Resolves the route and the caller, and checks scope and rates: answers 404, 405, 401, 403, 429 and 503."""

    def __init__(
        self, app: ASGIApp, *, routes: RouteTable, tokens: TokenRegistry, sessions: Sessions, limits: Limits
    ) -> None:
        self._app = app
        self._routes, self._tokens, self._sessions, self._limits = routes, tokens, sessions, limits
        self._in_progress = RequestsInProgress(limits)
        self._calls, self._failures = RateLimiter(limits.calls), RateLimiter(limits.failures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        problem = self._check(scope)
        if problem is not None:
            return await problem(scope, receive, send)
        caller: Caller | None = scope.get(CALLER)
        if caller is None or scope[ROUTE].is_stream:
            return await self._app(scope, receive, send)
        with self._in_progress.track(caller.name), limit_servers(caller.servers):
            await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> ProblemResponse | None:
        rules = self._routes.find(scope["path"])
        rule = scope[ROUTE] = rules.get(scope["method"])
        if rule is not None and rule.is_public:
            return None
        caller = self._authenticate(scope, rule or next(iter(rules.values()), None))
        if isinstance(caller, ProblemResponse):
            return caller
        try:
            scope[CALLER] = replace(caller, project=_read_project(scope) or caller.project)
        except InvalidInput as error:
            return ProblemResponse(HTTPStatus.BAD_REQUEST, str(error))
        return self._check_load(caller, rule) or _check_method(rules, scope) or _check_scope(caller, rule)

    def _authenticate(self, scope: Scope, rule: RouteRule | None) -> Caller | ProblemResponse:
        """The owner of the token; a wrong token also counts against the client's address."""
        headers = get_headers(scope, b"authorization")
        if not headers and (of_session := self._find_session(scope)) is not None:
            return of_session
        allows_password = rule is not None and rule.path in PASSWORD_PATHS
        token = _parse_token(headers[0], allows_password) if len(headers) == 1 else None
        caller = self._tokens.find(token) if token else None
        if token and caller is not None:
            scope[IS_STILL_KNOWN] = lambda: self._tokens.find(token) == caller
            return caller
        address = (scope.get("client") or ("",))[0]
        if headers and (wait := self._failures.take(address)):
            return retry_later(HTTPStatus.TOO_MANY_REQUESTS, "Too many wrong tokens.", wait)
        challenge = 'Basic realm="athand", charset="UTF-8"' if allows_password else 'Bearer realm="athand"'
        reason = "The token is not known here." if headers else "A token is needed."
        detail = (
            f"{reason} Send it as: Authorization: Bearer TOKEN. The owner's is in the file `token` of the data folder."
        )
        return ProblemResponse(HTTPStatus.UNAUTHORIZED, detail, headers={"WWW-Authenticate": challenge})

    def _find_session(self, scope: Scope) -> Caller | None:
        """The owner of the token that somebody has logged in to the page with."""
        secret = find_session(scope)
        caller = self._sessions.find(secret) if secret is not None else None
        if secret is not None and caller is not None:
            scope[IS_STILL_KNOWN] = lambda: self._sessions.find(secret) == caller
        return caller

    def _check_load(self, caller: Caller, rule: RouteRule | None) -> ProblemResponse | None:
        if wait := self._calls.take(caller.name):
            return retry_later(HTTPStatus.TOO_MANY_REQUESTS, f"{caller.name!r} asks too often.", wait)
        return None if rule is not None and rule.is_stream else self._in_progress.refuse(caller.name)


def _read_project(scope: Scope) -> str | None:
    """The project that a request says its caller works on."""
    named = get_headers(scope, PROJECT_HEADER)
    if not named:
        return None
    if len(named) > 1:
        raise InvalidInput("The request has X-Athand-Project more than once. Send it once.")
    try:
        return check_name("X-Athand-Project", named[0].encode("latin-1").decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidInput("X-Athand-Project is not UTF-8. Encode the name of the project so.") from error


def _parse_token(header: str, allows_password: bool) -> str | None:
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic" and allows_password:
        try:
            return base64.b64decode(value, validate=True).decode("utf-8").partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return None
    return None


def _check_method(rules: dict[str, RouteRule], scope: Scope) -> ProblemResponse | None:
    if not rules:
        return ProblemResponse(HTTPStatus.NOT_FOUND, "There is no such route. All of them are listed at /docs.")
    if scope["method"] not in rules:
        allowed = ", ".join(sorted(rules))
        detail = f"This route takes {allowed}, not {scope['method']}."
        return ProblemResponse(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers={"Allow": allowed})
    return None


def _check_scope(caller: Caller, rule: RouteRule | None) -> ProblemResponse | None:
    if rule is None or rule.scope is None or rule.scope in caller.scopes:
        return None
    detail = (
        f"The token {caller.name!r} lacks the scope {rule.scope!r}. "
        f"Make one that has it with: athand token create NAME --scope {rule.scope}"
    )
    return ProblemResponse(HTTPStatus.FORBIDDEN, detail, type_="urn:athand:error:MissingScope")

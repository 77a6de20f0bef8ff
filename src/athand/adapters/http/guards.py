"""What stands before the routes: each guard lets a request through, or answers it with a problem."""

import asyncio
import base64
import binascii
import ipaddress
import re
from collections.abc import Collection
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from athand.adapters.http.answers import Problem
from athand.adapters.http.callers import Caller, Callers
from athand.adapters.http.limits import Limits, Meter, is_deeper
from athand.adapters.http.places import READ_BY_PEOPLE, Place, Places

LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
CALLER, PLACE = "athand.caller", "athand.place"  # what guards write into a request's scope

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^:@/\s]+)(?::\d{1,5})?", re.IGNORECASE)
_CLOSE = {"Connection": "close"}  # the rest of the request will not be read


class Hosts:
    """The name a request is sent to must be ours: else a page elsewhere could reach us through its own name.

    The page a request comes from must be ours too, where a browser names it.
    """

    def __init__(self, app: ASGIApp, *, names: Collection[str]) -> None:
        self._app = app
        self._named = frozenset(map(_name, names)) - {""}
        self._known = LOOPBACK | self._named

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self._refusal(scope)
            await (answer or self._app)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Scope) -> Problem | None:
        if _headers(scope, b"content-length") and _headers(scope, b"transfer-encoding"):
            # A proxy may take the one for the length and we the other: what is left over would be a request of its own.
            detail = "The request has a Content-Length and a Transfer-Encoding. Send one of them."
            return Problem(HTTPStatus.BAD_REQUEST, detail, headers=_CLOSE)
        hosts, origins = _headers(scope, b"host"), _headers(scope, b"origin")
        name = _name(hosts[0]) if len(hosts) == 1 else ""
        if name not in self._known and not _is_own_address(scope, name):
            said = f"This server is not called {name!r}." if name else "Host does not name a server."
            detail = f"{said} Give a server another name with: athand serve --allow-host NAME"
            return Problem(HTTPStatus.MISDIRECTED_REQUEST, detail)
        if any(not self._is_ours(origin, hosts[0]) for origin in origins):
            detail = "Pages of other origins may not call this server."
            return Problem(HTTPStatus.FORBIDDEN, detail)
        return None

    def _is_ours(self, origin: str, host: str) -> bool:
        scheme, _, authority = origin.lower().partition("://")
        return scheme in ("http", "https") and (authority == host.lower() or _name(authority) in self._named)


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _name(authority: str) -> str:
    """The name of an authority without its port; empty where it is none."""
    found = _AUTHORITY.fullmatch(authority.strip())
    return found[1].lower().strip("[]").rstrip(".") if found else ""


def _is_own_address(scope: Scope, name: str) -> bool:
    """An address, not a name, and the one that the request came in at: nobody can point another name to it."""
    try:
        return ipaddress.ip_address(name) == ipaddress.ip_address((scope.get("server") or ("",))[0])
    except ValueError:
        return False


class Gate:
    """Finds the place, the caller, and whether he may: 404, 405, 401, 403 and 429 come from here."""

    def __init__(self, app: ASGIApp, *, places: Places, callers: Callers, limits: Limits) -> None:
        self._app = app
        self._places, self._callers, self._limits = places, callers, limits
        self._in_flight = 0
        self._calls, self._failures = Meter(limits.calls), Meter(limits.failures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        self._in_flight += 1
        try:
            refusal = self._refusal(scope)
            await (refusal or self._app)(scope, receive, send)
        finally:
            self._in_flight -= 1

    def _refusal(self, scope: Scope) -> Problem | None:
        found = self._places.find(scope["path"])
        place = scope[PLACE] = found.get(scope["method"])
        if place is not None and place.is_open:
            return None
        caller = self._caller(scope, place or next(iter(found.values()), None))
        if isinstance(caller, Problem):
            return caller
        scope[CALLER] = caller
        return self._too_much(caller) or _missing(found, scope) or _forbidden(caller, place)

    def _caller(self, scope: Scope, place: Place | None) -> Caller | Problem:
        """Whoever the token belongs to; a wrong one is also counted against its address."""
        given = _headers(scope, b"authorization")
        by_password = place is not None and place.template in READ_BY_PEOPLE
        token = _token(given[0], by_password) if len(given) == 1 else None
        caller = self._callers.find(token) if token else None
        if caller is not None:
            return caller
        address = (scope.get("client") or ("",))[0]
        if given and (wait := self._failures.take(address)):
            return _later(HTTPStatus.TOO_MANY_REQUESTS, "Too many wrong tokens.", wait)
        challenge = 'Basic realm="athand", charset="UTF-8"' if by_password else 'Bearer realm="athand"'
        said = "The token is not known here." if given else "A token is needed."
        detail = (
            f"{said} Send it as: Authorization: Bearer TOKEN. The owner's is in the file `token` of the data folder."
        )
        return Problem(HTTPStatus.UNAUTHORIZED, detail, headers={"WWW-Authenticate": challenge})

    def _too_much(self, caller: Caller) -> Problem | None:
        if self._in_flight > self._limits.in_flight:
            return _later(HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests are being answered.", 1)
        if wait := self._calls.take(caller.name):
            return _later(HTTPStatus.TOO_MANY_REQUESTS, f"{caller.name!r} asks too often.", wait)
        return None


def _token(header: str, by_password: bool) -> str | None:
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic" and by_password:
        try:
            return base64.b64decode(value, validate=True).decode("utf-8").partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return None
    return None


def _later(status: HTTPStatus, detail: str, seconds: int) -> Problem:
    detail = f"{detail} Try again in {seconds} s."
    return Problem(status, detail, headers={"Retry-After": str(seconds), **_CLOSE})


def _missing(found: dict[str, Place], scope: Scope) -> Problem | None:
    if not found:
        return Problem(HTTPStatus.NOT_FOUND, "There is no such route. All of them are listed at /docs.")
    if scope["method"] not in found:
        allowed = ", ".join(sorted(found))
        detail = f"This route takes {allowed}, not {scope['method']}."
        return Problem(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers={"Allow": allowed})
    return None


def _forbidden(caller: Caller, place: Place | None) -> Problem | None:
    if place is None or place.scope is None or place.scope in caller.scopes:
        return None
    detail = (
        f"The token {caller.name!r} lacks the scope {place.scope!r}. "
        f"Make one that has it with: athand token create NAME --scope {place.scope}"
    )
    return Problem(HTTPStatus.FORBIDDEN, detail, type_="urn:athand:error:MissingScope")


class Bodies:
    """Reads the body before the route does: not too large, not too slow, not too deep."""

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            return await self._app(scope, receive, send)
        body = await self._read(scope, receive)
        if body is None:
            return
        if isinstance(body, Problem):
            return await body(scope, receive, send)
        await self._app(scope, _again(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | Problem | None:
        """The body; None where the caller has left."""
        declared = _headers(scope, b"content-length")
        if declared and declared[0].isdigit() and int(declared[0][:18]) > self._limits.body_bytes:
            return self._too_large()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await self._collected(receive)
        except TimeoutError:
            detail = f"The body did not arrive within {self._limits.body_seconds:.0f} s."
            return Problem(HTTPStatus.REQUEST_TIMEOUT, detail, headers=_CLOSE)
        return body if not isinstance(body, bytes) else self._wrong(scope, body) or body

    def _wrong(self, scope: Scope, body: bytes) -> Problem | None:
        if is_deeper(body, self._limits.depth):
            return Problem(HTTPStatus.BAD_REQUEST, f"The JSON has more than {self._limits.depth} levels.")
        said = (_headers(scope, b"content-type") or [""])[0].partition(";")[0].strip().lower()
        if body and said != "application/json":
            detail = f"The body is sent as {said or 'nothing'!r}. Send JSON as: Content-Type: application/json"
            return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
        return None

    async def _collected(self, receive: Receive) -> bytes | Problem | None:
        pieces, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > self._limits.body_bytes:
                return self._too_large()
            if not message.get("more_body"):
                return b"".join(pieces)

    def _too_large(self) -> Problem:
        detail = f"The body is larger than {self._limits.body_bytes:,} bytes."
        return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, headers=_CLOSE)


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives the body once, then whatever comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received

"""Route table for the middleware: scope and timeout by path and method, before the body is read."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.routing import BaseRoute, Route

from athand.adapters.operations import Operation

PUBLIC_PATHS = ("/healthz", "/readyz")  # need no token
PASSWORD_PATHS = ("/docs", "/openapi.json")  # shown by browsers, which can ask for a password but not for a bearer
PAGE_PATHS = ("/", "/ui", "/ui/{path:path}", "/ui/static/{name:path}")  # the web page: files without a secret
SESSION_PATH = "/v1/session"  # GET says who is logged in, POST logs in; DELETE is for whoever has
EVENTS_PATH = "/v1/events"
TOKEN_PATHS = ("/v1/tokens", "/v1/tokens/{name}")
SCREENSHOT_PATH = "/v1/flows/screenshot"
MCP_PATH = "/mcp"
OPERATIONS_PREFIX = "/v1/"
DEFAULT_TIMEOUT = 60.0
LONG_TIMEOUT = 3600.0
_TOOL_CALLS = (("/tools/{id}", "POST"), ("/continuations/{token}", "GET"))


@dataclass(frozen=True, slots=True)
class RouteRule:
    """One method of one route: the scope that it needs and its timeout."""

    path: str  # the template, such as /tools/{id}
    method: str
    scope: str | None  # None: any token will do, or none is needed where the route is public
    timeout: float | None  # seconds; None: a stream, which ends when its client disconnects

    @property
    def is_public(self) -> bool:
        """Whether it needs no token."""
        is_login = self.path == SESSION_PATH and self.method != "DELETE"
        return self.path in (*PUBLIC_PATHS, *PAGE_PATHS) or is_login

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of events that stays open, without work for the server."""
        return self.path == EVENTS_PATH or (self.path, self.method) == (MCP_PATH, "GET")


class RouteTable:
    """The rules of all routes of an app. Requests for other paths do not reach the app."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._operations = {OPERATIONS_PREFIX + each.path: each for each in operations}
        self._exact: dict[str, dict[str, RouteRule]] = {}
        self._patterns: dict[re.Pattern[str], dict[str, RouteRule]] = {}

    def add(self, route: BaseRoute) -> None:
        """Add a route with all its methods."""
        if not isinstance(route, Route):
            raise TypeError(f"{route} has no path and no methods")
        rules = {method: self._make_rule(route, method) for method in sorted(route.methods or ())}
        if route.param_convertors:
            self._patterns.setdefault(route.path_regex, {}).update(rules)
        else:
            self._exact.setdefault(route.path, {}).update(rules)

    def find(self, path: str) -> dict[str, RouteRule]:
        """The rules of a path by method; empty where there is no such path."""
        rules = self._exact.get(path)
        if rules is None:
            rules = next((rules for pattern, rules in self._patterns.items() if pattern.match(path)), {})
        return rules

    def all(self) -> list[RouteRule]:
        """Every rule."""
        by_path = (*self._exact.values(), *self._patterns.values())
        return [rule for rules in by_path for rule in rules.values()]

    def _make_rule(self, route: Route, method: str) -> RouteRule:
        operation = self._operations.get(route.path)
        if operation is not None:
            return RouteRule(route.path, method, operation.scope, operation_timeout(operation))
        if route.path == MCP_PATH:
            return RouteRule(route.path, method, None, None)
        if route.path in (*PUBLIC_PATHS, *PAGE_PATHS, SESSION_PATH):
            return RouteRule(route.path, method, None, DEFAULT_TIMEOUT)
        if route.path == EVENTS_PATH:
            return RouteRule(route.path, method, "search", None)
        if route.path in TOKEN_PATHS:
            return RouteRule(route.path, method, "admin", DEFAULT_TIMEOUT)
        if (route.path, method) in _TOOL_CALLS:
            return RouteRule(route.path, method, "call-tools", LONG_TIMEOUT)
        return RouteRule(route.path, method, "search", DEFAULT_TIMEOUT)


def operation_timeout(operation: Operation) -> float:
    """Seconds that an operation may take: an hour if it is long or waits for others, else a minute."""
    return LONG_TIMEOUT if operation.is_slow else DEFAULT_TIMEOUT

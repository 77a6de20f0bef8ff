"""Where a request goes, known before anything is read of it: the route, the scope it needs, how long it may take."""

import re
from dataclasses import dataclass

from starlette.routing import BaseRoute, Route

from athand.adapters.operations import Operation, operations
from athand.adapters.operations.threads import is_slow

OPEN = ("/healthz", "/readyz")  # need no token
READ_BY_PEOPLE = ("/docs", "/openapi.json")  # a browser shows them: it can ask for a password, not for a bearer
MCP = "/mcp"
PREFIX = "/v1/"
_CALLING = (("/tools/{id}", "POST"), ("/continuations/{token}", "GET"))
USUAL_SECONDS = 60.0
LONGEST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Place:
    """One method of one route."""

    template: str
    method: str
    scope: str | None  # None: any caller, or nobody where the place is open
    seconds: float | None  # None: a stream, which ends when its reader leaves

    @property
    def is_open(self) -> bool:
        """Whether it needs no token."""
        return self.template in OPEN


class Places:
    """All routes of an app. What is not among them is answered without asking the app."""

    def __init__(self) -> None:
        self._exact: dict[str, dict[str, Place]] = {}
        self._patterns: dict[re.Pattern[str], dict[str, Place]] = {}

    def add(self, route: BaseRoute) -> None:
        """Know a route."""
        if not isinstance(route, Route):
            raise TypeError(f"{route} has no path and no methods")
        places = {method: _place(route, method) for method in sorted(route.methods or ())}
        if route.param_convertors:
            self._patterns.setdefault(route.path_regex, {}).update(places)
        else:
            self._exact.setdefault(route.path, {}).update(places)

    def find(self, path: str) -> dict[str, Place]:
        """The places of a path, by method; none where there is no such path."""
        found = self._exact.get(path)
        if found is None:
            found = next((places for pattern, places in self._patterns.items() if pattern.match(path)), {})
        return found

    def all(self) -> list[Place]:
        """Every place."""
        known = (*self._exact.values(), *self._patterns.values())
        return [place for places in known for place in places.values()]


def _place(route: Route, method: str) -> Place:
    operation = operations().get(getattr(route, "operation_id", None) or "")
    if operation is not None:
        return Place(route.path, method, operation.scope, seconds_of(operation))
    if route.path == MCP:
        return Place(route.path, method, None, None)
    if route.path in OPEN:
        return Place(route.path, method, None, USUAL_SECONDS)
    if (route.path, method) in _CALLING:
        return Place(route.path, method, "call-tools", LONGEST_SECONDS)
    return Place(route.path, method, "search", USUAL_SECONDS)


def seconds_of(operation: Operation) -> float:
    """How long an operation may take: what is long or waits for others has limits of its own."""
    return LONGEST_SECONDS if is_slow(operation) else USUAL_SECONDS

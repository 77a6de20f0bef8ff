"""ASGI middleware, outermost first: access log, Host check, authentication, body limits, timeout."""

from dataclasses import dataclass

from starlette.types import Scope

# Keys that middleware sets in the ASGI scope; the last is a function: whether the token is still good for the same.
CALLER, ROUTE, IS_STILL_KNOWN = "athand.caller", "athand.route", "athand.is_still_known"
CLOSE_CONNECTION = {"Connection": "close"}  # the rest of the request is not read


@dataclass(frozen=True, slots=True)
class Rate:
    """A token-bucket rate: `burst` requests at once, refilled with `per_second`."""

    burst: float
    per_second: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Request limits of a server."""

    query_bytes: int = 62_000  # percent-encoded
    body_bytes: int = 8_000_000
    body_seconds: float = 30.0
    depth: int = 64
    in_flight: int = 768  # event streams are counted apart
    in_flight_of_one: int = 256  # caller
    calls: Rate = Rate(2000, 1000)  # of one caller
    failures: Rate = Rate(20, 1)  # wrong tokens from one address


def get_headers(scope: Scope, name: bytes) -> list[str]:
    """All values of a request header."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]

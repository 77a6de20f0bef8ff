"""The origin of an address, scheme, host and port: it says who gets what is typed on a page. Pure."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from athand.errors import InvalidInput
from athand.inputs import check_text

_OWN_PORTS = {"http": 80, "https": 443}
_WITH_HOST = (*_OWN_PORTS, "chrome-extension")


def origin_of(url: str) -> str:
    """The origin of an address, without a port that its scheme implies; empty if it has none or it is redacted."""
    try:
        parts = urlsplit(url.strip().removeprefix("blob:"))
        port, host = parts.port, parts.hostname or ""
    except ValueError:  # what a page reports need not be a valid URL
        return ""
    if parts.scheme == "file":
        return "file://"
    if parts.scheme not in _WITH_HOST or not host or "[redacted" in parts.netloc:
        return ""
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}" + ("" if port in (None, _OWN_PORTS.get(parts.scheme)) else f":{port}")


def check_origins(values: Iterable[str] | None) -> frozenset[str]:
    """The origins of addresses that a caller names."""
    if isinstance(values, str):
        raise InvalidInput("origins must be a list of addresses such as https://shop.test, not one text.")
    return frozenset(map(_check_origin, values or ()))


def _check_origin(value: str) -> str:
    origin = origin_of(check_text("an origin", value))
    if not origin:
        raise InvalidInput(f"{value[:100]!r} is no origin. Write it as https://shop.test or http://localhost:3000.")
    return origin

"""How a server is started or reached: what the configuration reader hands to the gateway."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CONNECT_SECONDS = 30.0
CALL_SECONDS = 60.0
TRANSPORTS = ("stdio", "http", "sse")

ServerKey = tuple[str, str]  # the catalogue and the server's name


@dataclass(frozen=True, slots=True)
class Launch:
    """A server with all variables filled in. It may hold secrets: it is never stored, logged or shown."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # all that the process gets
    cwd: Path | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_seconds: float = CONNECT_SECONDS
    call_seconds: float = CALL_SECONDS

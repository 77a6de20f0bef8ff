"""What the gateway says of servers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Listing:
    """All tools of a server as they came over the wire, and what the server says of itself."""

    tools: list[dict[str, Any]]
    protocol: str
    instructions: str | None = None
    server_version: str | None = None


@dataclass(frozen=True, slots=True)
class ServerState:
    """How a server is: unknown, connecting, connected, idle, failing or needs login; and why."""

    state: str = "unknown"
    reason: str | None = None
    protocol: str | None = None
    retry_at: datetime | None = None

"""The nouns of tools: what a server offers, how it is, and what a call brings back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from athand.types import Hit, Noun

STATES = ("approved", "quarantined", "changed", "rejected")
KINDS = ("read", "write", "destructive")
DEFAULT = "default"  # the catalogue of those who do not name one

_BLOCKED = {
    "quarantined": "is new and waits to be approved",
    "changed": "is not what was approved",
    "rejected": "was rejected",
}


@dataclass(frozen=True, slots=True)
class Flag(Noun):
    """Something in a tool's definition that should make one careful: which rule, in which field, and what it saw."""

    rule: str
    field: str
    detail: str
    is_dangerous: bool = True  # False: broken or odd, but no attack


@dataclass(frozen=True, slots=True)
class Definition(Noun):
    """What a server says of a tool: everything that is pinned."""

    name: str
    title: str | None = None
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What a call may do. The hints are the server's; what it does not say counts as the worst."""
        if self.annotations.get("readOnlyHint") is True:
            return "read"
        return "write" if self.annotations.get("destructiveHint") is False else "destructive"


@dataclass(frozen=True, slots=True)
class Tool(Noun):
    """A tool of a catalogue: its definition as it was approved, and whether it may be called."""

    id: str
    catalogue: str
    server: str
    name: str
    title: str | None
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    annotations: Mapping[str, Any]
    kind: str
    state: str
    enabled: bool
    flags: tuple[Flag, ...]
    hash: str
    diff: str  # what the server says now, beside what was approved; empty when nothing has changed
    updated_at: datetime

    @property
    def blocked(self) -> str | None:
        """Why it cannot be called, in half a sentence; None when it can."""
        return "is disabled" if not self.enabled else _BLOCKED.get(self.state)


@dataclass(frozen=True, slots=True)
class ToolHit(Hit):
    """A tool that fits, with the two sides of its score and a reason in words."""

    semantic: float
    lexical: float
    combined: float
    reason: str


@dataclass(frozen=True, slots=True)
class Server(Noun):
    """A server of a catalogue: where it comes from, how it is, and why it is not better."""

    name: str
    catalogue: str
    transport: str  # stdio, http, sse; none for tools that were added without a server
    source: str | None  # the configuration that names it
    state: str  # unknown, connecting, connected, idle, failing, needs login, untrusted, disabled, none
    reason: str | None
    tools: int
    waiting: int  # tools that wait for approval
    description: str | None = None
    protocol: str | None = None
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CallResult(Noun):
    """What a tool answered. `continuation` reads on where a long text was cut."""

    tool: str
    content: tuple[Mapping[str, Any], ...]
    structured: Any = None
    truncated: bool = False
    continuation: str | None = None

    @property
    def text(self) -> str:
        """All that was answered as text."""
        return "\n".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")

    @property
    def value(self) -> Any:
        """The structured answer; else the text, as JSON if it is JSON."""
        if self.structured is not None:
            return self.structured
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return self.text


@dataclass(frozen=True, slots=True)
class Rule(Noun):
    """What the user decided about calls of the tools whose id fits a pattern: allow, ask or deny."""

    pattern: str
    decision: str
    catalogue: str = "*"


@dataclass(frozen=True, slots=True)
class ToolStats(Noun):
    """How much there is, how often it was looked for and called, and what searching saves against listing."""

    servers: int
    tools: int
    indexed: int
    cached: int
    searches: int
    hit_rate: float  # of texts that needed a vector, how many had one already
    calls: int
    failures: int
    tokens_of_all: int
    tokens_per_search: int
    tokens_saved: int


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

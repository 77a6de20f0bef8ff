"""Data classes of tools: definitions, servers, results, rules, launch parameters."""

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
DEFAULT = "default"  # the catalogue if none is named

_BLOCK_REASONS = {
    "quarantined": "is new and waits to be approved",
    "changed": "is not what was approved",
    "rejected": "was rejected",
}


@dataclass(frozen=True, slots=True)
class Flag(Noun):
    """A warning about a tool definition: which rule matched in which field, and the text."""

    rule: str
    field: str
    detail: str
    is_dangerous: bool = True  # False: broken or unusual, but not an attack


@dataclass(frozen=True, slots=True)
class Definition(Noun):
    """A tool as its server defines it: all fields that are hashed and approved."""

    name: str
    title: str | None = None
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What a call may do, by the hints of the server; without hints it is "destructive"."""
        if self.annotations.get("readOnlyHint") is True:
            return "read"
        return "write" if self.annotations.get("destructiveHint") is False else "destructive"


@dataclass(frozen=True, slots=True)
class Tool(Noun):
    """A tool of a catalogue: its approved definition, and whether it may be called."""

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
    diff: str  # from the approved definition to the offered one; empty if they are equal
    updated_at: datetime
    notice: str = field(init=False)  # why it cannot be called, and its flags, for every list; empty if there is nothing

    def __post_init__(self) -> None:
        rules = ", ".join(dict.fromkeys(flag.rule for flag in self.flags))
        words = (self.block_reason, f"flagged: {rules}" if rules else None)
        object.__setattr__(self, "notice", "; ".join(filter(None, words)))

    @property
    def block_reason(self) -> str | None:
        """Why it cannot be called, as half a sentence; None if it can."""
        return "is disabled" if not self.enabled else _BLOCK_REASONS.get(self.state)


@dataclass(frozen=True, slots=True)
class ToolHit(Hit):
    """A search hit, with its semantic and lexical scores and a reason in words."""

    semantic: float
    lexical: float
    combined: float
    reason: str


@dataclass(frozen=True, slots=True)
class Server(Noun):
    """A server of a catalogue: its source, its state, and the reason for this state."""

    name: str
    catalogue: str
    transport: str  # stdio, http, sse; none for tools that were added without a server
    source: str | None  # the configuration file
    state: str  # unknown, connecting, connected, idle, failing, needs login, untrusted, disabled, none
    reason: str | None
    tools: int
    waiting: int  # tools that wait for approval
    description: str | None = None
    protocol: str | None = None
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CallResult(Noun):
    """The result of a call. `continuation` is the token to read on if the text was truncated."""

    tool: str
    content: tuple[Mapping[str, Any], ...]
    structured: Any = None
    truncated: bool = False
    continuation: str | None = None

    @property
    def text(self) -> str:
        """All text parts, joined."""
        return "\n".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")

    @property
    def value(self) -> Any:
        """The structured result; else the text, parsed if it is JSON."""
        if self.structured is not None:
            return self.structured
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return self.text


@dataclass(frozen=True, slots=True)
class CallRecord(Noun):
    """A call of a tool, as the log keeps it. `arguments` is JSON without secrets, cut where it is long."""

    at: datetime
    caller: str
    tool: str
    server: str
    catalogue: str
    outcome: str  # ok, failed, invalid, refused, cancelled, unavailable, error
    reason: str | None
    seconds: float
    arguments: str


@dataclass(frozen=True, slots=True)
class Rule(Noun):
    """A decision of the user about calls of all tools whose id matches a pattern: allow, ask or deny."""

    pattern: str
    decision: str
    catalogue: str = "*"


@dataclass(frozen=True, slots=True)
class ToolStats(Noun):
    """Numbers of servers, tools, searches and calls, and the tokens that searching saves compared with listing."""

    servers: int
    tools: int
    indexed: int
    cached: int
    searches: int
    hit_rate: float  # share of texts that had a vector already
    calls: int
    failures: int
    tokens_of_all: int
    tokens_per_search: int
    tokens_saved: int


OUTCOMES = ("ok", "failed", "invalid", "refused", "cancelled", "unavailable", "error")  # of calls
CONNECT_SECONDS = 30.0
CALL_SECONDS = 60.0
TRANSPORTS = ("stdio", "http", "sse")

ServerKey = tuple[str, str]  # catalogue and server name


@dataclass(frozen=True, slots=True)
class Launch:
    """Launch parameters with all variables substituted. They may hold secrets: never stored, logged or shown."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # the whole environment of the process
    cwd: Path | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_seconds: float = CONNECT_SECONDS
    call_seconds: float = CALL_SECONDS


@dataclass(frozen=True, slots=True)
class Listing:
    """All tools of a server as they came over the wire, with protocol and server version."""

    tools: list[dict[str, Any]]
    protocol: str
    instructions: str | None = None
    server_version: str | None = None


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of a server (unknown, connecting, connected, idle, failing or needs login) and the reason."""

    state: str = "unknown"
    reason: str | None = None
    protocol: str | None = None
    retry_at: datetime | None = None

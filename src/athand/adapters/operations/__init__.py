"""What can be done, written once: MCP lists these as tools, HTTP serves them as routes."""

from athand.adapters.operations.caller import AGENT, DEFAULT_SCOPES, SCOPES, Caller
from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import ALWAYS, KINDS, Operation, Progress
from athand.adapters.operations.table import list_toolsets, operations

__all__ = [
    "AGENT",
    "ALWAYS",
    "DEFAULT_SCOPES",
    "KINDS",
    "SCOPES",
    "AppContext",
    "Caller",
    "Operation",
    "Progress",
    "list_toolsets",
    "operations",
]

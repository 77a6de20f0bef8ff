"""What can be done, written once: MCP lists these as tools, HTTP serves them as routes."""

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import (
    ALWAYS,
    DEFAULT_SCOPES,
    KINDS,
    SCOPES,
    Operation,
    Progress,
)
from athand.adapters.operations.table import list_toolsets, operations

__all__ = [
    "ALWAYS",
    "DEFAULT_SCOPES",
    "KINDS",
    "SCOPES",
    "AppContext",
    "Operation",
    "Progress",
    "list_toolsets",
    "operations",
]

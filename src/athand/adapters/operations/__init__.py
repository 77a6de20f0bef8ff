"""What can be done, written once: MCP lists these as tools, HTTP serves them as routes."""

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import (
    ALWAYS,
    DEFAULT_SCOPES,
    KINDS,
    SCOPES,
    TOOLSETS,
    Operation,
    Progress,
)
from athand.adapters.operations.table import operations

__all__ = [
    "ALWAYS",
    "DEFAULT_SCOPES",
    "KINDS",
    "SCOPES",
    "TOOLSETS",
    "AppContext",
    "Operation",
    "Progress",
    "operations",
]

"""What can be done, written once: MCP lists these as tools, HTTP serves them as routes."""

from recollect.adapters.operations.model import (
    ALWAYS,
    DEFAULT_SCOPES,
    KINDS,
    SCOPES,
    TOOLSETS,
    Operation,
    Progress,
    Workspace,
)
from recollect.adapters.operations.table import operations

__all__ = [
    "ALWAYS",
    "DEFAULT_SCOPES",
    "KINDS",
    "SCOPES",
    "TOOLSETS",
    "Operation",
    "Progress",
    "Workspace",
    "operations",
]

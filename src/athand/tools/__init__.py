"""The tools corpus: catalogues of MCP servers and their tools, with search, typed stubs, approval and calls."""

from athand.tools.context import Choices
from athand.tools.model import DEFAULT as DEFAULT_CATALOGUE
from athand.tools.model import (
    CallResult,
    Definition,
    Flag,
    Rule,
    Server,
    Tool,
    ToolHit,
    ToolStats,
)
from athand.tools.scoring import MOST as MOST_TOOLS
from athand.tools.service import Tools

__all__ = [
    "DEFAULT_CATALOGUE",
    "MOST_TOOLS",
    "CallResult",
    "Choices",
    "Definition",
    "Flag",
    "Rule",
    "Server",
    "Tool",
    "ToolHit",
    "ToolStats",
    "Tools",
]

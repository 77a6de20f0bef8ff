"""Tools: what servers offer to call, found, typed, pinned and called."""

from recollect.tools.desk import Choices
from recollect.tools.model import DEFAULT as DEFAULT_CATALOGUE
from recollect.tools.model import (
    CallResult,
    Definition,
    Flag,
    Rule,
    Server,
    Tool,
    ToolHit,
    ToolStats,
)
from recollect.tools.scoring import MOST as MOST_TOOLS
from recollect.tools.service import Tools

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

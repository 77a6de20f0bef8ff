"""Recollect finds what an AI agent can use, and says why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect import errors
    from recollect.app import Recollect
    from recollect.config import Settings
    from recollect.memories import SEED_WEIGHTS, Memory, Weights
    from recollect.types import Hit, Hits, Signal, Status, Why

__all__ = [
    "SEED_WEIGHTS",
    "Hit",
    "Hits",
    "Memory",
    "Recollect",
    "Settings",
    "Signal",
    "Status",
    "Weights",
    "Why",
    "errors",
]
__version__ = "0.1.0"

_HOMES = {
    "Recollect": "recollect.app",
    "Settings": "recollect.config",
    **dict.fromkeys(("Memory", "SEED_WEIGHTS", "Weights"), "recollect.memories"),
    **dict.fromkeys(("Hit", "Hits", "Signal", "Status", "Why"), "recollect.types"),
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `recollect --help` needs none of them."""
    if name == "errors":
        return import_module("recollect.errors")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")

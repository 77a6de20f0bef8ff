"""Athand finds what an AI agent can use, and says why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from athand import errors
    from athand.app import Athand
    from athand.config import Settings
    from athand.memories import SEED_WEIGHTS, Memory, Weights
    from athand.types import Hit, Hits, Signal, Status, Why

__all__ = [
    "SEED_WEIGHTS",
    "Athand",
    "Hit",
    "Hits",
    "Memory",
    "Settings",
    "Signal",
    "Status",
    "Weights",
    "Why",
    "errors",
]
__version__ = "0.1.0"

_HOMES = {
    "Athand": "athand.app",
    "Settings": "athand.config",
    **dict.fromkeys(("Memory", "SEED_WEIGHTS", "Weights"), "athand.memories"),
    **dict.fromkeys(("Hit", "Hits", "Signal", "Status", "Why"), "athand.types"),
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `athand --help` needs none of them."""
    if name == "errors":
        return import_module("athand.errors")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'athand' has no attribute {name!r}")

"""All operations, in the order in which surfaces list them."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

from athand.adapters.operations.model import Operation

_MODULES = ("everything", "memories", "memory_upkeep", "documents", "tools", "tool_upkeep", "flows", "ui", "store")


@cache
def operations() -> Mapping[str, Operation]:
    """Every operation by its name."""
    modules = [import_module(f"athand.adapters.operations.{name}") for name in _MODULES]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Operation)]
    return MappingProxyType({each.name: each for each in found})

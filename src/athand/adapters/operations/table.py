"""All operations, in the order in which surfaces list them."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from types import MappingProxyType, ModuleType

from athand.adapters.operations.model import Operation

_MODULES = ("everything", "memories", "memory_upkeep", "documents", "tools", "tool_upkeep", "flows", "ui", "store")


@cache
def operations() -> Mapping[str, Operation]:
    """Every operation by its name."""
    modules = [import_module(f"athand.adapters.operations.{name}") for name in _MODULES]
    found = [each for module in modules for each in operations_in(module)]
    return MappingProxyType({each.name: each for each in found})


def operations_in(module: ModuleType) -> Sequence[Operation]:
    """The operations of a module: the rows of its table, or the functions that are operations."""
    rows: Sequence[Operation] = getattr(module, "OPERATIONS", ())
    return rows or [each for each in vars(module).values() if isinstance(each, Operation)]

"""The table of all operations, in the order in which surfaces list them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import MappingProxyType, ModuleType

from athand.adapters.operations.model import ALWAYS, Operation, row
from athand.app import CORPORA, Athand

_METHOD = re.compile(r"`(\w+)\(\)`")
_MODULES = ("memories", "documents", "tools", "flows", "ui", "store")


@cache
def operations() -> Mapping[str, Operation]:
    """Every operation by its name."""
    modules = [import_module(f"athand.adapters.operations.{name}") for name in _MODULES]
    search = row("search", Athand.search, "Search everything", toolset=ALWAYS)
    found = [search, *(each for module in modules for each in operations_in(module))]
    names = {each.path: each.name for each in found}
    names_of_corpora = tuple(each.name for each in CORPORA)
    return MappingProxyType(
        {each.name: replace(each, description=_name_tools(each, names), corpora=names_of_corpora) for each in found}
    )


def _name_tools(operation: Operation, names: Mapping[str, str]) -> str:
    """The description, with the names of operations in place of `method()`."""
    return _METHOD.sub(lambda found: names[f"{operation.service}/{found[1]}"], operation.description)


def operations_in(module: ModuleType) -> Sequence[Operation]:
    """The operations of a module: the rows of its table, or the functions that are operations."""
    rows: Sequence[Operation] = getattr(module, "OPERATIONS", ())
    return rows or [each for each in vars(module).values() if isinstance(each, Operation)]

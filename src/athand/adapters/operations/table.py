"""The table of all operations, in the order in which surfaces list them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from athand.adapters.operations import documents, flows, memories, store, tools, ui
from athand.adapters.operations.context import OwnCorpora
from athand.adapters.operations.model import ALWAYS, Operation, row
from athand.app import CORPORA, Athand
from athand.corpus import AnyCorpus

OPERATIONS = (
    row("search", Athand.search, "Search everything", toolset=ALWAYS),
    row("open", Athand.open, "Open what was found", toolset=ALWAYS),
    *memories.OPERATIONS,
    *documents.OPERATIONS,
    *tools.OPERATIONS,
    *flows.OPERATIONS,
    *ui.OPERATIONS,
    *store.OPERATIONS,
)
_METHOD = re.compile(r"`(\w+)\(\)`")


@cache
def operations(corpora: OwnCorpora = ()) -> Mapping[str, Operation]:
    """Every operation by its name; each corpus of one's own adds its search."""
    found = (*OPERATIONS, *map(_make_search, corpora))
    tools_by_path = {each.path: each.name for each in found}
    names = tuple(each.name for each in (*CORPORA, *corpora))
    return MappingProxyType(
        {each.name: replace(each, description=_name_tools(each, tools_by_path), corpora=names) for each in found}
    )


def list_toolsets(corpora: OwnCorpora = ()) -> tuple[str, ...]:
    """The toolsets that can be chosen: one for each corpus, and one for the store."""
    return (*(each.name for each in (*CORPORA, *corpora)), "store")


def _make_search(corpus: type[AnyCorpus]) -> Operation:
    """The search of a corpus of one's own, with the parameters of its method `search`."""
    name, method = corpus.name, getattr(corpus, "search", None)
    if method is None:
        raise TypeError(f"{corpus.__qualname__} needs a method `search`, so that surfaces can offer it.")
    made = row(f"{name}_search", method, f"Search {name}", path=f"{name}/search", toolset=name)
    return replace(made, service=name)


def _name_tools(operation: Operation, tools_by_path: Mapping[str, str]) -> str:
    """The description, with the names of operations in place of `method()`."""

    def name_tool(found: re.Match[str]) -> str:
        return tools_by_path.get(f"{operation.service}/{found[1]}", found[0])

    return _METHOD.sub(name_tool, operation.description)

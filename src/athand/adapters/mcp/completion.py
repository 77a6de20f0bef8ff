"""Argument completion: known names that start with the typed text."""

from collections.abc import Callable, Collection, Mapping

from mcp import types

from athand.adapters.operations import AppContext

_MAX_VALUES = 100  # limit of the protocol
_ALL_PROJECTS = "*"  # a row of the counts, not a name


def _list_projects(ctx: AppContext) -> list[str]:
    return [name for name in ctx.athand.memories.count() if name != _ALL_PROJECTS]


def _list_memories(ctx: AppContext) -> list[str]:
    return [memory.id for memory in ctx.athand.memories.list(limit=_MAX_VALUES)]


def _list_folders(ctx: AppContext) -> list[str]:
    return [folder.folder_id for folder in ctx.athand.documents.list_folders()]


def _list_apps(ctx: AppContext) -> list[str]:
    return [*ctx.athand.flows.count()]


# By argument: its corpus, and the function that lists its values.
_SOURCES: Mapping[str, tuple[str, Callable[[AppContext], list[str]]]] = {
    "project": ("memories", _list_projects),
    "id": ("memories", _list_memories),
    "folder_id": ("documents", _list_folders),
    "app": ("flows", _list_apps),
}


def complete(ctx: AppContext, corpora: Collection[str], argument: str, prefix: str) -> types.CompleteResult:
    """The values of an argument that start with the prefix; none for free text or a corpus that is not offered."""
    corpus, list_values = _SOURCES.get(argument, (None, None))
    values = list_values(ctx) if list_values is not None and corpus in corpora else []
    matches = sorted(value for value in values if value.startswith(prefix))
    has_more = len(matches) > _MAX_VALUES
    completion = types.Completion(values=matches[:_MAX_VALUES], total=len(matches), has_more=has_more)
    return types.CompleteResult(completion=completion)

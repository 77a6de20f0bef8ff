"""Completion of arguments: the names there are, of those that begin as was typed."""

from collections.abc import Callable, Collection, Mapping

from mcp import types

from athand.adapters.operations import AppContext

_MOST = 100  # the protocol's own limit
_EVERYWHERE = "*"  # counts what belongs to every project, and is no name


def _projects(at: AppContext) -> list[str]:
    return [name for name in at.athand.memories.count() if name != _EVERYWHERE]


def _memories(at: AppContext) -> list[str]:
    return [memory.id for memory in at.athand.memories.list(limit=_MOST)]


def _folders(at: AppContext) -> list[str]:
    return [folder.folder_id for folder in at.athand.documents.list_folders()]


def _apps(at: AppContext) -> list[str]:
    return [*at.athand.flows.count()]


# The corpus that each argument is about, and its values.
_NAMES: Mapping[str, tuple[str, Callable[[AppContext], list[str]]]] = {
    "project": ("memories", _projects),
    "id": ("memories", _memories),
    "folder_id": ("documents", _folders),
    "app": ("flows", _apps),
}


def complete(at: AppContext, corpora: Collection[str], argument: str, begun: str) -> types.CompleteResult:
    """The values of an argument that begin so; none for free text, and none of a corpus that is not offered."""
    corpus, names = _NAMES.get(argument, (None, None))
    known = names(at) if names is not None and corpus in corpora else []
    found = sorted(name for name in known if name.startswith(begun))
    completion = types.Completion(values=found[:_MOST], total=len(found), has_more=len(found) > _MOST)
    return types.CompleteResult(completion=completion)

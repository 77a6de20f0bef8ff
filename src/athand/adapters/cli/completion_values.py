"""The values that a shell completes from the store: projects, memories, folders, sessions, servers, tools, apps."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.errors import AthandError

if TYPE_CHECKING:
    from athand.app import Athand

_MOST = 100  # of the newest memories and sessions
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _complete(list_values: "Callable[[Athand], Iterable[str]]") -> Complete:
    """A completion with the values of the store that the words before name; none where it cannot be read."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        try:
            values = sorted(set(_read(context, list_values)))
        except AthandError:
            return []  # a shell shows no error at a key
        return [value for value in values if value.startswith(typed)]

    return complete


def _read(context: click.Context, list_values: "Callable[[Athand], Iterable[str]]") -> list[str]:
    from athand.app import Athand
    from athand.config import load_settings

    settings = load_settings(data_dir=_find_option(context, "data_dir"))
    location = _find_option(context, "store") or settings.location
    if "://" not in location and not Path(location).expanduser().is_file():  # nothing is made at a key
        return []
    with Athand(location, settings=settings) as athand:
        return [*list_values(athand)]


def _find_option(context: click.Context, name: str) -> str | None:
    """The value of a common option, which may stand before the command or after it."""
    return next((value for each in _with_parents(context) if (value := each.params.get(name))), None)


def _with_parents(context: click.Context | None) -> Iterator[click.Context]:
    while context is not None:
        yield context
        context = context.parent


complete_project = _complete(lambda athand: athand.memories.projects())
complete_memory = _complete(lambda athand: (each.id for each in athand.memories.list(limit=_MOST)))
complete_memory_session = _complete(lambda athand: (each.id for each in athand.memories.sessions(limit=_MOST)))
complete_folder = _complete(lambda athand: (each.folder_id for each in athand.documents.list_folders()))
complete_server = _complete(lambda athand: (each.name for each in athand.tools.servers()))
complete_tool = _complete(lambda athand: (each.id for each in athand.tools.list()))
complete_app = _complete(lambda athand: athand.flows.count())
complete_flow = _complete(lambda athand: (each.id for each in athand.flows.sessions(limit=_MOST)))

"""`Athand`: opens the store and the model, and holds the four corpora."""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

from athand import archive
from athand.config import Settings, load_settings, model_options
from athand.copy import copy_store
from athand.documents import Documents
from athand.documents.schema import SCHEMA as DOCUMENTS
from athand.embed import LazyEmbedder
from athand.errors import AthandError
from athand.flows import Flows
from athand.flows.schema import SCHEMA as FLOWS
from athand.inputs import check_path
from athand.memories import GLOBAL_SPACE, Memories
from athand.memories.schema import SCHEMA as MEMORIES
from athand.parameters import (
    Catalogues,
    CorpusNames,
    FolderIds,
    Help,
    Limit,
    MinScore,
    Name,
    Project,
    Question,
)
from athand.search import CORPORA, Corpora, SearchRequest, search
from athand.store import check_target, open_store, restore_store
from athand.tools import Choices, Tools
from athand.tools.schema import SCHEMA as TOOLS
from athand.types import Hit, Hits, Status

# Every corpus of a store.
SCHEMAS = (MEMORIES, DOCUMENTS, TOOLS, FLOWS)
_MANY = 10_000

log = logging.getLogger("athand")


def _ignore_progress(what: str, done: int, total: int) -> None:
    """The default progress callback."""


class Athand:
    """Finds what an agent can use. Open it on a path, on ":memory:", or without arguments on the user's own store."""

    def __init__(
        self,
        location: str | PathLike[str] | None = None,
        *,
        model: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        settings = settings or load_settings()
        self._embedder = LazyEmbedder(model or settings.model, model_options(settings))
        self._store = open_store(str(location) if location is not None else settings.location, SCHEMAS)
        self.documents = Documents(
            self._store,
            self._embedder,
            use_cache=not settings.no_cache,
            when_uncovered=self._embed_in_background,
        )
        self.memories = Memories(
            self._store,
            self._embedder,
            use_cache=not settings.no_cache,
            when_uncovered=self._embed_in_background,
            documents=self.documents.search_project,
        )
        self.tools = Tools(
            self._store,
            self._embedder,
            choices=_choices(settings),
            environment=os.environ,
            use_cache=not settings.no_cache,
            when_uncovered=self._embed_in_background,
        )
        self.flows = Flows(
            self._store,
            self._embedder,
            use_cache=not settings.no_cache,
            profile_folders=(settings.profiles_folder,),
            window_hours=settings.flow_window_hours,
            browser=settings.chromium,
            pictures=settings.data_folder / "screenshots",
            when_uncovered=self._embed_in_background,
        )
        self._closing = threading.Event()
        self._background: threading.Thread | None = None

    def search(
        self,
        query: Question,
        *,
        corpora: CorpusNames = None,
        limit: Limit = 10,
        min_score: MinScore = None,
        project: Project = None,
        folder_id: FolderIds = None,
        catalogue: Catalogues = None,
        app: Annotated[Name | None, Help("Only flows of this app; default: all apps")] = None,
    ) -> Hits[Hit]:
        """Find what fits a task: memories, documents, tools and recorded UI flows, best first, each with why.

        Scores mean the same in all corpora. Nothing is returned when nothing fits, and a search changes nothing.
        """
        request = SearchRequest.check(query, corpora, limit, min_score, project, folder_id, catalogue, app)
        return search(Corpora(self.memories, self.documents, self.tools, self.flows), request)

    def status(self) -> Status:
        """Tell what the store holds, how much of each, and everything that does not work."""
        dimensions = self._embedder.attempt(lambda embedder: embedder.dimensions)
        problems = [f"searching by keyword only: {self._embedder.problem}"] if self._embedder.problem else []
        counts, folders = self.memories.count(), self.documents.list_folders()
        problems += [f"{each.folder_id} is {each.state}: {each.reason}" for each in folders if each.reason]
        servers = self.tools.servers()
        problems += [f"{each.name} is {each.state}: {each.reason}" for each in servers if each.reason]
        flows = self.flows.count()
        waiting = sum(server.waiting for server in servers)
        problems += [f"Waiting for approval: {waiting} of the tools. See: athand tools list"] if waiting else []
        return Status(
            store={"location": self._store.location, "bytes": self._store.size_bytes(), **self._store.facts()},
            model={
                "name": self._embedder.name,
                "dimensions": dimensions,
                "working": dimensions is not None,
            },
            corpora={
                "memories": {"count": sum(counts.values()), "projects": len(counts.keys() - {GLOBAL_SPACE})},
                "documents": {
                    "count": sum(folder.documents for folder in folders),
                    "chunks": sum(folder.chunks for folder in folders),
                    "folders": [folder.to_dict() for folder in folders],
                },
                "tools": {
                    "count": sum(server.tools for server in servers),
                    "waiting": waiting,
                    "servers": [server.to_dict() for server in servers],
                },
                "flows": {"count": sum(flows.values()), "steps": self.flows.count_steps(), "apps": len(flows)},
            },
            problems=tuple(problems),
        )

    def copy_to(
        self, location: str | PathLike[str], *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> dict[str, int]:
        """Copies everything to an empty store of any engine, or resumes such a copy; returns the rows by table."""
        with closing(open_store(str(location), SCHEMAS)) as target:
            corpora = (self.memories, self.documents, self.tools, self.flows)
            return copy_store(self._store, target, corpora, progress)

    def back_up(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Copies the store to a file while it is in use, verifies it and returns its path."""
        target = check_path("path", path)
        check_target(self._store, target)
        self._store.back_up(target, force=force)
        return target

    def export(
        self, path: str | PathLike[str], *, progress: archive.Progress = _ignore_progress, force: bool = False
    ) -> archive.Archived:
        """Writes all user data to one file; returns how much there is of each kind."""
        return archive.write(self._content, check_path("path", path), progress, force=force)

    def import_(
        self, path: str | PathLike[str], *, progress: archive.Progress = _ignore_progress
    ) -> archive.Unarchived:
        """Reads such a file; what exists already stays unchanged."""
        return archive.read(self._content, check_path("path", path), progress)

    @property
    def _content(self) -> archive.Content:
        return archive.Content(self._store, self.memories, self.tools, self.flows)

    def distribute(self) -> dict[str, str]:
        """Distributes the tables of a PostgreSQL store over its Citus cluster; returns what was done by table."""
        return self._store.distribute()

    def check(self) -> list[str]:
        """Check the whole store and list everything that is wrong; an empty list if nothing is."""
        return self._store.check_integrity()

    def without_vectors(self) -> dict[str, int]:
        """Number of passages per corpus without a vector of the current model, up to ten thousand."""
        model_id = self._embedder.attempt(lambda embedder: embedder.model_id)
        if model_id is None:
            return {}
        return {name: len(self._store.missing_vectors(name, model_id, 0, _MANY)) for name in CORPORA}

    def embed_missing(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Embeds every passage that has no vector of the current model; returns whether all have one now."""
        corpora = (self.memories, self.documents, self.tools, self.flows)
        return all([corpus.embed_missing(stop) for corpus in corpora])

    def compact(self) -> bool:
        """Rewrites the store without deleted data; False if others are reading it."""
        return self._store.erase_traces()

    def close(self) -> None:
        """Closes the corpora and the store; background embedding continues with the next search."""
        self._closing.set()
        with ExitStack() as closing_all:  # in reverse order; one that fails does not keep others open
            closing_all.callback(self._store.close)
            if self._background is not None:
                closing_all.callback(self._background.join)
            closing_all.callback(self.flows.close)
            closing_all.callback(self.tools.close)
            closing_all.callback(self.documents.close)

    def _embed_in_background(self) -> None:
        """Embeds missing vectors in a thread, after a change of the model, while searches go by keyword."""
        if self._background is None or not self._background.is_alive():
            self._background = threading.Thread(target=self._embed_missing, name="athand-embed", daemon=True)
            self._background.start()

    def _embed_missing(self) -> None:
        try:
            self.embed_missing(self._closing.is_set)
        except AthandError as error:
            log.warning("Making vectors stopped: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def restore(location: str, backup: str | PathLike[str]) -> Path | None:
    """Replaces a store that no process has open by a backup; returns where the old one was moved, if there was one."""
    return restore_store(location, check_path("backup", backup), datetime.now(UTC))


def _choices(settings: Settings) -> Choices:
    return Choices(
        limit=settings.search_limit,
        threshold=settings.search_threshold,
        alpha=settings.search_alpha,
        policy=settings.tool_policy,
        tokens=settings.data_folder / "logins",
    )

"""`Athand`: opens the store and the model, and holds the four corpora."""

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

from athand import archive
from athand.archive_file import Progress
from athand.config import Settings, load_settings, model_options
from athand.copy import copy_store
from athand.corpus import AnyCorpus
from athand.documents import Documents
from athand.embed import LazyEmbedder
from athand.errors import AthandError, DataError, InvalidInput, NotFound
from athand.flows import Flows
from athand.inputs import check_path, check_text
from athand.memories import Memories
from athand.memories.projects import mark_others
from athand.parameters import (
    LONGEST_ID,
    AnswerLength,
    Catalogues,
    CorpusNames,
    FolderIds,
    Help,
    HitId,
    Home,
    Limit,
    MinScore,
    Name,
    Project,
    Question,
)
from athand.search import SearchRequest, search
from athand.store import check_target, open_store, restore_store
from athand.tools import Choices, Tools
from athand.types import Hit, Hits, Opened, Status

# The corpora of every store.
CORPORA: tuple[type[AnyCorpus], ...] = (Memories, Documents, Tools, Flows)
SCHEMAS = tuple(each.schema for each in CORPORA)
_MANY = 10_000

log = logging.getLogger("athand")


def _ignore_progress(what: str, done: int, total: int) -> None:
    """The default progress callback."""


class Athand:
    """Finds what an agent can use. Open it on a path, on ":memory:", or without arguments on the user's own store.

    `corpora` are classes of corpora of your own: they are kept, searched and offered beside the four.
    """

    def __init__(
        self,
        location: str | PathLike[str] | None = None,
        *,
        model: str | None = None,
        settings: Settings | None = None,
        corpora: Sequence[type[AnyCorpus]] = (),
    ) -> None:
        settings = settings or load_settings()
        self._embedder = LazyEmbedder(model or settings.model, model_options(settings))
        schemas = (*SCHEMAS, *(each.schema for each in corpora))
        self._store = open_store(str(location) if location is not None else settings.location, schemas)
        common: dict[str, Any] = {"use_cache": not settings.no_cache, "when_uncovered": self._embed_in_background}
        options = self._options(settings)
        self.corpora: Mapping[str, AnyCorpus] = {
            each.name: each(self._store, self._embedder, **common, **options.get(each, {}))
            for each in (*CORPORA, *corpora)
        }
        self.memories: Memories = self.corpora[Memories.name]  # type: ignore[assignment]
        self.documents: Documents = self.corpora[Documents.name]  # type: ignore[assignment]
        self.tools: Tools = self.corpora[Tools.name]  # type: ignore[assignment]
        self.flows: Flows = self.corpora[Flows.name]  # type: ignore[assignment]
        self._closing = threading.Event()
        self._background: threading.Thread | None = None

    def _options(self, settings: Settings) -> Mapping[type[AnyCorpus], Mapping[str, Any]]:
        """What a corpus is made with beside store and embedder."""
        return {
            Memories: {"documents": lambda *asked: self.documents.search_project(*asked)},
            Documents: {"redaction": settings.documents_redact},
            Tools: {"choices": _choices(settings), "environment": os.environ},
            Flows: {
                "profile_folders": (settings.profiles_folder,),
                "window_hours": settings.flow_window_hours,
                "browser": settings.chromium,
                "pictures": settings.data_folder / "screenshots",
                "extensions": settings.extension_folders,
            },
        }

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
        home: Home = None,
        longest: AnswerLength = None,
    ) -> Hits[Hit]:
        """Find what fits a task: memories, documents, tools and recorded UI flows, best first, each with why.

        Scores mean the same in all corpora. Nothing is returned when nothing fits, and a search changes nothing.
        """
        filters = {"project": project, "folder_id": folder_id, "catalogue": catalogue, "app": app}
        request = SearchRequest.check(self.corpora, query, corpora, limit, min_score, longest, **filters)
        if home is not None and not (project or folder_id or app):
            return self._search_from(replace(request, home=home))
        return self._search(request)

    def _search_from(self, request: SearchRequest) -> Hits[Hit]:
        """What fits in one project and globally; then, up to the limit, memories and documents of other projects."""
        hits = self._search(request)
        of_projects = {name: each for name, each in request.corpora.items() if each.has_home}
        if len(hits) >= request.limit or not of_projects:
            return hits
        elsewhere = self._search(replace(request, corpora=of_projects, home=None))
        known = {hit.id for hit in hits}
        others = [hit for hit in elsewhere if hit.id not in known]
        return mark_others(hits, others[: request.limit - len(hits)], elsewhere)

    def _search(self, request: SearchRequest) -> Hits[Hit]:
        if Tools.name not in request.corpora or not request.question.text.strip():
            return search(self._store, request)
        return self.tools.wait_while_empty(request.question, lambda: search(self._store, request))

    def open(self, id: HitId, *, catalogue: Catalogues = None) -> Opened:
        """Open what a search has found, by its id: a memory, passage, tool or recorded session with what is around it.

        The place of a document opens it too: folder/path or folder/path:line.
        """
        check_text("id", id, longest=LONGEST_ID)
        for name, corpus in self.corpora.items():
            with suppress(NotFound, InvalidInput):
                return Opened(id, name, corpus.open(id, catalogue))
        raise NotFound(f"Nothing has the id {id!r}. Search again: ids come with the hits.")

    def status(self) -> Status:
        """Tell what the store holds, how much of each, and everything that does not work."""
        dimensions = self._embedder.attempt(lambda embedder: embedder.dimensions)
        problems = [f"searching by keyword only: {self._embedder.problem}"] if self._embedder.problem else []
        reports = {name: corpus.report() for name, corpus in self.corpora.items()}
        return Status(
            store={"location": self._store.location, "bytes": self._store.size_bytes(), **self._store.facts()},
            model={
                "name": self._embedder.name,
                "dimensions": dimensions,
                "working": dimensions is not None,
            },
            corpora={name: facts for name, (facts, _) in reports.items()},
            problems=(*problems, *(problem for _, found in reports.values() for problem in found)),
        )

    def copy_to(
        self, location: str | PathLike[str], *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> dict[str, int]:
        """Copies everything to an empty store of any engine, or resumes such a copy; returns the rows by table."""
        with closing(open_store(str(location), self._store.schemas)) as target:
            return copy_store(self._store, target, self.corpora.values(), progress)

    def back_up(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Copies the store to a file while it is in use, verifies it and returns its path."""
        target = check_path("path", path)
        check_target(self._store, target)
        self._store.back_up(target, force=force)
        return target

    def export(
        self, path: str | PathLike[str], *, progress: Progress = _ignore_progress, force: bool = False
    ) -> archive.ExportCounts:
        """Writes all user data to one file; returns how much there is of each kind."""
        return archive.write(self._content, check_path("path", path), progress, force=force)

    def import_(self, path: str | PathLike[str], *, progress: Progress = _ignore_progress) -> archive.ImportCounts:
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
        found = self._store.check_integrity()
        for corpus in self.corpora.values():
            try:
                found += corpus.check()
            except DataError as error:
                found.append(f"{corpus.name}: {error}")
        return found

    def without_vectors(self) -> dict[str, int]:
        """Number of passages per corpus without a vector of the current model, up to ten thousand."""
        model_id = self._embedder.attempt(lambda embedder: embedder.model_id)
        if model_id is None:
            return {}
        return {name: len(self._store.missing_vectors(name, model_id, 0, _MANY)) for name in self.corpora}

    def embed_missing(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Embeds every passage that has no vector of the current model; returns whether all have one now."""
        return all([corpus.embed_missing(stop) for corpus in self.corpora.values()])

    def compact(self) -> bool:
        """Rewrites the store without deleted data; False if others are reading it."""
        return self._store.erase_traces()

    def end_long_work(self) -> None:
        """Lets indexing end at its next step, as the program is about to end; what is missing is done later."""
        self._closing.set()
        for corpus in self.corpora.values():
            corpus.closing.set()

    def close(self) -> None:
        """Closes the corpora and the store; background embedding continues with the next search."""
        self.end_long_work()
        with ExitStack() as closing_all:  # in reverse order; one that fails does not keep others open
            closing_all.callback(self._store.close)
            if self._background is not None:
                closing_all.callback(self._background.join)
            for corpus in self.corpora.values():
                closing_all.callback(corpus.close)

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
        unannotated=settings.unannotated_tools,
        tokens=settings.data_folder / "logins",
    )

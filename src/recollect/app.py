"""Recollect: one store, one model, one search over all that is in it."""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from os import PathLike
from types import TracebackType
from typing import Any, Self

from recollect import copying
from recollect.config import Settings, load_settings
from recollect.documents import Documents
from recollect.embed import LazyEmbedder, ModelOptions
from recollect.errors import InvalidInput, RecollectError
from recollect.flows import Flows
from recollect.inputs import check_limit, check_names
from recollect.memories import GLOBAL_SPACE, Memories
from recollect.store import open_store
from recollect.tools import DEFAULT_CATALOGUE, MOST_TOOLS, Choices, Tools
from recollect.types import Hit, Hits, Status

CORPORA = ("memories", "documents", "tools", "flows")

log = logging.getLogger("recollect")


class Recollect:
    """Finds what an agent can use. Open it on a path, on ":memory:", or without a word on the user's own store."""

    def __init__(
        self,
        location: str | PathLike[str] | None = None,
        *,
        model: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        settings = settings or load_settings()
        options = ModelOptions(
            device=settings.device,
            cache_dir=settings.data_folder / "models",
            base_url=settings.embeddings_url,
            api_key=settings.embeddings_key,
        )
        self._embedder = LazyEmbedder(model or settings.model, options)
        self._store = open_store(str(location) if location is not None else settings.location)
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
            when_uncovered=self._embed_in_background,
        )
        self._closing = threading.Event()
        self._background: threading.Thread | None = None

    def search(
        self,
        query: str,
        *,
        corpora: tuple[str, ...] | list[str] | None = None,
        limit: int = 10,
        min_score: float | None = None,
        project: str | None = None,
        folder_id: str | Sequence[str] | None = None,
        catalogue: str | Sequence[str] | None = None,
        app: str | None = None,
    ) -> Hits[Hit]:
        """One question to every corpus; scores mean the same everywhere, and nothing is changed by asking."""
        limit = check_limit(limit)
        unknown = set(check_names("corpora", corpora or ())) - set(CORPORA)
        if unknown:
            raise InvalidInput(f"No corpus named {', '.join(sorted(unknown))}. Known: {', '.join(CORPORA)}.")
        asked = [corpus for corpus in CORPORA if corpus in (corpora or _where(project, folder_id, app))]
        found: list[Hits[Any]] = []
        if "memories" in asked:
            found.append(
                self.memories.search(query, project=project, limit=limit, min_score=min_score, reinforce=False)
            )
        if "documents" in asked:
            found.append(self._documents(query, project, folder_id, limit, min_score))
        if "tools" in asked:
            catalogues = catalogue if catalogue is not None or project is None else (project, DEFAULT_CATALOGUE)
            found.append(
                self.tools.search(query, limit=min(limit, MOST_TOOLS), threshold=min_score, catalogue=catalogues)
            )
        if "flows" in asked:
            found.append(self.flows.search(query, limit=limit, min_score=min_score, filters={"app": app}, once=True))
        return _together(found, limit)

    def _documents(
        self,
        query: str,
        project: str | None,
        folder_id: str | Sequence[str] | None,
        limit: int,
        min_score: float | None,
    ) -> Hits[Any]:
        """Each document once, with its best passage."""
        if folder_id is None and project is not None:
            return self.documents.search_project(query, project, limit, min_score=min_score, once=True)
        return self.documents.search(query, folder_id=folder_id, limit=limit, min_score=min_score, once=True)

    def status(self) -> Status:
        """What there is, and anything that does not work."""
        dimensions = self._embedder.attempt(lambda embedder: embedder.dimensions)
        problems = [f"searching by keyword only: {self._embedder.problem}"] if self._embedder.problem else []
        counts, folders = self.memories.count(), self.documents.list_folders()
        problems += [f"{each.folder_id} is {each.state}: {each.reason}" for each in folders if each.reason]
        servers = self.tools.servers()
        problems += [f"{each.name} is {each.state}: {each.reason}" for each in servers if each.reason]
        flows = self.flows.count()
        waiting = sum(server.waiting for server in servers)
        problems += [f"Waiting for approval: {waiting} of the tools. See: recollect tools list"] if waiting else []
        return Status(
            store={"location": self._store.location, "bytes": self._store.size_bytes()},
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
        """Copy everything to an empty store of any engine, verified; what was cut off goes on. Rows by table."""
        with closing(open_store(str(location))) as target:
            corpora = (self.memories.corpus, self.documents.corpus, self.tools.corpus, self.flows.corpus)
            return copying.copy(self._store, target, corpora, progress)

    def distribute(self) -> dict[str, str]:
        """Spread the tables of a PostgreSQL store over the machines of its Citus cluster; what was done, by table."""
        return self._store.distribute()

    def check(self) -> list[str]:
        """Read the whole store and name everything that is wrong with it."""
        return self._store.integrity()

    def close(self) -> None:
        """Let go of the store; what the background was doing goes on with the next search."""
        self._closing.set()
        with ExitStack() as closing_all:  # the last first; one that fails keeps no other open
            closing_all.callback(self._store.close)
            if self._background is not None:
                closing_all.callback(self._background.join)
            closing_all.callback(self.flows.close)
            closing_all.callback(self.tools.close)
            closing_all.callback(self.documents.close)

    def _embed_in_background(self) -> None:
        """After a change of the model: make its vectors while keyword search serves."""
        if self._background is None or not self._background.is_alive():
            self._background = threading.Thread(target=self._embed_missing, name="recollect-embed", daemon=True)
            self._background.start()

    def _embed_missing(self) -> None:
        try:
            self.memories.embed_missing(stop=self._closing.is_set)
            self.documents.embed_missing(stop=self._closing.is_set)
            self.tools.embed_missing(stop=self._closing.is_set)
            self.flows.embed_missing(stop=self._closing.is_set)
        except RecollectError as error:
            log.warning("Making vectors stopped: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _choices(settings: Settings) -> Choices:
    return Choices(
        limit=settings.search_limit,
        threshold=settings.search_threshold,
        alpha=settings.search_alpha,
        policy=settings.tool_policy,
        tokens=settings.data_folder / "logins",
    )


def _where(project: str | None, folder_id: str | Sequence[str] | None, app: str | None) -> tuple[str, ...]:
    """What is searched when no corpus is named: a folder has documents only, an app flows, a project no flows."""
    named = [corpus for corpus, filtered in (("documents", folder_id), ("flows", app)) if filtered is not None]
    if project is not None:
        return ("memories", "documents", "tools", *named)
    return tuple(named) or CORPORA


def _together(found: Sequence[Hits[Any]], limit: int) -> Hits[Hit]:
    """The hits of several corpora, best first, with all that is said about them."""
    hits = sorted((hit for hits in found for hit in hits), key=lambda hit: -hit.why.total)
    return Hits(
        hits[:limit],
        notes=dict.fromkeys(note for hits in found for note in hits.notes),
        did_you_mean={word: meant for hits in found for word, meant in hits.did_you_mean.items()},
        freshness={folder: age for hits in found for folder, age in hits.freshness.items()},
        facets={hits[0].corpus: len(hits) for hits in found if hits},
    )

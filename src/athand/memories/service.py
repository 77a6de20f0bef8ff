"""Memories: everything that can be done with them, each in its own module; this is the list."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from typing import Any, TypeAlias

from athand.embed import LazyEmbedder
from athand.indexing import Corpus
from athand.inputs import check_choice, check_count, check_fraction, check_limit, check_name
from athand.memories import brief, maintenance, relations, rows, search, sessions, transfer, write
from athand.memories.context import MemoryContext
from athand.memories.filters import build_filter
from athand.memories.memory_tool import MemoryFolder
from athand.memories.model import (
    RELATIONS,
    Imported,
    Memory,
    Related,
    Relation,
    Session,
    SessionContext,
    Stats,
    Timeline,
)
from athand.memories.rows import stats
from athand.memories.salience import BY_CALLER, BY_DEEMPHASIZE
from athand.memories.scoring import INDEX, Weights
from athand.memories.sessions import session_context, timeline
from athand.memories.validation import check_project
from athand.store import Store
from athand.types import Hit, Hits

Documents = Callable[[str, str | None, int], Hits[Any]]
# The class below has a method named list.
MemoryList: TypeAlias = list[Memory]
RelatedList: TypeAlias = list[Related]
SessionList: TypeAlias = list[Session]


class Memories:
    """The memories of a store."""

    def __init__(
        self,
        store: Store,
        embedder: LazyEmbedder,
        *,
        use_cache: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        when_uncovered: Callable[[], None] = lambda: None,
        documents: Documents | None = None,
    ) -> None:
        self._context = MemoryContext(store, embedder, use_cache, clock)
        self._store = store
        self._now = clock
        self._when_uncovered = when_uncovered
        self._documents = documents

    # Adding

    def add(
        self,
        content: str,
        *,
        project: str = "default",
        session: str | None = None,
        sector: str | None = None,
        tier: str = "project",
        memory_type: str | None = None,
        importance: float = 0.5,
        tags: Sequence[str] = (),
        concepts: Sequence[str] = (),
        files: Sequence[str] = (),
        summary: str | None = None,
        context: str | None = None,
        author: str | None = None,
        written_by: str = "agent",
        created_at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_until: datetime | str | None = None,
        pinned: bool = False,
        id: str | None = None,
        key: str | None = None,
    ) -> Memory:
        """Keep a text for good; once this returns, it survives a crash and is found.

        The memory comes back with `similar`, what is remembered already and resembles it. What says the same as an
        existing memory reinforces that one instead: it comes back `deduplicated`. `key` makes a retry safe.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        return self.add_many([given])[0]

    def add_many(self, items: Iterable[Mapping[str, Any]]) -> MemoryList:
        """Keep several texts, all or none; each a mapping of the arguments of `add`."""
        return write.add_many(self._context, items)

    # Finding

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        sector: str | None = None,
        tier: str | None = None,
        memory_type: str | None = None,
        tags: Sequence[str] = (),
        limit: int = 10,
        min_salience: float = 0.0,
        min_score: float | None = None,
        include_superseded: bool = False,
        include_documents: bool = False,
        in_session: str | None = None,
        session: str | None = None,
        as_of: datetime | str | None = None,
        mode: str = "hybrid",
        reinforce: bool = True,
        weights: Weights | None = None,
    ) -> Hits[Any]:
        """The memories that answer, best first, each with its reasons; none at all when nothing fits.

        `in_session` keeps to what a session has used; `session` is the caller's own, and will be linked with what it
        recalls. `as_of` asks what was valid then.
        """
        filters = {
            "sector": sector,
            "tier": tier,
            "memory_type": memory_type,
            "tags": tags,
            "min_salience": min_salience,
            "in_session": in_session,
        }
        request = search.MemorySearchRequest(
            query, project, filters, limit, min_score, include_superseded, session, as_of, mode, weights
        )
        hits: Hits[Any] = search.search(self._context, request, self._when_uncovered)
        if reinforce and hits:
            hits = search.recall(self._context, hits, request)
        if include_documents:
            found = self.search_documents(query, project=project, limit=limit)
            corrections = {**found.did_you_mean, **hits.did_you_mean}
            notes = (*hits.notes, *found.notes)
            hits = Hits([*hits, *found], notes=notes, did_you_mean=corrections, freshness=found.freshness)
        return hits

    def search_documents(self, query: str, project: str | None = None, limit: int = 10) -> Hits[Hit]:
        """What the documents of the project say; of all folders, without one."""
        check_limit(limit)
        if self._documents is None:
            return Hits(notes=["No folder of documents is attached to this store."])
        return self._documents(query, project, limit)

    def get(self, id: str) -> Memory:
        """The memory with this id, deleted or not."""
        with self._store.snapshot() as snapshot:
            return rows.get(snapshot, id, self._now())

    def list(self, *, limit: int = 20, include_deleted: bool = False, **filters: Any) -> MemoryList:
        """The newest memories first; filters are those of `forget`."""
        chosen = build_filter(self._now(), **filters)
        if not include_deleted:
            chosen = replace(chosen, where=" AND ".join(filter(None, (chosen.where, "i.is_deleted = 0"))))
        with self._store.snapshot() as snapshot:
            rest = "ORDER BY i.created_at DESC, i.id DESC LIMIT :limit"
            return rows.select(snapshot, chosen, self._now(), rest, limit=check_limit(limit))

    def timeline(self, anchor_id: str, before: int = 5, after: int = 5) -> Timeline:
        """What was remembered in the same project just before and after a memory."""
        with self._store.snapshot() as snapshot:
            anchor = rows.get(snapshot, anchor_id, self._now())
            return timeline(snapshot, anchor, check_count("before", before), check_count("after", after), self._now())

    def brief(self, project: str = "default", max_tokens: int = 800) -> str:
        """What to know at the start of a session: pinned, decisions, most salient, the last session's summary."""
        with self._store.snapshot() as snapshot:
            return brief.brief(
                snapshot, check_project(project), check_count("max_tokens", max_tokens, 1_000_000), self._now()
            )

    # Changing

    def update(
        self, id: str, *, session: str | None = None, expected_updated_at: datetime | str | None = None, **fields: Any
    ) -> Memory:
        """Change some fields; a changed text is indexed anew.

        Give the `updated_at` you saw, and a memory that was changed meanwhile is left alone: a Conflict.
        """
        return write.update(self._context, id, fields, session, expected_updated_at)

    def delete(self, id: str, hard: bool = False) -> Memory:
        """Take a memory away: `restore` brings it back within 30 days, unless `hard` left nothing of it."""
        return write.delete(self._context, id, hard=hard)

    def restore(self, id: str) -> Memory:
        """Bring a deleted memory back."""
        return write.restore(self._context, id)

    def forget(self, dry_run: bool = True, hard: bool = False, **filters: Any) -> MemoryList:
        """Delete every memory that passes all filters; a dry run only tells which."""
        return write.forget(self._context, filters, dry_run=dry_run, hard=hard)

    def pin(self, id: str) -> Memory:
        """Keep a memory from fading, and first in every brief."""
        return self.update(id, pinned=True)

    def unpin(self, id: str) -> Memory:
        """Let a memory fade again."""
        return self.update(id, pinned=False)

    def reinforce(self, id: str, amount: float = BY_CALLER, session: str | None = None) -> Memory:
        """Say that a memory matters."""
        return write.reinforce(self._context, id, check_fraction("amount", amount), session)

    def deemphasize(self, id: str, amount: float = BY_DEEMPHASIZE) -> Memory:
        """Say that a memory matters less."""
        return write.deemphasize(self._context, id, check_fraction("amount", amount))

    # Relations

    def supersede(self, old_id: str, new_id: str, by: str = "user") -> Memory:
        """Let a newer memory take the place of an old one, which stays and can be request for; the old one."""
        now = self._now()
        with self._store.transaction() as transaction:
            old, new = (write.get_live(transaction, id_, now) for id_ in (old_id, new_id))
            return relations.supersede(transaction, old, new, check_name("by", by), now)

    def unsupersede(self, old_id: str) -> Memory:
        """Undo `supersede`: the old memory holds again."""
        with self._store.transaction() as transaction:
            return relations.unsupersede(transaction, write.get_live(transaction, old_id, self._now()), self._now())

    def relate(self, source_id: str, target_id: str, type: str, by: str = "user") -> Relation:
        """Say how one memory stands to another; SUPERSEDES is `supersede`."""
        now = self._now()
        kind = check_choice("relation", type, RELATIONS)
        with self._store.transaction() as transaction:
            source, target = (write.get_live(transaction, id_, now) for id_ in (source_id, target_id))
            if kind == relations.SUPERSEDES:
                relations.supersede(transaction, target, source, check_name("by", by), now)
                return Relation(source.id, target.id, kind, by, now)
            return relations.relate(transaction, source, target, kind, check_name("by", by), now)

    def related(self, id: str) -> RelatedList:
        """The valid relations of a memory, with what is at their other end."""
        with self._store.snapshot() as snapshot:
            return relations.list_related(snapshot, rows.get(snapshot, id, self._now()).id, self._now())

    # Sessions

    def start_session(
        self, project: str = "default", id: str | None = None, started_at: datetime | str | None = None
    ) -> Session:
        """Begin a session; one that has begun already goes on."""
        return sessions.start(self._context, project, id, started_at)

    def end_session(self, id: str, summary: str | None = None) -> Session:
        """End a session, with a summary for the next one's brief."""
        return sessions.end(self._context, id, summary)

    def sessions(self, project: str | None = None, limit: int = 20) -> SessionList:
        """The newest sessions first."""
        with self._store.snapshot() as snapshot:
            named = None if project is None else check_name("project", project)
            return rows.select_sessions(snapshot, named, check_limit(limit))

    def session_context(self, memory_id: str) -> SessionContext | None:
        """The session that used a memory last and how; None if none has."""
        with self._store.snapshot() as snapshot:
            return session_context(snapshot, rows.get(snapshot, memory_id, self._now()).id)

    # Files

    def folder(self, project: str = "default") -> MemoryFolder:
        """The project's memory files, for the commands of Anthropic's memory tool."""
        return MemoryFolder(self._context, project)

    # Upkeep

    def export(self, path: str | PathLike[str], *, project: str | None = None) -> int:
        """Write everything as JSON lines; importing them gives the same store. How many memories."""
        return transfer.export(self._context, path, project)

    def import_(
        self,
        path: str | PathLike[str],
        *,
        project: str | None = None,
        format: str | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Imported:
        """Read an export, Markdown notes or the file of the MCP reference memory server: all of it or nothing."""
        return transfer.import_(self._context, path, project, format, progress)

    @property
    def corpus(self) -> Corpus:
        """How what is indexed comes from the memories."""
        return maintenance.corpus(self._context)

    def stats(self, project: str | None = None) -> Stats:
        """What there is, counted."""
        with self._store.snapshot() as snapshot:
            return stats(snapshot, None if project is None else check_name("project", project), self._now())

    def count(self) -> dict[str, int]:
        """Memories per project; those of every project under `*`."""
        return self._store.counts(INDEX.corpus)

    def reindex(self, progress: Callable[[int], None] = lambda done: None) -> int:
        """Make everything derived anew from the memories, in one step that readers see whole; how many there are."""
        return maintenance.reindex(self._context, progress)

    def fingerprint(self) -> str:
        """A hash of everything derived from the memories: a fresh index has the same."""
        return self._store.fingerprint(INDEX)

    def embed_missing(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Give every memory a vector of the current model; until all have one, searches go by keyword."""
        return maintenance.embed_missing(self._context, stop)

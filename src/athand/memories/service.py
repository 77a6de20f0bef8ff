"""Memories: everything that can be done with them, each in its own module; this is the list."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from typing import Any, TypeAlias

from athand import indexing
from athand.corpus import BATCH, Corpus, Items, Match
from athand.embed import LazyEmbedder
from athand.inputs import check_choice, check_count, check_fraction, check_limit, check_name
from athand.memories import brief, relations, rows, search, sessions, transfer, write
from athand.memories.filters import build_filter
from athand.memories.memory_tool import MemoryFolder
from athand.memories.model import (
    RELATIONS,
    Imported,
    Memory,
    MemoryHit,
    Related,
    Relation,
    Session,
    SessionContext,
    Stats,
    Timeline,
    to_passage,
)
from athand.memories.rows import stats
from athand.memories.salience import BY_CALLER, BY_DEEMPHASIZE
from athand.memories.scoring import INDEX, Weights
from athand.memories.search import MemoryRanking, MemorySearchRequest
from athand.memories.sessions import session_context, timeline
from athand.memories.validation import check_project
from athand.store import Passage, Snapshot, Store, Transaction
from athand.types import Hit, Hits

Documents = Callable[[str, str | None, int], Hits[Any]]
# The class below has a method named list.
MemoryList: TypeAlias = list[Memory]
RelatedList: TypeAlias = list[Related]
SessionList: TypeAlias = list[Session]
HitList: TypeAlias = list[MemoryHit]


class Memories(Corpus[MemorySearchRequest, MemoryHit]):
    """The memories of a store."""

    index = INDEX

    def __init__(
        self, store: Store, embedder: LazyEmbedder, *, documents: Documents | None = None, **options: Any
    ) -> None:
        super().__init__(store, embedder, **options)
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
        return write.add_many(self, items)

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
        request = search.make_request(
            self,
            query,
            project=project,
            filters=filters,
            limit=limit,
            min_score=min_score,
            include_superseded=include_superseded,
            session=session,
            as_of=as_of,
            mode=mode,
            weights=weights,
        )
        hits: Hits[Any] = self.find(request)
        if reinforce and hits:
            hits = search.recall(self, hits, request)
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
        with self.store.snapshot() as snapshot:
            return rows.get(snapshot, id, self.now())

    def list(self, *, limit: int = 20, include_deleted: bool = False, **filters: Any) -> MemoryList:
        """The newest memories first; filters are those of `forget`."""
        chosen = build_filter(self.now(), **filters)
        if not include_deleted:
            chosen = replace(chosen, where=" AND ".join(filter(None, (chosen.where, "i.is_deleted = 0"))))
        with self.store.snapshot() as snapshot:
            rest = "ORDER BY i.created_at DESC, i.id DESC LIMIT :limit"
            return rows.select(snapshot, chosen, self.now(), rest, limit=check_limit(limit))

    def timeline(self, anchor_id: str, before: int = 5, after: int = 5) -> Timeline:
        """What was remembered in the same project just before and after a memory."""
        with self.store.snapshot() as snapshot:
            anchor = rows.get(snapshot, anchor_id, self.now())
            return timeline(snapshot, anchor, check_count("before", before), check_count("after", after), self.now())

    def brief(self, project: str = "default", max_tokens: int = 800) -> str:
        """What to know at the start of a session: pinned, decisions, most salient, the last session's summary."""
        with self.store.snapshot() as snapshot:
            return brief.brief(
                snapshot, check_project(project), check_count("max_tokens", max_tokens, 1_000_000), self.now()
            )

    # Changing

    def update(
        self, id: str, *, session: str | None = None, expected_updated_at: datetime | str | None = None, **fields: Any
    ) -> Memory:
        """Change some fields; a changed text is indexed anew.

        Give the `updated_at` you saw, and a memory that was changed meanwhile is left alone: a Conflict.
        """
        return write.update(self, id, fields, session, expected_updated_at)

    def delete(self, id: str, hard: bool = False) -> Memory:
        """Take a memory away: `restore` brings it back within 30 days, unless `hard` left nothing of it."""
        return write.delete(self, id, hard=hard)

    def restore(self, id: str) -> Memory:
        """Bring a deleted memory back."""
        return write.restore(self, id)

    def forget(self, dry_run: bool = True, hard: bool = False, **filters: Any) -> MemoryList:
        """Delete every memory that passes all filters; a dry run only tells which."""
        return write.forget(self, filters, dry_run=dry_run, hard=hard)

    def pin(self, id: str) -> Memory:
        """Keep a memory from fading, and first in every brief."""
        return self.update(id, pinned=True)

    def unpin(self, id: str) -> Memory:
        """Let a memory fade again."""
        return self.update(id, pinned=False)

    def reinforce(self, id: str, amount: float = BY_CALLER, session: str | None = None) -> Memory:
        """Say that a memory matters."""
        return write.reinforce(self, id, check_fraction("amount", amount), session)

    def deemphasize(self, id: str, amount: float = BY_DEEMPHASIZE) -> Memory:
        """Say that a memory matters less."""
        return write.deemphasize(self, id, check_fraction("amount", amount))

    # Relations

    def supersede(self, old_id: str, new_id: str, by: str = "user") -> Memory:
        """Let a newer memory take the place of an old one, which stays and can be request for; the old one."""
        now = self.now()
        with self.store.transaction() as transaction:
            old, new = (write.get_live(transaction, id_, now) for id_ in (old_id, new_id))
            return relations.supersede(transaction, old, new, check_name("by", by), now)

    def unsupersede(self, old_id: str) -> Memory:
        """Undo `supersede`: the old memory holds again."""
        with self.store.transaction() as transaction:
            return relations.unsupersede(transaction, write.get_live(transaction, old_id, self.now()), self.now())

    def relate(self, source_id: str, target_id: str, type: str, by: str = "user") -> Relation:
        """Say how one memory stands to another; SUPERSEDES is `supersede`."""
        now = self.now()
        kind = check_choice("relation", type, RELATIONS)
        with self.store.transaction() as transaction:
            source, target = (write.get_live(transaction, id_, now) for id_ in (source_id, target_id))
            if kind == relations.SUPERSEDES:
                relations.supersede(transaction, target, source, check_name("by", by), now)
                return Relation(source.id, target.id, kind, by, now)
            return relations.relate(transaction, source, target, kind, check_name("by", by), now)

    def related(self, id: str) -> RelatedList:
        """The valid relations of a memory, with what is at their other end."""
        with self.store.snapshot() as snapshot:
            return relations.list_related(snapshot, rows.get(snapshot, id, self.now()).id, self.now())

    # Sessions

    def start_session(
        self, project: str = "default", id: str | None = None, started_at: datetime | str | None = None
    ) -> Session:
        """Begin a session; one that has begun already goes on."""
        return sessions.start(self, project, id, started_at)

    def end_session(self, id: str, summary: str | None = None) -> Session:
        """End a session, with a summary for the next one's brief."""
        return sessions.end(self, id, summary)

    def sessions(self, project: str | None = None, limit: int = 20) -> SessionList:
        """The newest sessions first."""
        with self.store.snapshot() as snapshot:
            named = None if project is None else check_name("project", project)
            return rows.select_sessions(snapshot, named, check_limit(limit))

    def session_context(self, memory_id: str) -> SessionContext | None:
        """The session that used a memory last and how; None if none has."""
        with self.store.snapshot() as snapshot:
            return session_context(snapshot, rows.get(snapshot, memory_id, self.now()).id)

    # Files

    def folder(self, project: str = "default") -> MemoryFolder:
        """The project's memory files, for the commands of Anthropic's memory tool."""
        return MemoryFolder(self, project)

    # Files and figures

    def export(self, path: str | PathLike[str], *, project: str | None = None) -> int:
        """Write everything as JSON lines; importing them gives the same store. How many memories."""
        return transfer.export(self, path, project)

    def import_(
        self,
        path: str | PathLike[str],
        *,
        project: str | None = None,
        format: str | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Imported:
        """Read an export, Markdown notes or the file of the MCP reference memory server: all of it or nothing."""
        return transfer.import_(self, path, project, format, progress)

    def stats(self, project: str | None = None) -> Stats:
        """What there is, counted."""
        with self.store.snapshot() as snapshot:
            return stats(snapshot, None if project is None else check_name("project", project), self.now())

    # What the base class asks for

    def rank(self, snapshot: Snapshot, request: MemorySearchRequest) -> MemoryRanking:
        """The memories that answer a request, best first."""
        return search.rank(self, snapshot, request)

    def to_hits(self, snapshot: Snapshot, ranking: MemoryRanking, matches: Sequence[Match]) -> HitList:
        """The hits with everything needed to show them."""
        return search.to_hits(snapshot, ranking, matches)

    def passages_of(self, snapshot: Snapshot, items: Items) -> Sequence[Passage]:
        """The passages of these memories."""
        memories = rows.by_id(snapshot, [id_ for _, id_ in items], self.now())
        return [to_passage(memory) for memory in memories.values() if not memory.is_deleted]

    def all_passages(self, snapshot: Snapshot) -> Iterator[Sequence[Passage]]:
        """The passages of all memories, in the order of space and id."""
        for batch in rows.select_all(snapshot, BATCH, self.now()):
            yield [to_passage(memory) for memory in batch]

    def renew_derived(self, transaction: Transaction) -> None:
        """Compute the fingerprints of all memories anew."""
        for batch in rows.select_all(transaction, BATCH, self.now()):
            rows.renew_fingerprints(transaction, batch)

    @property
    def corpus(self) -> indexing.Corpus:
        """How what is indexed comes from the memories."""
        return indexing.Corpus(INDEX, self.passages_of, self.all_passages)

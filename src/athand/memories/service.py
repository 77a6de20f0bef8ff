"""Memories: everything that can be done with them, each in its own module; this is the list."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

from athand import indexing
from athand.corpus import BATCH, Corpus, CorpusQuestion, Items, Match
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
from athand.memories.parameters import (
    After,
    AsOf,
    Author,
    Before,
    BriefTokens,
    By,
    ChangingSession,
    Concepts,
    Content,
    Context,
    CreatedAt,
    Deemphasis,
    DryRun,
    ExpectedUpdatedAt,
    Files,
    Format,
    FromSession,
    Hard,
    Importance,
    ImportProject,
    IncludeDeleted,
    IncludeDocuments,
    IncludeSuperseded,
    InSession,
    Key,
    LeastSalience,
    MemoryChanges,
    MemoryFilters,
    MemoryId,
    Mode,
    NewerId,
    NewId,
    NewMemories,
    NewPinned,
    NewSector,
    NewSessionId,
    NewTier,
    NewType,
    OfSector,
    OfTier,
    OfType,
    OldId,
    OwnSession,
    PlainWeights,
    Reinforce,
    Reinforcement,
    RelationType,
    SearchProject,
    SessionId,
    SessionSummary,
    SourceId,
    StartedAt,
    Summary,
    Tags,
    TargetId,
    ValidFrom,
    ValidUntil,
    WithTags,
    Writer,
)
from athand.memories.rows import stats
from athand.memories.salience import BY_CALLER, BY_DEEMPHASIZE
from athand.memories.schema import SCHEMA
from athand.memories.scoring import INDEX, PROJECT
from athand.memories.search import MemoryRanking, MemorySearchRequest
from athand.memories.sessions import session_context, timeline
from athand.memories.validation import check_project
from athand.parameters import FilePath, HomeProject, Limit, MinScore, Project, Question
from athand.store import Passage, Snapshot, Store, Transaction
from athand.types import Candidate, Hit, Hits

Documents = Callable[[str, str | None, int], Hits[Any]]
# The class below has a method named list.
MemoryList: TypeAlias = list[Memory]
RelatedList: TypeAlias = list[Related]
SessionList: TypeAlias = list[Session]
HitList: TypeAlias = list[MemoryHit]


class Memories(Corpus[MemorySearchRequest, MemoryHit]):
    """The memories of a store."""

    schema = SCHEMA
    points = ((0.0, 0.0), (0.46, 0.1), (0.49, 0.25), (0.62, 0.5), (1.05, 1.0))
    # A memory is one thought, while a chunk has many, and something in it is always a little like any question: of 118
    # questions about other things, 95 % come to no more than 0.35.
    same_meaning = 0.4
    facet = "projects"
    filters = frozenset({"project"})

    def __init__(
        self, store: Store, embedder: LazyEmbedder, *, documents: Documents | None = None, **options: Any
    ) -> None:
        super().__init__(store, embedder, **options)
        self._documents = documents

    # Adding

    def add(
        self,
        content: Content,
        *,
        project: HomeProject = "default",
        session: FromSession = None,
        sector: NewSector = None,
        tier: NewTier = "project",
        memory_type: NewType = None,
        importance: Importance = 0.5,
        tags: Tags = (),
        concepts: Concepts = (),
        files: Files = (),
        summary: Summary = None,
        context: Context = None,
        author: Author = None,
        written_by: Writer = "agent",
        created_at: CreatedAt = None,
        valid_from: ValidFrom = None,
        valid_until: ValidUntil = None,
        pinned: NewPinned = False,
        id: NewId = None,
        key: Key = None,
    ) -> Memory:
        """Keep a text for good. Secrets in it are removed before it is written.

        A text that says the same as an existing memory reinforces that one: `deduplicated` is true. `similar` lists
        existing memories that resemble it; if the new one replaces one of those, call `supersede()`.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        return self.add_many([given])[0]

    def add_many(self, items: NewMemories) -> MemoryList:
        """Keep several texts, all of them or none."""
        return write.add_many(self, items)

    # Finding

    def search(
        self,
        query: Question,
        *,
        project: SearchProject = None,
        sector: OfSector = None,
        tier: OfTier = None,
        memory_type: OfType = None,
        tags: WithTags = (),
        limit: Limit = 10,
        min_salience: LeastSalience = 0.0,
        min_score: MinScore = None,
        include_superseded: IncludeSuperseded = False,
        include_documents: IncludeDocuments = False,
        in_session: InSession = None,
        session: OwnSession = None,
        as_of: AsOf = None,
        mode: Mode = "hybrid",
        reinforce: Reinforce = True,
        weights: PlainWeights = None,
    ) -> Hits[MemoryHit]:
        """Find memories: decisions, preferences, gotchas, facts. Best first, each with why; nothing if nothing fits.

        Superseded memories are left out unless they are asked for.
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

    def search_documents(self, query: Question, project: Project = None, limit: Limit = 10) -> Hits[Hit]:
        """Search the documents of a project and those of no project."""
        check_limit(limit)
        if self._documents is None:
            return Hits(notes=["No folder of documents is attached to this store."])
        return self._documents(query, project, limit)

    def get(self, id: MemoryId) -> Memory:
        """Read one memory with everything known about it, also if it was deleted."""
        with self.store.snapshot() as snapshot:
            return rows.get(snapshot, id, self.now())

    def list(
        self, *, limit: Limit = 20, include_deleted: IncludeDeleted = False, **filters: Unpack[MemoryFilters]
    ) -> MemoryList:
        """List the memories that pass all filters, the newest first."""
        chosen = build_filter(self.now(), **filters)
        if not include_deleted:
            chosen = replace(chosen, where=" AND ".join(filter(None, (chosen.where, "i.is_deleted = 0"))))
        with self.store.snapshot() as snapshot:
            rest = "ORDER BY i.created_at DESC, i.id DESC LIMIT :limit"
            return rows.select(snapshot, chosen, self.now(), rest, limit=check_limit(limit))

    def timeline(self, anchor_id: MemoryId, before: Before = 5, after: After = 5) -> Timeline:
        """Tell what was remembered in the same project just before and after a memory, and in which sessions."""
        with self.store.snapshot() as snapshot:
            anchor = rows.get(snapshot, anchor_id, self.now())
            return timeline(snapshot, anchor, check_count("before", before), check_count("after", after), self.now())

    def brief(self, project: HomeProject = "default", max_tokens: BriefTokens = 800) -> str:
        """Tell what to know when work on a project begins: pinned, decisions, most salient, the last summary."""
        with self.store.snapshot() as snapshot:
            return brief.brief(
                snapshot, check_project(project), check_count("max_tokens", max_tokens, 1_000_000), self.now()
            )

    # Changing

    def update(
        self,
        id: MemoryId,
        *,
        session: ChangingSession = None,
        expected_updated_at: ExpectedUpdatedAt = None,
        **fields: Unpack[MemoryChanges],
    ) -> Memory:
        """Change some fields; a changed text is indexed anew.

        Give the `updated_at` you saw, and a memory that was changed meanwhile is left alone: a Conflict.
        """
        return write.update(self, id, fields, session, expected_updated_at)

    def delete(self, id: MemoryId, hard: Hard = False) -> Memory:
        """Delete a memory. `restore()` brings it back within 30 days, unless `hard` is true."""
        return write.delete(self, id, hard=hard)

    def restore(self, id: MemoryId) -> Memory:
        """Bring a deleted memory back."""
        return write.restore(self, id)

    def forget(self, dry_run: DryRun = True, hard: Hard = False, **filters: Unpack[MemoryFilters]) -> MemoryList:
        """Delete every memory that passes all filters, at least one. Pinned ones stay unless `pinned` is true.

        Look at a dry run first.
        """
        return write.forget(self, filters, dry_run=dry_run, hard=hard)

    def pin(self, id: MemoryId) -> Memory:
        """Keep a memory from fading, and first in every brief."""
        return self.update(id, pinned=True)

    def unpin(self, id: MemoryId) -> Memory:
        """Let a memory fade again."""
        return self.update(id, pinned=False)

    def reinforce(self, id: MemoryId, amount: Reinforcement = BY_CALLER, session: ChangingSession = None) -> Memory:
        """Say that a memory matters: it was useful, or it was confirmed."""
        return write.reinforce(self, id, check_fraction("amount", amount), session)

    def deemphasize(self, id: MemoryId, amount: Deemphasis = BY_DEEMPHASIZE) -> Memory:
        """Say that a memory matters less."""
        return write.deemphasize(self, id, check_fraction("amount", amount))

    # Relations

    def supersede(self, old_id: OldId, new_id: NewerId, by: By = "user") -> Memory:
        """Let a newer memory take the place of an old one. The old one stays as history, and is returned."""
        now = self.now()
        with self.store.transaction() as transaction:
            old, new = (write.get_live(transaction, id_, now) for id_ in (old_id, new_id))
            return relations.supersede(transaction, old, new, check_name("by", by), now)

    def unsupersede(self, old_id: MemoryId) -> Memory:
        """Let a superseded memory hold again."""
        with self.store.transaction() as transaction:
            return relations.unsupersede(transaction, write.get_live(transaction, old_id, self.now()), self.now())

    def relate(self, source_id: SourceId, target_id: TargetId, type: RelationType, by: By = "user") -> Relation:
        """Relate one memory to another. SUPERSEDES does the same as `supersede()`."""
        now = self.now()
        kind = check_choice("relation", type, RELATIONS)
        with self.store.transaction() as transaction:
            source, target = (write.get_live(transaction, id_, now) for id_ in (source_id, target_id))
            if kind == relations.SUPERSEDES:
                relations.supersede(transaction, target, source, check_name("by", by), now)
                return Relation(source.id, target.id, kind, by, now)
            return relations.relate(transaction, source, target, kind, check_name("by", by), now)

    def related(self, id: MemoryId) -> RelatedList:
        """List the relations of a memory, and the memories at their other end."""
        with self.store.snapshot() as snapshot:
            return relations.list_related(snapshot, rows.get(snapshot, id, self.now()).id, self.now())

    # Sessions

    def start_session(
        self, project: HomeProject = "default", id: NewSessionId = None, started_at: StartedAt = None
    ) -> Session:
        """Begin a session. Give its id to `add()` and `search()`, so that memories are linked with it."""
        return sessions.start(self, project, id, started_at)

    def end_session(self, id: SessionId, summary: SessionSummary = None) -> Session:
        """End a session."""
        return sessions.end(self, id, summary)

    def sessions(self, project: Project = None, limit: Limit = 20) -> SessionList:
        """List the sessions, the newest first."""
        with self.store.snapshot() as snapshot:
            named = None if project is None else check_name("project", project)
            return rows.select_sessions(snapshot, named, check_limit(limit))

    def session_context(self, memory_id: MemoryId) -> SessionContext | None:
        """Tell which session used a memory last, and how; null if none has."""
        with self.store.snapshot() as snapshot:
            return session_context(snapshot, rows.get(snapshot, memory_id, self.now()).id)

    # Files

    def folder(self, project: str = "default") -> MemoryFolder:
        """The project's memory files, for the commands of Anthropic's memory tool."""
        return MemoryFolder(self, project)

    # Files and figures

    def export(self, path: FilePath, *, project: Project = None) -> int:
        """Write all memories, also deleted ones, with sessions and relations to a JSON lines file; tells how many."""
        return transfer.export(self, path, project)

    def import_(
        self,
        path: FilePath,
        *,
        project: ImportProject = None,
        format: Format = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Imported:
        """Read an export, Markdown notes or the file of the MCP reference memory server: all of it or nothing."""
        return transfer.import_(self, path, project, format, progress)

    def stats(self, project: Project = None) -> Stats:
        """Count the memories by project, sector, tier and type."""
        with self.store.snapshot() as snapshot:
            return stats(snapshot, None if project is None else check_name("project", project), self.now())

    # What the base class asks for

    def make_request(self, question: CorpusQuestion) -> MemorySearchRequest:
        """The request of a search over all corpora."""
        return search.make_request(
            self, question.text, project=question.project, limit=question.limit, min_score=question.min_total
        )

    def place_of(self, candidate: Candidate) -> str:
        """The project of a memory; global memories share a space."""
        return str(candidate.item[PROJECT])

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

"""The public API of memories; each method calls the module that does the work."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

from athand.corpus import BATCH, CorpusQuestion, Items, Match, Names, Report
from athand.embed import LazyEmbedder
from athand.inputs import check_choice, check_count, check_fraction, check_limit, check_name
from athand.memories import brief, relations, rows, search, sessions, transfer, write
from athand.memories import parameters as p
from athand.memories.filters import DELIBERATE, and_, build_filter
from athand.memories.memory_tool import MemoryFolder
from athand.memories.model import (
    GLOBAL_SPACE,
    MOST_FORGOTTEN,
    RELATIONS,
    ImportedMemories,
    Memory,
    MemoryHit,
    OpenedMemory,
    Related,
    Relation,
    Session,
    SessionContext,
    Stats,
    Timeline,
    to_passage,
)
from athand.memories.projects import begin_at_home, describe_unknown_project
from athand.memories.salience import BY_CALLER, BY_DEEMPHASIZE
from athand.memories.schema import SCHEMA
from athand.memories.scoring import PROJECT
from athand.memories.search import MemoryCorpus, MemoryRanking, MemorySearchRequest
from athand.memories.validation import check_project
from athand.parameters import AnswerLength, ByWriter, FilePath, Home, HomeProject, Limit, MinScore, Project, Question
from athand.redaction import refuse_secret
from athand.store import Passage, Snapshot, Store
from athand.types import Candidate, Hit, Hits

SearchDocuments = Callable[[str, str | None, int], Hits[Any]]
# Inside the class, `list` is its method.
MemoryList: TypeAlias = list[Memory]
RelatedList: TypeAlias = list[Related]
SessionList: TypeAlias = list[Session]
HitList: TypeAlias = list[MemoryHit]

_NEIGHBOURS = 2  # memories before and after one that is opened


class Memories(MemoryCorpus):
    """The memories of a store."""

    schema = SCHEMA
    noun = "memory"
    points = ((0.0, 0.0), (0.46, 0.1), (0.49, 0.25), (0.62, 0.5), (1.05, 1.0))
    # A memory is one thought, while a chunk has many, and something in it is always a little like any question: of 118
    # questions about other things, 95 % come to no more than 0.35.
    same_meaning = 0.4
    facet = "projects"
    filters = frozenset({"project"})
    has_home = True

    def __init__(
        self, store: Store, embedder: LazyEmbedder, *, documents: SearchDocuments | None = None, **options: Any
    ) -> None:
        super().__init__(store, embedder, **options)
        self._documents = documents

    # Adding

    def add(
        self,
        content: p.Content,
        *,
        project: HomeProject = "default",
        session: p.FromSession = None,
        sector: p.NewSector = None,
        tier: p.NewTier = "project",
        memory_type: p.NewType = None,
        importance: p.Importance = 0.5,
        tags: p.Tags = (),
        concepts: p.Concepts = (),
        files: p.Files = (),
        summary: p.Summary = None,
        context: p.Context = None,
        author: p.Author = None,
        written_by: p.Writer = "agent",
        created_at: p.CreatedAt = None,
        valid_from: p.ValidFrom = None,
        valid_until: p.ValidUntil = None,
        pinned: p.NewPinned = False,
        id: p.NewId = None,
        key: p.Key = None,
    ) -> Memory:
        """Remember a decision, preference, gotcha, fact or note for later sessions. Secrets in it are removed first.

        A text that says the same as an existing memory reinforces that one: `deduplicated` is true. `similar` lists
        existing memories that resemble it; if the new one replaces one of those, call `supersede()`.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        return self.add_many([given])[0]

    def add_many(self, items: p.NewMemories, written_by: p.WriterOfAll = None) -> MemoryList:
        """Keep several texts, all of them or none."""
        return write.add_many(self, items if written_by is None else write.of_one_writer(items, written_by))

    # Finding

    def search(
        self,
        query: Question,
        *,
        project: p.SearchProject = None,
        sector: p.OfSector = None,
        tier: p.OfTier = None,
        memory_type: p.OfType = None,
        tags: p.WithTags = (),
        limit: Limit = 10,
        min_salience: p.LeastSalience = 0.0,
        min_score: MinScore = None,
        include_superseded: p.IncludeSuperseded = False,
        include_documents: p.IncludeDocuments = False,
        in_session: p.InSession = None,
        session: p.OwnSession = None,
        since: p.Since = None,
        until: p.Until = None,
        as_of: p.AsOf = None,
        mode: p.Mode = "hybrid",
        reinforce: p.Reinforce = True,
        weights: p.PlainWeights = None,
        may_write: ByWriter = True,
        home: Home = None,
        longest: AnswerLength = None,
    ) -> Hits[MemoryHit]:
        """Recall past decisions, preferences, gotchas, facts. Best first, each with why; nothing if nothing fits.

        Superseded memories are left out unless `include_superseded` is true.
        """
        options = {name: value for name, value in locals().items() if name not in ("self", "project", "home")}

        def look(**where: Any) -> Hits[Any]:
            return self._search(**options | where)

        if project is None and home is not None:
            return begin_at_home(look, home, limit)
        return self._note_unknown(look(project=project), project)

    def _search(
        self,
        query: str,
        *,
        project: str | None,
        limit: int,
        session: str | None,
        include_documents: bool,
        reinforce: bool,
        may_write: bool,
        sector: str | None,
        tier: str | None,
        memory_type: str | None,
        tags: Sequence[str],
        min_salience: float,
        in_session: str | None,
        since: object,
        until: object,
        **options: Any,
    ) -> Hits[Any]:
        """The memories of one project and the global ones, or all; with documents if they are wanted."""
        filters = {
            "sector": sector,
            "tier": tier,
            "memory_type": memory_type,
            "tags": tags,
            "min_salience": min_salience,
            "in_session": in_session,
            "since": since,
            "until": until,
        }
        request = search.make_request(
            self, query, project=project, filters=filters, limit=limit, session=session, **options
        )
        hits: Hits[Any] = self.find(request)
        if reinforce and may_write and hits:
            hits = search.recall(self, hits, request)
        return self._add_documents(hits, query, project, limit) if include_documents else hits

    def _add_documents(self, hits: Hits[Any], query: str, project: str | None, limit: int) -> Hits[Any]:
        found = self.search_documents(query, project=project, limit=limit)
        corrections = {**found.did_you_mean, **hits.did_you_mean}
        notes = (*hits.notes, *found.notes)
        return Hits([*hits, *found], notes=notes, did_you_mean=corrections, freshness=found.freshness)

    def _note_unknown(self, hits: Hits[Any], project: str | None) -> Hits[Any]:
        """The hits with a note if nothing was ever kept in the project that was asked for."""
        if project is None or any(getattr(hit.item, "project", None) == project for hit in hits):
            return hits
        with self.store.snapshot() as snapshot:
            known = () if rows.has_project(snapshot, project) else rows.projects(snapshot)
        if known:
            hits.notes = (*hits.notes, describe_unknown_project(project, known))
        return hits

    def projects(self) -> Sequence[str]:
        """The names of all projects that have memories."""
        with self.store.snapshot() as snapshot:
            return rows.projects(snapshot)

    def search_documents(self, query: Question, project: Project = None, limit: Limit = 10) -> Hits[Hit]:
        """Search the documents of a project and those of no project."""
        check_limit(limit)
        if self._documents is None:
            return Hits(notes=["No folder of documents is attached to this store."])
        return self._documents(query, project, limit)

    def get(self, id: p.MemoryId) -> Memory:
        """Read one memory with all its fields, also if it was deleted."""
        with self.store.snapshot() as snapshot:
            return rows.get(snapshot, id, self.now())

    def list(
        self,
        *,
        limit: Limit = 20,
        include_deleted: p.IncludeDeleted = False,
        longest: AnswerLength = None,
        **filters: Unpack[p.MemoryFilters],
    ) -> MemoryList:
        """List the memories that pass all filters, the newest first; turns of past sessions only if asked for."""
        chosen = build_filter(self.now(), **filters)
        if not filters.get("written_by") and not filters.get("in_session"):
            chosen = and_(chosen, DELIBERATE)
        if not include_deleted:
            chosen = replace(chosen, where=" AND ".join(filter(None, (chosen.where, "i.is_deleted = 0"))))
        with self.store.snapshot() as snapshot:
            rest = "ORDER BY i.created_at DESC, i.id DESC LIMIT :limit"
            each = None if longest is None else longest // check_limit(limit)
            return rows.select(snapshot, chosen, self.now(), rest, longest=each, limit=check_limit(limit))

    def timeline(
        self, anchor_id: p.MemoryId, before: p.Before = 5, after: p.After = 5, longest: AnswerLength = None
    ) -> Timeline:
        """List the memories of the same project just before and after one, and the sessions that used them."""
        with self.store.snapshot() as snapshot:
            before, after = check_count("before", before), check_count("after", after)
            each = None if longest is None else longest // (before + 1 + after)
            anchor = rows.cut(rows.get(snapshot, anchor_id, self.now()), each)
            return sessions.timeline(snapshot, anchor, before, after, self.now(), each)

    def brief(self, project: p.BriefProject = "default", max_tokens: p.BriefTokens = 800) -> str:
        """Recall what to know when work begins: last session, pinned memories, decisions, the most salient ones."""
        with self.store.snapshot() as snapshot:
            return brief.brief(
                snapshot, check_project(project), check_count("max_tokens", max_tokens, 1_000_000), self.now()
            ).text

    # Changing

    def update(
        self,
        id: p.MemoryId,
        *,
        session: p.ChangingSession = None,
        expected_updated_at: p.ExpectedUpdatedAt = None,
        changed_by: p.Changer = "agent",
        **fields: Unpack[p.MemoryChanges],
    ) -> Memory:
        """Change some fields of a memory; a changed text is indexed again, and written by whoever changed it.

        Give the `updated_at` you saw, and a memory that was changed meanwhile is left alone: a Conflict.
        """
        return write.update(self, id, fields, session, expected_updated_at, changed_by)

    def delete(self, id: p.MemoryId, hard: p.Hard = False) -> Memory:
        """Delete a memory. `restore()` brings it back within 30 days, unless `hard` is true."""
        return write.delete(self, id, hard=hard)

    def restore(self, id: p.MemoryId) -> Memory:
        """Bring a deleted memory back."""
        return write.restore(self, id)

    def forget(
        self,
        dry_run: p.DryRun = True,
        hard: p.Hard = False,
        limit: p.ForgetLimit = MOST_FORGOTTEN,
        longest: AnswerLength = None,
        **filters: Unpack[p.MemoryFilters],
    ) -> MemoryList:
        """Delete every memory that passes all filters, at least one. Pinned ones stay unless `pinned` is true.

        Look at a dry run first.
        """
        return write.forget(
            self, filters, dry_run=dry_run, hard=hard, limit=check_limit(limit, MOST_FORGOTTEN), longest=longest
        )

    def pin(self, id: p.MemoryId, changed_by: p.Changer = "agent") -> Memory:
        """Keep a memory from fading, and first in every brief."""
        return self.update(id, pinned=True, changed_by=changed_by)

    def unpin(self, id: p.MemoryId) -> Memory:
        """Let a memory fade again."""
        return self.update(id, pinned=False)

    def reinforce(
        self, id: p.MemoryId, amount: p.Reinforcement = BY_CALLER, session: p.ChangingSession = None
    ) -> Memory:
        """Raise the salience of a memory that was useful or was confirmed."""
        return write.reinforce(self, id, check_fraction("amount", amount), session)

    def deemphasize(self, id: p.MemoryId, amount: p.Deemphasis = BY_DEEMPHASIZE) -> Memory:
        """Lower the salience of a memory."""
        return write.deemphasize(self, id, check_fraction("amount", amount))

    # Relations

    def supersede(self, old_id: p.OldId, new_id: p.NewerId, by: p.By = "user") -> Memory:
        """Replace an old memory by a newer one. The old one stays as history, and is returned."""
        now = self.now()
        with self.store.transaction() as transaction:
            old, new = (write.get_live(transaction, id_, now) for id_ in (old_id, new_id))
            return relations.supersede(transaction, old, new, refuse_secret("by", check_name("by", by)), now)

    def unsupersede(self, old_id: p.MemoryId) -> Memory:
        """Make a superseded memory valid again."""
        with self.store.transaction() as transaction:
            return relations.unsupersede(transaction, write.get_live(transaction, old_id, self.now()), self.now())

    def relate(self, source_id: p.SourceId, target_id: p.TargetId, type: p.RelationType, by: p.By = "user") -> Relation:
        """Relate one memory to another. SUPERSEDES does the same as `supersede()`."""
        now = self.now()
        kind = check_choice("relation", type, RELATIONS)
        with self.store.transaction() as transaction:
            source, target = (write.get_live(transaction, id_, now) for id_ in (source_id, target_id))
            if kind == relations.SUPERSEDES:
                relations.supersede(transaction, target, source, refuse_secret("by", check_name("by", by)), now)
                return Relation(source.id, target.id, kind, by, now)
            return relations.relate(transaction, source, target, kind, refuse_secret("by", check_name("by", by)), now)

    def related(self, id: p.MemoryId, longest: AnswerLength = None) -> RelatedList:
        """List the relations of a memory, and the memories at their other end."""
        with self.store.snapshot() as snapshot:
            return relations.list_related(snapshot, rows.get(snapshot, id, self.now()).id, self.now(), longest)

    # Sessions

    def start_session(
        self, project: HomeProject = "default", id: p.NewSessionId = None, started_at: p.StartedAt = None
    ) -> Session:
        """Begin a session. Give its id to `add()` and `search()`, so that memories are linked with it."""
        return sessions.start(self, project, id, started_at)

    def end_session(self, id: p.SessionId, summary: p.SessionSummary = None) -> Session:
        """End a session."""
        return sessions.end(self, id, summary)

    def sessions(self, project: Project = None, limit: Limit = 20) -> SessionList:
        """List the sessions, the newest first."""
        with self.store.snapshot() as snapshot:
            named = None if project is None else check_name("project", project)
            return sessions.select(snapshot, named, check_limit(limit))

    def session_context(self, memory_id: p.MemoryId) -> SessionContext | None:
        """Find the session that used a memory last, and how it did; null if none has."""
        with self.store.snapshot() as snapshot:
            return sessions.session_context(snapshot, rows.get(snapshot, memory_id, self.now()).id)

    # Files

    def folder(self, project: str = "default") -> MemoryFolder:
        """The project's memory files, for the commands of Anthropic's memory tool."""
        return MemoryFolder(self, project)

    def export(self, path: FilePath, *, project: Project = None) -> int:
        """Write all memories, also deleted ones, with sessions and relations to a JSON Lines file; returns how many."""
        return transfer.export(self, path, project)

    def import_(
        self,
        path: FilePath,
        *,
        project: p.ImportProject = None,
        format: p.Format = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> ImportedMemories:
        """Read an export, Markdown notes or the file of the MCP reference memory server: all of it or nothing."""
        return transfer.import_(self, path, project, format, progress)

    def last_change(self) -> tuple[int, int]:
        """How many memories there are, and when the latest was changed: they differ after every change."""
        with self.store.snapshot() as snapshot:
            [(count, latest)] = snapshot.rows("SELECT count(*), max(updated_at) FROM memories", {})
        return int(count), int(latest or 0)

    def stats(self, project: Project = None) -> Stats:
        """Count the memories by project, sector, tier and type."""
        with self.store.snapshot() as snapshot:
            return rows.stats(snapshot, None if project is None else check_name("project", project), self.now())

    # What a corpus supplies

    def open(self, id: str, names: Names = None) -> OpenedMemory:
        """A memory with those that superseded it, those that it superseded, and its neighbours in time."""
        with self.store.snapshot() as snapshot:
            memory = rows.get(snapshot, id, self.now())
            newer, older = relations.chain(snapshot, memory.id)
            found = rows.by_id(snapshot, (*newer, *older), self.now())
            around = sessions.timeline(snapshot, memory, _NEIGHBOURS, _NEIGHBOURS, self.now())
        return OpenedMemory(
            memory,
            tuple(found[each] for each in newer if each in found),
            tuple(found[each] for each in older if each in found),
            around.before,
            around.after,
        )

    def make_request(self, question: CorpusQuestion) -> MemorySearchRequest:
        """The request of a search over all corpora."""
        return search.make_request(
            self,
            question.text,
            project=question.project,
            limit=question.limit,
            min_score=question.min_total,
            longest=question.longest,
        )

    def places_of(self, candidates: Sequence[Candidate]) -> Sequence[str]:
        """The projects of memories; global memories share a space."""
        return [str(candidate.item[PROJECT]) for candidate in candidates]

    def rank(self, snapshot: Snapshot, request: MemorySearchRequest) -> MemoryRanking:
        """The memories that answer a request, best first."""
        return search.rank(self, snapshot, request)

    def to_hits(self, snapshot: Snapshot, ranking: MemoryRanking, matches: Sequence[Match]) -> HitList:
        """The hits with everything needed to show them."""
        return search.to_hits(snapshot, ranking, matches)

    def passages_of(self, snapshot: Snapshot, items: Items) -> Sequence[Passage]:
        """The passages of these memories."""
        return rows.read_passages(snapshot, items, self.now())

    def all_passages(self, snapshot: Snapshot) -> Iterator[Sequence[Passage]]:
        """The passages of all memories, in the order of space and id."""
        for batch in rows.select_all(snapshot, BATCH, self.now()):
            yield [to_passage(memory) for memory in batch]

    def renew_derived_columns(self) -> None:
        """Computes the fingerprints and near-duplicate keys of all memories again."""
        after = ("", "")
        while not self.closing.is_set():
            with self.store.transaction(durable=False) as transaction:
                memories, after = rows.select_batch(transaction, BATCH, self.now(), after)
                rows.update_fingerprints(transaction, memories)
            if not memories:
                return

    def report(self) -> Report:
        """The number of memories and of projects."""
        counts = self.count()
        return {"count": sum(counts.values()), "projects": len(counts.keys() - {GLOBAL_SPACE})}, []

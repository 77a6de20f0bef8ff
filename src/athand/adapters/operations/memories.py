"""Operations on memories that every agent uses: keep, find, look, replace, relate."""

from typing import Annotated, Any, Literal

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import operation
from athand.adapters.operations.parameters import (
    InSession,
    LeastSalience,
    Limit,
    MemoryId,
    MemoryType,
    MinScore,
    MostSalience,
    Name,
    OfAuthor,
    OfSector,
    OfTier,
    OfType,
    OwnProject,
    Pinned,
    Project,
    Question,
    Sector,
    Session,
    Since,
    Superseded,
    Tier,
    Time,
    Until,
    WithTags,
    Writer,
    WrittenBy,
)
from athand.memories import (
    Memory,
    MemoryHit,
    Related,
    Relation,
    SessionContext,
    Timeline,
    Weights,
)
from athand.parameters import Help, Range
from athand.types import Hits

Texts = tuple[str, ...]
Emptied = Literal["summary", "context", "author", "memory_type", "valid_until"]
Named = Literal[
    "SUPERSEDES",
    "CONTRADICTS",
    "RELATED_TO",
    "BUILDS_ON",
    "CONFIRMS",
    "APPLIES_TO",
    "DEPENDS_ON",
    "ALTERNATIVE_TO",
]


# Finding things makes them fade a little slower, as reading a file changes when it was last read: still a read.
@operation("memories/search", toolset="memories", title="Search memories")
def memory_search(
    ctx: AppContext,
    query: Question,
    project: Annotated[Name | None, Help("Only of this project and those that hold everywhere")] = None,
    sector: OfSector = None,
    tier: OfTier = None,
    memory_type: OfType = None,
    tags: WithTags = (),
    limit: Limit = 10,
    min_salience: Annotated[float, Range(0, 1), Help("Only what matters at least so much now")] = 0.0,
    min_score: MinScore = None,
    include_superseded: Annotated[bool, Help("Also what was replaced by something newer")] = False,
    include_documents: Annotated[bool, Help("Also passages of the project's documents")] = False,
    in_session: InSession = None,
    session: Annotated[Name | None, Help("Your own session, to be linked with what is found")] = None,
    as_of: Annotated[Time | None, Help("Ask what was valid at this time, ISO 8601")] = None,
    mode: Annotated[Literal["hybrid", "semantic", "keyword"], Help("By meaning and words, or one of them")] = "hybrid",
    reinforce: Annotated[bool, Help("Let what is found matter a little longer")] = True,
    weights: Annotated[Weights | None, Help("Rank by a plain weighted sum instead")] = None,
) -> Hits[MemoryHit]:
    """Find what is remembered: decisions, preferences, gotchas, facts. Best first, each with why; none if nothing fits.

    What was superseded is left out unless it is asked for.
    """
    return ctx.athand.memories.search(**_given(locals()))


@operation("memories/add", toolset="memories", scope="write", kind="write", title="Remember")
def memory_add(
    ctx: AppContext,
    content: Annotated[str, Help("What to remember, in one or a few sentences that stand alone")],
    project: OwnProject = "default",
    session: Annotated[Name | None, Help("The session it comes from")] = None,
    sector: Annotated[Sector | None, Help("What kind of memory it is; found out without")] = None,
    tier: Annotated[Tier, Help("Where it shows: in its session, in its project, or everywhere")] = "project",
    memory_type: Annotated[MemoryType | None, Help("What it is about")] = None,
    importance: Annotated[float, Range(0, 1), Help("How slowly it fades, 0 to 1")] = 0.5,
    tags: Annotated[Texts, Help("Words to filter by")] = (),
    concepts: Annotated[Texts, Help("Other words to find it by")] = (),
    files: Annotated[Texts, Help("Paths of files it speaks of")] = (),
    summary: Annotated[str | None, Help("A title")] = None,
    context: Annotated[str | None, Help("What it was about when it came up")] = None,
    author: Annotated[Name | None, Help("Who said it")] = None,
    written_by: Annotated[Writer, Help("Who writes it down")] = "agent",
    created_at: Annotated[Time | None, Help("When it was said, ISO 8601; now without")] = None,
    valid_from: Annotated[Time | None, Help("Since when it holds, ISO 8601")] = None,
    valid_until: Annotated[Time | None, Help("Until when it holds, ISO 8601")] = None,
    pinned: Annotated[bool, Help("Never let it fade, and begin every brief with it")] = False,
    id: Annotated[Name | None, Help("An id of your own")] = None,
    key: Annotated[Name | None, Help("A name for this call: repeated, it adds nothing again")] = None,
) -> Memory:
    """Keep a text for good. Secrets in it are taken out before it is written.

    What says the same as an existing memory reinforces that one: `deduplicated` is true. `similar` has what is
    remembered already and resembles it; if the new one replaces one of those, call memory_supersede.
    """
    return ctx.athand.memories.add(**_given(locals()))


@operation("memories/supersede", toolset="memories", scope="write", kind="write", title="Supersede a memory")
def memory_supersede(
    ctx: AppContext,
    old_id: Annotated[Name, Help("The memory that does not hold any more")],
    new_id: Annotated[Name, Help("The memory that takes its place")],
    by: Annotated[Name, Help("Who says so")] = "user",
) -> Memory:
    """Let a newer memory take the place of an old one. The old one stays as history, and is answered with."""
    return ctx.athand.memories.supersede(old_id, new_id, by)


@operation("memories/timeline", toolset="memories", title="Memories around one")
def memory_timeline(
    ctx: AppContext,
    anchor_id: MemoryId,
    before: Annotated[int, Range(0, 1000), Help("How many older ones")] = 5,
    after: Annotated[int, Range(0, 1000), Help("How many newer ones")] = 5,
) -> Timeline:
    """What was remembered in the same project just before and after a memory, and in which sessions."""
    return ctx.athand.memories.timeline(anchor_id, before, after)


@operation("memories/brief", toolset="memories", title="Brief on a project")
def memory_brief(
    ctx: AppContext,
    project: OwnProject = "default",
    max_tokens: Annotated[int, Range(0, 1_000_000), Help("How long it may be")] = 800,
) -> str:
    """What to know when work on a project begins: pinned memories, decisions, what matters most, the last summary."""
    return ctx.athand.memories.brief(project, max_tokens)


@operation("memories/get", toolset="memories", title="Read a memory")
def memory_get(ctx: AppContext, id: MemoryId) -> Memory:
    """One memory with all that is known of it, also if it was deleted."""
    return ctx.athand.memories.get(id)


@operation("memories/list", toolset="memories", title="List memories")
def memory_list(
    ctx: AppContext,
    limit: Limit = 20,
    include_deleted: Annotated[bool, Help("Also what was deleted and can be restored")] = False,
    project: Project = None,
    sector: OfSector = None,
    tier: OfTier = None,
    memory_type: OfType = None,
    tags: WithTags = (),
    author: OfAuthor = None,
    written_by: WrittenBy = None,
    in_session: InSession = None,
    since: Since = None,
    until: Until = None,
    pinned: Pinned = None,
    min_salience: LeastSalience = None,
    max_salience: MostSalience = None,
    superseded: Superseded = None,
) -> list[Memory]:
    """The newest memories first, those that pass all filters."""
    return ctx.athand.memories.list(**_given(locals()))


# What is changed here is gone; memory_supersede keeps it.
@operation("memories/update", toolset="memories", scope="write", kind="destructive", title="Change a memory")
def memory_update(
    ctx: AppContext,
    id: MemoryId,
    content: Annotated[str | None, Help("Another text")] = None,
    summary: Annotated[str | None, Help("Another title")] = None,
    context: Annotated[str | None, Help("What it is about")] = None,
    author: Annotated[Name | None, Help("Who said it")] = None,
    sector: Annotated[Sector | None, Help("What kind of memory it is")] = None,
    tier: Annotated[Tier | None, Help("Where it shows")] = None,
    memory_type: Annotated[MemoryType | None, Help("What it is about")] = None,
    importance: Annotated[float | None, Range(0, 1), Help("How slowly it fades")] = None,
    pinned: Annotated[bool | None, Help("Whether it never fades")] = None,
    tags: Annotated[Texts | None, Help("All its tags from now on")] = None,
    concepts: Annotated[Texts | None, Help("All its concepts from now on")] = None,
    files: Annotated[Texts | None, Help("All its files from now on")] = None,
    valid_until: Annotated[Time | None, Help("Until when it holds, ISO 8601")] = None,
    clear: Annotated[tuple[Emptied, ...], Help("Fields to be emptied")] = (),
    session: Session = None,
    expected_updated_at: Annotated[Time | None, Help("The updated_at you saw: refuse if it was changed since")] = None,
) -> Memory:
    """Change the fields that are given. If a fact has changed, add a new memory and supersede the old one instead."""
    told = _given(locals())
    id_, emptied = told.pop("id"), dict.fromkeys(told.pop("clear"))
    changes = {name: value for name, value in told.items() if value is not None}
    return ctx.athand.memories.update(id_, **changes | emptied)


@operation("memories/related", toolset="memories", title="Related memories")
def memory_related(ctx: AppContext, id: MemoryId) -> list[Related]:
    """How a memory stands to others, and these others."""
    return ctx.athand.memories.related(id)


@operation("memories/relate", toolset="memories", scope="write", kind="write", title="Relate memories", idempotent=True)
def memory_relate(
    ctx: AppContext,
    source_id: MemoryId,
    target_id: MemoryId,
    type: Annotated[Named, Help("What the source is to the target")],
    by: Annotated[Name, Help("Who says so")] = "user",
) -> Relation:
    """Say how one memory stands to another. SUPERSEDES does the same as memory_supersede."""
    return ctx.athand.memories.relate(source_id, target_id, type, by)


@operation("memories/session_context", toolset="memories", title="Session of a memory")
def memory_session_context(ctx: AppContext, memory_id: MemoryId) -> SessionContext | None:
    """The session that used a memory last and how; null if none has."""
    return ctx.athand.memories.session_context(memory_id)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operation that the service takes under the same names."""
    return {name: value for name, value in arguments.items() if name != "ctx"}

"""Operations on memories that are needed now and then: take away, weigh, sessions, files, in and out."""

from typing import Annotated, Any, Literal

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import Progress, operation
from athand.adapters.operations.parameters import (
    InSession,
    LeastSalience,
    Limit,
    MemoryId,
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
    ServerPath,
    Session,
    Since,
    Superseded,
    Time,
    Until,
    WithTags,
    WrittenBy,
)
from athand.memories import Memory, Stats
from athand.memories import Session as WorkSession
from athand.memories.model import Imported
from athand.parameters import Help, Length, Range
from athand.types import Hit, Hits

Command = Literal["view", "create", "str_replace", "insert", "delete", "rename"]
Text = str | None


@operation("memories/add_many", toolset="memories", scope="write", kind="write", title="Remember several")
def memory_add_many(
    ctx: AppContext,
    items: Annotated[
        tuple[dict[str, Any], ...],
        Length(0, 1000),
        Help("Each an object with the arguments of memory_add"),
    ],
) -> list[Memory]:
    """Keep several texts, all of them or none."""
    return ctx.athand.memories.add_many(items)


@operation("memories/delete", toolset="memories", scope="write", kind="destructive", title="Delete a memory")
def memory_delete(
    ctx: AppContext,
    id: MemoryId,
    hard: Annotated[bool, Help("Leave nothing of it: it cannot be restored")] = False,
) -> Memory:
    """Take a memory away. memory_restore brings it back within 30 days, unless `hard` was true."""
    return ctx.athand.memories.delete(id, hard)


@operation("memories/restore", toolset="memories", scope="write", kind="write", title="Restore a memory")
def memory_restore(ctx: AppContext, id: MemoryId) -> Memory:
    """Bring a deleted memory back."""
    return ctx.athand.memories.restore(id)


@operation("memories/forget", toolset="memories", scope="write", kind="destructive", title="Forget memories")
def memory_forget(
    ctx: AppContext,
    dry_run: Annotated[bool, Help("Only tell which; false deletes them")] = True,
    hard: Annotated[bool, Help("Leave nothing of them: they cannot be restored")] = False,
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
    """Delete every memory that passes all filters; at least one is needed. Pinned ones stay unless `pinned` is true.

    Look at a dry run first.
    """
    return ctx.athand.memories.forget(**{name: value for name, value in locals().items() if name != "ctx"})


@operation("memories/pin", toolset="memories", scope="write", kind="write", title="Pin a memory", idempotent=True)
def memory_pin(ctx: AppContext, id: MemoryId) -> Memory:
    """Keep a memory from fading, and first in every brief."""
    return ctx.athand.memories.pin(id)


@operation("memories/unpin", toolset="memories", scope="write", kind="write", title="Unpin a memory", idempotent=True)
def memory_unpin(ctx: AppContext, id: MemoryId) -> Memory:
    """Let a memory fade again."""
    return ctx.athand.memories.unpin(id)


@operation("memories/reinforce", toolset="memories", scope="write", kind="write", title="Reinforce a memory")
def memory_reinforce(
    ctx: AppContext,
    id: MemoryId,
    amount: Annotated[float, Range(0, 1), Help("How much of what it has lost comes back")] = 0.1,
    session: Session = None,
) -> Memory:
    """Say that a memory matters: it was useful, or it was confirmed."""
    return ctx.athand.memories.reinforce(id, amount, session)


@operation("memories/deemphasize", toolset="memories", scope="write", kind="write", title="Deemphasize a memory")
def memory_deemphasize(
    ctx: AppContext,
    id: MemoryId,
    amount: Annotated[float, Range(0, 1), Help("How much less it matters")] = 0.2,
) -> Memory:
    """Say that a memory matters less."""
    return ctx.athand.memories.deemphasize(id, amount)


@operation("memories/unsupersede", toolset="memories", scope="write", kind="write", title="Undo a supersession")
def memory_unsupersede(ctx: AppContext, old_id: MemoryId) -> Memory:
    """Let a superseded memory hold again."""
    return ctx.athand.memories.unsupersede(old_id)


@operation("memories/start_session", toolset="memories", scope="write", kind="write", title="Start a session")
def memory_start_session(
    ctx: AppContext,
    project: OwnProject = "default",
    id: Annotated[Name | None, Help("An id of your own; a session that has begun goes on")] = None,
    started_at: Annotated[Time | None, Help("When it began, ISO 8601; now without")] = None,
) -> WorkSession:
    """Begin a stretch of work. Give its id to memory_add and memory_search, and memories know where they come from."""
    return ctx.athand.memories.start_session(project, id, started_at)


@operation("memories/end_session", toolset="memories", scope="write", kind="write", title="End a session")
def memory_end_session(
    ctx: AppContext,
    id: Annotated[Name, Help("The id of the session")],
    summary: Annotated[Text, Help("What was done, for the brief of the next session")] = None,
) -> WorkSession:
    """End a session."""
    return ctx.athand.memories.end_session(id, summary)


@operation("memories/sessions", toolset="memories", title="List sessions")
def memory_sessions(ctx: AppContext, project: Project = None, limit: Limit = 20) -> list[WorkSession]:
    """The newest sessions first."""
    return ctx.athand.memories.sessions(project, limit)


@operation("memories/search_documents", toolset="memories", title="Search a project's documents")
def memory_search_documents(ctx: AppContext, query: Question, project: Project = None, limit: Limit = 10) -> Hits[Hit]:
    """What the documents of a project say, and those of no project; all documents without one."""
    return ctx.athand.memories.search_documents(query, project, limit)


@operation("memories/stats", toolset="memories", title="Count memories")
def memory_stats(ctx: AppContext, project: Project = None) -> Stats:
    """How many memories there are, by project, sector, tier and type."""
    return ctx.athand.memories.stats(project)


@operation("memories/folder", toolset="memories", scope="write", kind="write", title="Memory files")
def memory_folder(
    ctx: AppContext,
    command: Annotated[Command, Help("What to do")],
    path: Annotated[Name | None, Help("A file or directory; begins with /memories")] = None,
    view_range: Annotated[tuple[int, ...] | None, Help("view: first and last line")] = None,
    file_text: Annotated[Text, Help("create: what the file says")] = None,
    old_str: Annotated[Text, Help("str_replace: a text that occurs once")] = None,
    new_str: Annotated[Text, Help("str_replace: what takes its place")] = None,
    insert_line: Annotated[int | None, Help("insert: the line to insert after, from 0")] = None,
    insert_text: Annotated[Text, Help("insert: what to insert")] = None,
    old_path: Annotated[Name | None, Help("rename: the path it has")] = None,
    new_path: Annotated[Name | None, Help("rename: the path it gets")] = None,
    project: OwnProject = "default",
) -> str:
    """Memories as files: view, create, edit, delete and rename text files under /memories.

    What is overwritten or deleted stays as history. Nothing touches the disk.
    """
    told = {name: value for name, value in locals().items() if name not in ("ctx", "project")}
    return ctx.athand.memories.folder(project).run(told)


# A file of the machine may be replaced.
@operation("memories/export", toolset="memories", scope="admin", kind="destructive", title="Export memories")
def memory_export(ctx: AppContext, path: ServerPath, project: Project = None) -> int:
    """Write all memories to a file of JSON lines, deleted ones too, with sessions and relations; how many."""
    return ctx.athand.memories.export(path, project=project)


@operation("memories/import", toolset="memories", scope="admin", kind="write", title="Import memories", idempotent=True)
def memory_import(
    ctx: AppContext,
    path: ServerPath,
    progress: Progress,
    project: Annotated[Name | None, Help("Where notes belong; an export says it itself")] = None,
    format: Annotated[Literal["athand", "mcp", "markdown"] | None, Help("What the file is; found out without")] = None,
) -> Imported:
    """Read an export, Markdown notes, or the file of the MCP reference memory server: all of it or nothing."""
    return ctx.athand.memories.import_(path, project=project, format=format, progress=progress)

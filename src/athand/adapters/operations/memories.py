"""Operations on memories."""

from typing import Annotated, Any, Literal, Unpack

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import row
from athand.errors import Refused
from athand.memories import Memories, Memory
from athand.memories.parameters import (
    BriefProject,
    BriefTokens,
    Changer,
    ChangingSession,
    ExpectedUpdatedAt,
    MemoryChanges,
    MemoryId,
)
from athand.memories.projects import describe_unknown_project
from athand.memories.validation import OPTIONAL
from athand.parameters import ByReader, Choice, Help, HomeProject, Name

Text = str | None
Command = Literal["view", "create", "str_replace", "insert", "delete", "rename"]
_READING = ("view", "str_replace")  # str_replace tells where a text occurs, and so letter by letter what there is


def memory_update(
    ctx: AppContext,
    id: MemoryId,
    clear: Annotated[tuple[Annotated[str, Choice(OPTIONAL)], ...], Help("Names of fields to empty")] = (),
    session: ChangingSession = None,
    expected_updated_at: ExpectedUpdatedAt = None,
    changed_by: Changer = "agent",
    **changes: Unpack[MemoryChanges],
) -> Memory:
    """Change the fields that are given. If a fact has changed, add a new memory and supersede the old one instead."""
    fields: dict[str, Any] = {**changes, **dict.fromkeys(clear)}
    return ctx.athand.memories.update(
        id, session=session, expected_updated_at=expected_updated_at, changed_by=changed_by, **fields
    )


def memory_folder(
    ctx: AppContext,
    command: Annotated[Command, Help("The command")],
    path: Annotated[Name | None, Help("A path of a file or directory, which begins with /memories")] = None,
    view_range: Annotated[tuple[int, ...] | None, Help("For view: the first and the last line")] = None,
    file_text: Annotated[Text, Help("For create: the text of the file")] = None,
    old_str: Annotated[Text, Help("For str_replace: a text that occurs once")] = None,
    new_str: Annotated[Text, Help("For str_replace: the text that replaces it")] = None,
    insert_line: Annotated[int | None, Help("For insert: the line to insert after; 0 is the top")] = None,
    insert_text: Annotated[Text, Help("For insert: the text to insert")] = None,
    old_path: Annotated[Name | None, Help("For rename: the present path")] = None,
    new_path: Annotated[Name | None, Help("For rename: the new path")] = None,
    project: HomeProject = "default",
    may_read: ByReader = True,
) -> str:
    """Keep memories as files: view, create, edit, delete and rename text files under /memories.

    What is overwritten or deleted stays as history. Nothing touches the disk.
    """
    given = {name: value for name, value in locals().items() if name not in ("ctx", "project", "may_read")}
    if command in _READING and not may_read:
        raise Refused(f"{command} tells what is in a file: it needs the scope search, which this caller does not have.")
    return ctx.athand.memories.folder(project).run(given)


def memory_brief(ctx: AppContext, project: BriefProject = "default", max_tokens: BriefTokens = 800) -> str:
    """Recall what to know when work begins: last session, pinned memories, decisions, the most salient ones."""
    memories = ctx.athand.memories
    if text := memories.brief(project, max_tokens):
        return text
    known = memories.projects()
    if known and project not in known:
        return describe_unknown_project(project, known)
    return f"Nothing is remembered of {project} yet. Keep decisions, preferences and hard-won facts with memory_add."


def _write(name: str, method: Any, title: str, **options: Any) -> Any:
    return row(name, method, title, **{"scope": "write", "kind": "write", **options})


_OWN: dict[str, Any] = {"toolset": "memories"}

OPERATIONS = (
    # A read, although its results fade a little slower where the caller may write.
    row("memory_search", Memories.search, "Search memories"),
    _write("memory_add", Memories.add, "Remember"),
    _write("memory_supersede", Memories.supersede, "Supersede a memory"),
    row("memory_timeline", Memories.timeline, "Memories around one"),
    row("memory_brief", memory_brief, "Brief on a project", path="memories/brief", toolset="memories"),
    row("memory_get", Memories.get, "Read a memory"),
    row("memory_list", Memories.list, "List memories"),
    # Destructive: the old text is lost, which memory_supersede keeps.
    _write("memory_update", memory_update, "Change a memory", path="memories/update", kind="destructive", **_OWN),
    row("memory_related", Memories.related, "Related memories"),
    _write("memory_relate", Memories.relate, "Relate memories", idempotent=True),
    row("memory_session_context", Memories.session_context, "Session of a memory"),
    _write("memory_add_many", Memories.add_many, "Remember several"),
    _write("memory_delete", Memories.delete, "Delete a memory", kind="destructive"),
    _write("memory_restore", Memories.restore, "Restore a memory"),
    _write("memory_forget", Memories.forget, "Forget memories", kind="destructive"),
    _write("memory_pin", Memories.pin, "Pin a memory", idempotent=True),
    _write("memory_unpin", Memories.unpin, "Unpin a memory", idempotent=True),
    _write("memory_reinforce", Memories.reinforce, "Reinforce a memory"),
    _write("memory_deemphasize", Memories.deemphasize, "Deemphasize a memory"),
    _write("memory_unsupersede", Memories.unsupersede, "Undo a supersession"),
    _write("memory_start_session", Memories.start_session, "Start a session"),
    _write("memory_end_session", Memories.end_session, "End a session"),
    row("memory_sessions", Memories.sessions, "List sessions"),
    row("memory_search_documents", Memories.search_documents, "Search a project's documents"),
    row("memory_stats", Memories.stats, "Count memories"),
    _write("memory_folder", memory_folder, "Memory files", path="memories/folder", **_OWN),
    # Destructive: it may replace a file.
    row("memory_export", Memories.export, "Export memories", scope="admin", kind="destructive"),
    row("memory_import", Memories.import_, "Import memories", scope="admin", kind="write", idempotent=True),
)

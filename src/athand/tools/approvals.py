"""Decisions of the user: approve, reject, enable or disable tools, and rules for calls."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from athand.errors import Conflict, NotFound
from athand.inputs import check_choice
from athand.store import Snapshot
from athand.tools import catalogue, definitions, rows, servers
from athand.tools.calls import DECISIONS
from athand.tools.catalogue import StoredTool
from athand.tools.context import ToolContext
from athand.tools.model import ServerKey, Tool
from athand.tools.poisoning.scan import scan_definition
from athand.tools.scoring import INDEX

if TYPE_CHECKING:
    pass

Spaces = Sequence[str] | None


def approve(context: ToolContext, id_: str, spaces: Spaces) -> Tool:
    """Approve the definition that the server offers now; reindexes the tool if the definition has changed."""
    before = _get_stored(context, id_, spaces)
    after = replace(before, state="approved")
    if before.offered is not None:
        hash_ = definitions.content_hash(before.offered)
        flags = scan_definition(before.offered, before.server)
        after = replace(after, definition=before.offered, hash=hash_, offered=None, flags=flags)
    return _save_decision(context, before, after)


def reject(context: ToolContext, id_: str, spaces: Spaces) -> Tool:
    """Exclude the tool from searches and calls."""
    before = _get_stored(context, id_, spaces)
    return _save_decision(context, before, replace(before, state="rejected"))


def set_enabled(context: ToolContext, id_: str, spaces: Spaces, *, on: bool) -> Tool | None:
    """Enable or disable a tool; None if there is no such tool."""
    try:
        before = _get_stored(context, id_, spaces)
    except NotFound:
        return None
    return _save_decision(context, before, replace(before, is_enabled=on))


def set_server_enabled(context: ToolContext, key: ServerKey, *, on: bool) -> None:
    """Enable or disable a server with all its tools."""
    with context.store.transaction(spaces=(key[0],)) as transaction:
        servers.set_enabled(transaction, context, key, on=on)


def set_rule(context: ToolContext, pattern: str, decision: str | None, space: str) -> None:
    """Set the decision for a pattern, or delete the rule if the decision is None."""
    values = {"space": space, "pattern": pattern, "decision": decision}
    if decision is not None:
        check_choice("decision", decision, DECISIONS)
    with context.store.transaction(spaces=(space,)) as transaction:
        deleted = transaction.execute("DELETE FROM tool_rules WHERE space = :space AND pattern = :pattern", values)
        if decision is not None:
            sql = "INSERT INTO tool_rules (space, pattern, decision) VALUES (:space, :pattern, :decision)"
            transaction.execute(sql, values)
        elif not deleted:
            raise NotFound(f"No rule for {pattern!r}. See: athand tools rules")


def _get_stored(context: ToolContext, id_: str, spaces: Spaces) -> StoredTool:
    with context.store.snapshot() as snapshot:
        tool = rows.get_tool(snapshot, id_, spaces)
        return _read_stored(snapshot, tool.catalogue, tool.id)


def _read_stored(snapshot: Snapshot, space: str, id_: str) -> StoredTool:
    return catalogue.get_stored_tools(snapshot, space, [id_])[0]


def _save_decision(context: ToolContext, before: StoredTool, after: StoredTool) -> Tool:
    """Write a decision; Conflict if the tool was changed since it was read."""
    needs_reindex = before.hash != after.hash
    vectors = context.embed([after.passage]) if needs_reindex else None
    with context.store.transaction(spaces=(before.space,)) as transaction:
        if _read_stored(transaction, before.space, before.id) != before:
            raise Conflict(f"{before.id} has just changed. Look at it again: athand tools describe {before.id}")
        catalogue.save_tools(transaction, [after], context)
        if needs_reindex:
            transaction.remove(INDEX, after.space, [after.id])
            transaction.put(INDEX, [after.passage], vectors)
        return rows.get_tool(transaction, after.id, (after.space,))

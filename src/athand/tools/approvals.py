"""Decisions of the user: tools approved, rejected or disabled, rules for calls, and trust in configurations."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from athand.errors import BadData, Conflict, InvalidInput, NotFound
from athand.inputs import check_choice
from athand.redaction import redact
from athand.store import Snapshot, to_microseconds
from athand.tools import catalogue, config, definitions, rows
from athand.tools.calls import DECISIONS
from athand.tools.catalogue import StoredTool
from athand.tools.config_files import canonical_path
from athand.tools.context import ToolContext
from athand.tools.model import Rule, Tool
from athand.tools.scoring import INDEX

Spaces = Sequence[str] | None


def approve(context: ToolContext, id_: str, spaces: Spaces) -> Tool:
    """Approve the definition that the server offers now; reindexes the tool if the definition has changed."""
    before = _get_stored_tool(context, id_, spaces)
    after = replace(before, state="approved")
    if before.offered is not None:
        from athand.tools.poisoning.scan import scan_definition  # slow to import

        hash_ = definitions.content_hash(before.offered)
        flags = scan_definition(before.offered, before.server)
        after = replace(after, definition=before.offered, hash=hash_, offered=None, flags=flags)
    return _save_decision(context, before, after)


def reject(context: ToolContext, id_: str, spaces: Spaces) -> Tool:
    """Exclude the tool from searches and calls."""
    before = _get_stored_tool(context, id_, spaces)
    return _save_decision(context, before, replace(before, state="rejected"))


def enable_tool(context: ToolContext, id_: str, spaces: Spaces, *, on: bool) -> Tool | None:
    """Enable or disable a tool; None if there is no such tool."""
    try:
        before = _get_stored_tool(context, id_, spaces)
    except NotFound:
        return None
    return _save_decision(context, before, replace(before, is_enabled=on))


def set_rule(context: ToolContext, pattern: str, decision: str | None, space: str) -> None:
    """Set the decision for a pattern, or delete the rule if the decision is None."""
    values = {"space": space, "pattern": pattern}
    if decision is not None:
        check_choice("decision", decision, DECISIONS)
        if redact(pattern) != pattern:
            raise InvalidInput("The pattern of a rule has a secret in it. Name tools by their ids, with * for others.")
    with context.store.transaction(spaces=(space,)) as transaction:
        deleted = transaction.execute("DELETE FROM tool_rules WHERE space = :space AND pattern = :pattern", values)
        if decision is not None:
            rows.put_rule(transaction, Rule(pattern, decision, space))
        elif not deleted:
            raise NotFound(f"No rule for {pattern!r}. See: athand tools rules")


def trust(context: ToolContext, path: Path, as_hash: str | None = None) -> str:
    """Trust a project's configuration while it is unchanged; returns its hash. Conflict if that is not `as_hash`."""
    place = canonical_path(path)
    hash_ = hash_to_trust(context, place)
    if as_hash not in (None, hash_):
        raise Conflict(f"{place} has just changed, so it is not trusted. Look at it again: athand tools trust")
    values = {"space": rows.EVERYWHERE, "path": str(place), "hash": hash_, "now": to_microseconds(context.now())}
    with context.store.transaction(spaces=(rows.EVERYWHERE,)) as transaction:
        transaction.execute("DELETE FROM tool_trust WHERE space = :space AND path = :path", values)
        sql = "INSERT INTO tool_trust (space, path, hash, trusted_at) VALUES (:space, :path, :hash, :now)"
        transaction.execute(sql, values)
    return hash_


def distrust(context: ToolContext, path: Path) -> bool:
    """Withdraw trust; whether there was any."""
    values = {"space": rows.EVERYWHERE, "path": str(canonical_path(path))}
    with context.store.transaction(spaces=(rows.EVERYWHERE,)) as transaction:
        return bool(transaction.execute("DELETE FROM tool_trust WHERE space = :space AND path = :path", values))


def is_trusted(context: ToolContext, path: Path) -> bool:
    """Whether the user trusts the file as it is now; an unreadable file is not trusted."""
    place = canonical_path(path)
    with context.store.snapshot() as snapshot:
        trusted = get_trusted_hash(snapshot, str(place))
    try:
        return trusted is not None and trusted == hash_to_trust(context, place)
    except (NotFound, BadData):
        return False


def hash_to_trust(context: ToolContext, path: Path) -> str:
    """The hash of a configuration and its env files."""
    entries, hash_ = config.read_config_and_hash(canonical_path(path))
    return config.hash_with_env_files(entries.values(), hash_, context.environment)


def get_trusted_hash(snapshot: Snapshot, path: str | None) -> str | None:
    """The hash of a configuration that the user trusts; None if it was never trusted."""
    sql = "SELECT hash FROM tool_trust WHERE space = :space AND path = :path"
    found = snapshot.rows(sql, {"space": rows.EVERYWHERE, "path": path or ""})
    return found[0][0] if found else None


def _get_stored_tool(context: ToolContext, id_: str, spaces: Spaces) -> StoredTool:
    with context.store.snapshot() as snapshot:
        tool = rows.get_tool(snapshot, id_, spaces)
        return _read_tool(snapshot, tool.catalogue, tool.id)


def _read_tool(snapshot: Snapshot, space: str, id_: str) -> StoredTool:
    return catalogue.get_stored_tools(snapshot, space, [id_])[0]


def _save_decision(context: ToolContext, before: StoredTool, after: StoredTool) -> Tool:
    """Write a decision; Conflict if the tool was changed since it was read."""
    needs_reindex = before.passage != after.passage
    vectors = context.embed([after.passage]) if needs_reindex else None
    with context.store.transaction(spaces=(before.space,)) as transaction:
        if _read_tool(transaction, before.space, before.id) != before:
            raise Conflict(f"{before.id} has just changed. Look at it again: athand tools describe {before.id}")
        catalogue.save_tools(transaction, [after], context)
        if needs_reindex:
            transaction.remove(INDEX, after.space, [after.id])
            transaction.put(INDEX, [after.passage], vectors)
        return rows.get_tool(transaction, after.id, (after.space,))

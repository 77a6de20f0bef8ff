"""What the user decides: which tools may be called, which are shown, and what to ask about."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from athand.errors import Conflict, NotFound
from athand.inputs import check_choice
from athand.store import Row, Snapshot
from athand.tools import catalogue, pinning, records, servers
from athand.tools.calling import DECISIONS
from athand.tools.catalogue import Entry
from athand.tools.desk import Desk
from athand.tools.flags import flags_of
from athand.tools.launch import ServerKey
from athand.tools.model import Server, Tool
from athand.tools.scoring import INDEX

if TYPE_CHECKING:
    from athand.tools.gateway import ServerState

Spaces = Sequence[str] | None


def approve(desk: Desk, id_: str, spaces: Spaces) -> Tool:
    """The tool as it is offered now is the one that may be called; only it is indexed again."""
    before = _entry(desk, id_, spaces)
    after = replace(before, state="approved")
    if before.offered is not None:
        hash_ = pinning.content_hash(before.offered)
        flags = flags_of(before.offered, before.server)
        after = replace(after, definition=before.offered, hash=hash_, offered=None, flags=flags)
    return _decided(desk, before, after)


def reject(desk: Desk, id_: str, spaces: Spaces) -> Tool:
    """The tool may be neither shown nor called."""
    before = _entry(desk, id_, spaces)
    return _decided(desk, before, replace(before, state="rejected"))


def switch(desk: Desk, id_: str, spaces: Spaces, *, on: bool) -> Tool | None:
    """Show and call a tool or not; None if there is no such tool."""
    try:
        before = _entry(desk, id_, spaces)
    except NotFound:
        return None
    return _decided(desk, before, replace(before, is_enabled=on))


def switch_server(desk: Desk, key: ServerKey, *, on: bool) -> None:
    """Show and call the tools of a server or not."""
    with desk.store.transaction(spaces=(key[0],)) as transaction:
        servers.switch(transaction, desk, key, on=on)


def rule(desk: Desk, pattern: str, decision: str | None, space: str) -> None:
    """Keep a rule, or take it back."""
    values = {"space": space, "pattern": pattern, "decision": decision}
    if decision is not None:
        check_choice("decision", decision, DECISIONS)
    with desk.store.transaction(spaces=(space,)) as transaction:
        known = transaction.execute("DELETE FROM tool_rules WHERE space = :space AND pattern = :pattern", values)
        if decision is not None:
            sql = "INSERT INTO tool_rules (space, pattern, decision) VALUES (:space, :pattern, :decision)"
            transaction.execute(sql, values)
        elif not known:
            raise NotFound(f"No rule for {pattern!r}. See: athand tools rules")


def list_servers(desk: Desk, spaces: Sequence[str] | None, states: Mapping[ServerKey, "ServerState"]) -> list[Server]:
    """All servers with the number of their tools, and how they are."""
    inside, values = records.within(spaces)
    sql = (
        "SELECT space, server, count(*), sum(CASE WHEN state IN ('quarantined', 'changed') THEN 1 ELSE 0 END) "
        f"FROM tools WHERE {inside} AND is_deleted = 0 GROUP BY space, server"
    )
    with desk.store.snapshot() as snapshot:
        counts = {(row[0], row[1]): (int(row[2]), int(row[3])) for row in snapshot.rows(sql, values)}
        rows = [row for row in servers.rows(snapshot) if spaces is None or row[0] in spaces]
        untrusted = {row[3] for row in rows if row[4] == "project"}
    untrusted = {source for source in untrusted if not servers.is_trusted(desk, Path(source))}
    return [_server(desk, row, counts.get((row[0], row[1]), (0, 0)), states, untrusted) for row in rows]


def _server(
    desk: Desk,
    row: Row,
    counts: tuple[int, int],
    states: Mapping[ServerKey, "ServerState"],
    untrusted: set[str],
) -> Server:
    space, name, transport, source, _, description, is_enabled, protocol, listed_at, failure, failed_at = row
    state = states.get((space, name))
    resting = "none" if source is None else "idle" if listed_at else "unknown"
    if failure is not None and servers.is_recent(desk, failed_at):
        resting = "failing"
    now, reason = (state.state, state.reason) if state is not None else (resting, failure)
    if source in untrusted:
        now, reason = "untrusted", f"Read {source}, then run: athand tools trust {source}"
    if not is_enabled:
        now, reason = "disabled", None
    return Server(
        name=name,
        catalogue=space,
        transport=transport,
        source=source,
        state=now,
        reason=reason,
        tools=counts[0],
        waiting=counts[1],
        description=description,
        protocol=(state.protocol if state is not None else None) or protocol,
        retry_at=state.retry_at if state is not None else None,
    )


def _entry(desk: Desk, id_: str, spaces: Spaces) -> Entry:
    with desk.store.snapshot() as snapshot:
        tool = records.get_tool(snapshot, id_, spaces)
        return _read(snapshot, tool.catalogue, tool.id)


def _read(snapshot: Snapshot, space: str, id_: str) -> Entry:
    return catalogue.entries_of(snapshot, space, [id_])[0]


def _decided(desk: Desk, before: Entry, after: Entry) -> Tool:
    """Write a decision, if the tool is still what was decided about."""
    is_moved = before.hash != after.hash
    vectors = desk.embed([after.passage]) if is_moved else None
    with desk.store.transaction(spaces=(before.space,)) as transaction:
        if _read(transaction, before.space, before.id) != before:
            raise Conflict(f"{before.id} has just changed. Look at it again: athand tools describe {before.id}")
        catalogue.save(transaction, [after], desk)
        if is_moved:
            transaction.remove(INDEX, after.space, [after.id])
            transaction.put(INDEX, [after.passage], vectors)
        return records.get_tool(transaction, after.id, (after.space,))

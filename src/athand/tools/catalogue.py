"""Updates a catalogue from the tool list of a server: adds, changes and deletes tools, and reindexes only those."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from athand.errors import BadData, Conflict
from athand.store import Passage, Row, Snapshot, Transaction, to_microseconds
from athand.tools import definitions, rows
from athand.tools.context import ToolContext
from athand.tools.definitions import to_passage, tool_id
from athand.tools.masking import indexed_definition, is_plain_name
from athand.tools.model import Definition, Flag
from athand.tools.poisoning.neighbours import Neighbours
from athand.tools.scoring import INDEX
from athand.types import Noun, Vectors

_TRIES = 5
_MOST_NAMED = 20  # tools that are left out

log = logging.getLogger("athand")


@dataclass(frozen=True, slots=True)
class Offer:
    """Tools that a server lists. `is_all`: tools missing here are deleted; `by_hand`: the caller approves them."""

    space: str
    server: str
    definitions: Mapping[str, Definition]  # by tool id
    is_all: bool = True
    by_hand: bool = False
    left_out: tuple[str, ...] = ()  # why tools of the list are not among them


@dataclass(frozen=True, slots=True)
class StoredTool:
    """A row of the table of tools."""

    space: str
    id: str
    server: str
    definition: Definition
    hash: str
    offered: Definition | None
    state: str
    is_enabled: bool
    flags: tuple[Flag, ...]
    created_at: int
    is_deleted: bool = False

    @property
    def is_searched(self) -> bool:
        """Whether searches return it; quarantined tools with a dangerous flag or an odd name are held back."""
        is_held = any(flag.is_dangerous for flag in self.flags) or not is_plain_name(self.definition.name)
        is_held = self.state == "quarantined" and is_held
        return self.is_enabled and not self.is_deleted and self.state != "rejected" and not is_held

    @property
    def passage(self) -> Passage:
        """The passage to index, always of the approved definition."""
        shown = indexed_definition(self.definition, self.state)
        return to_passage(self.space, self.id, self.server, shown, self.created_at)


Change = tuple[StoredTool | None, StoredTool]  # a tool before (None if it is new) and after
Scanner = Callable[[Definition], tuple[Flag, ...]]


@dataclass(frozen=True, slots=True)
class CatalogueUpdate(Noun):
    """How many tools are new, changed, gone and the same, how many texts were embedded or had a vector already.

    Tools that are not valid are left out; why, is told for the first 20.
    """

    new: int = 0
    changed: int = 0
    gone: int = 0
    same: int = 0
    embedded: int = 0
    reused: int = 0
    left_out: tuple[str, ...] = ()


def build_offer(space: str, server: str, raw_tools: Iterable[Any], **how: bool) -> Offer:
    """Build an offer from raw tools; the first of each name counts, and invalid tools are left out."""
    offered: dict[str, Definition] = {}
    left_out: list[str] = []
    for number, raw in enumerate(raw_tools, 1):
        try:
            definition = definitions.parse_offer(raw)
        except BadData as error:
            log.warning("A tool of %s was left out: %s", server, error)
            left_out.append(f"tool {number}: {error}")
            continue
        offered.setdefault(tool_id(server, definition.name), definition)
    return Offer(space, server, offered, left_out=tuple(left_out[:_MOST_NAMED]), **how)


def apply_offer(context: ToolContext, offer: Offer) -> CatalogueUpdate:
    """Apply an offer to the catalogue; tries again when another process changes the same tools meanwhile."""
    hashes = {id_: definitions.content_hash(definition) for id_, definition in offer.definitions.items()}
    finder = _FlagFinder(offer)
    for _ in range(_TRIES):
        with context.store.snapshot() as snapshot:
            changes = _find_changes(context, snapshot, offer, hashes, finder)
            is_listed = bool(_get_server(snapshot, offer)[0])
        if not changes and is_listed:
            return CatalogueUpdate(same=len(hashes), reused=len(hashes), left_out=offer.left_out)
        passages = _changed_passages(changes)
        cached = context.count_cached(passages)
        vectors = context.embed(passages) if passages else None
        if (update := _write_changes(context, offer, hashes, finder, passages, vectors)) is not None:
            counts = {"embedded": len(passages) - cached, "reused": update.same + cached}
            return replace(update, **counts, left_out=offer.left_out)
    raise Conflict(f"The tools of {offer.server} are being changed by others all the time. Try again in a moment.")


def _write_changes(
    context: ToolContext,
    offer: Offer,
    hashes: Mapping[str, str],
    finder: "_FlagFinder",
    embedded: Sequence[Passage],
    vectors: Vectors | None,
) -> CatalogueUpdate | None:
    """Write the changes; None if they have become others since the passages were embedded."""
    with context.store.transaction(spaces=(offer.space,)) as transaction:
        changes = _find_changes(context, transaction, offer, hashes, finder)
        passages = _changed_passages(changes)
        if {each.text for each in passages} - {each.text for each in embedded}:
            return None
        save_tools(transaction, [tool for _, tool in changes], context)
        reindexed = [tool.id for before, tool in changes if before is not None and _needs_reindex(before, tool)]
        transaction.remove(INDEX, offer.space, reindexed)
        transaction.put(INDEX, passages, vectors)
        _mark_listed(transaction, offer, to_microseconds(context.now()))
    return _summarize(changes, len(hashes))


def _summarize(changes: Sequence[Change], offered: int) -> CatalogueUpdate:
    new = sum(before is None for before, _ in changes)
    gone = sum(tool.is_deleted for _, tool in changes)
    return CatalogueUpdate(new, len(changes) - new - gone, gone, offered - (len(changes) - gone))


def _changed_passages(changes: Iterable[Change]) -> list[Passage]:
    """The passages to index: of new tools, and of those whose approved definition has changed."""
    return [tool.passage for before, tool in changes if not tool.is_deleted and _needs_reindex(before, tool)]


def _needs_reindex(before: StoredTool | None, tool: StoredTool) -> bool:
    """Whether the passage of a tool has changed."""
    return before is None or before.passage != tool.passage or before.is_deleted != tool.is_deleted


def _find_changes(
    context: ToolContext, snapshot: Snapshot, offer: Offer, hashes: Mapping[str, str], finder: "_FlagFinder"
) -> list[Change]:
    """All tools of the server that differ from what is stored, before and after."""
    values = {"space": offer.space, "server": offer.server}
    sql = "SELECT id, hash, offered_hash, is_deleted FROM tools WHERE space = :space AND server = :server"
    stored = {id_: facts for id_, *facts in snapshot.rows(sql, values)}
    changed = [id_ for id_, hash_ in hashes.items() if id_ in stored and not _is_same(hash_, *stored[id_])]
    missing = [id_ for id_, facts in stored.items() if offer.is_all and id_ not in hashes and not facts[-1]]
    new = [id_ for id_ in hashes if id_ not in stored]
    if not changed and not missing and not new:
        return []
    before = {tool.id: tool for tool in get_stored_tools(snapshot, offer.space, [*changed, *missing])}
    finder.read_neighbours(snapshot)
    scan = finder.find
    listed_at, is_enabled = _get_server(snapshot, offer)
    new_tools = [_new_tool(context, offer, id_, hashes[id_], scan, not listed_at) for id_ in new]
    changes: list[Change] = [(None, replace(tool, is_enabled=bool(is_enabled))) for tool in new_tools]
    changes += [(before[id_], _update_tool(context, offer, before[id_], hashes[id_], scan)) for id_ in changed]
    return changes + [(before[id_], replace(before[id_], is_deleted=True)) for id_ in missing]


def _is_same(hash_: str, approved: str, offered: str | None, is_deleted: int) -> bool:
    """Whether the offered hash equals the stored one."""
    return not is_deleted and hash_ == (offered or approved)


class _FlagFinder:
    """Finds the flags of an offer's definitions, each once as long as the rest of the catalogue stays the same."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._neighbours = Neighbours()
        self._read: list[Row] = []  # the generation of the catalogue, and the servers in it, when they were read
        self._found: dict[int, tuple[Flag, ...]] = {}

    def read_neighbours(self, snapshot: Snapshot) -> None:
        """Reads the other servers and tools of the catalogue, where it has changed since."""
        values = {"space": self._offer.space, "server": self._offer.server}
        servers = snapshot.rows("SELECT id FROM tool_servers WHERE space = :space", {"space": self._offer.space})
        newest = [*rows.get_generations(snapshot, (self._offer.space,)), *servers]
        if newest == self._read:
            return
        self._read = newest
        sql = "SELECT name, definition FROM tools WHERE space = :space AND server <> :server AND is_deleted = 0"
        tools = [(name, _read_description(text)) for name, text in snapshot.rows(sql, values)]
        own = [definition.name for definition in self._offer.definitions.values()]
        neighbours = Neighbours.from_names([row[0] for row in servers], tools, own)
        if neighbours != self._neighbours:
            self._neighbours = neighbours
            self._found.clear()

    def find(self, definition: Definition) -> tuple[Flag, ...]:
        """The flags of one of the definitions."""
        if id(definition) not in self._found:
            from athand.tools.poisoning.scan import scan_definition  # slow to import

            self._found[id(definition)] = scan_definition(definition, self._offer.server, self._neighbours)
        return self._found[id(definition)]


@lru_cache(maxsize=1 << 13)
def _read_description(definition: str) -> str:
    """The description in a stored definition; every server that is added is compared with all the others."""
    return str(json.loads(definition)["description"])


def _new_tool(context: ToolContext, offer: Offer, id_: str, hash_: str, scan: Scanner, is_first: bool) -> StoredTool:
    definition = offer.definitions[id_]
    now = to_microseconds(context.now())
    tool = StoredTool(offer.space, id_, offer.server, definition, hash_, None, "", True, scan(definition), now)
    return replace(tool, state=_initial_state(context, offer, tool, is_first=is_first))


def _initial_state(context: ToolContext, offer: Offer, tool: StoredTool, *, is_first: bool) -> str:
    """The state of a new tool by the policy; under "first", only tools without a dangerous flag are approved."""
    policy = context.choices.policy
    if offer.by_hand or policy == "accept":
        return "approved"
    is_approved = policy == "first" and is_first and not any(flag.is_dangerous for flag in tool.flags)
    return "approved" if is_approved else "quarantined"


def _update_tool(context: ToolContext, offer: Offer, before: StoredTool, hash_: str, scan: Scanner) -> StoredTool:
    """A stored tool after a new offer: unchanged, replaced, or "changed" until the user approves the new definition."""
    definition = offer.definitions[before.id]
    tool = replace(before, is_deleted=False, flags=scan(definition))
    is_replaced = offer.by_hand or context.choices.policy == "accept" or before.state in ("quarantined", "rejected")
    if hash_ != before.hash and not is_replaced:
        return replace(tool, offered=definition, state="changed")
    state = "approved" if before.state == "changed" else before.state
    return replace(tool, definition=definition, hash=hash_, offered=None, state=state)


def get_stored_tools(snapshot: Snapshot, space: str, ids: Sequence[str]) -> list[StoredTool]:
    """The tools with these ids, including deleted ones."""
    return [to_stored_tool(row) for row in rows.get_rows(snapshot, [(space, id_) for id_ in ids])]


def to_stored_tool(row: Row) -> StoredTool:
    """Convert a row."""
    space, id_, server, definition, hash_, offered, _, state, enabled, flags, _, deleted, created_at = row
    return StoredTool(
        space=space,
        id=id_,
        server=server,
        definition=definitions.from_json(definition),
        hash=hash_,
        offered=definitions.from_json(offered) if offered else None,
        state=state,
        is_enabled=bool(enabled),
        flags=tuple(Flag(**flag) for flag in json.loads(flags)),
        created_at=created_at,
        is_deleted=bool(deleted),
    )


def save_tools(transaction: Transaction, tools: Sequence[StoredTool], context: ToolContext) -> None:
    """Insert or replace tools, and increment the generation of their catalogues."""
    now = to_microseconds(context.now())
    values = [_to_row(tool, now) for tool in tools]
    transaction.execute_many("DELETE FROM tools WHERE space = :space AND id = :id", values)
    names = list(values[0]) if values else []
    sql = f"INSERT INTO tools ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
    transaction.execute_many(sql, values)
    for space in {tool.space for tool in tools}:
        rows.add_usage(transaction, space, {rows.GENERATION: 1})


def _to_row(tool: StoredTool, now: int) -> dict[str, Any]:
    definition = definitions.to_json(tool.definition)
    return {
        "space": tool.space,
        "id": tool.id,
        "is_deleted": int(tool.is_deleted),
        "server": tool.server,
        "name": tool.definition.name,
        "definition": definition,
        "hash": tool.hash,
        "offered": definitions.to_json(tool.offered) if tool.offered else None,
        "offered_hash": definitions.content_hash(tool.offered) if tool.offered else None,
        "state": tool.state,
        "is_enabled": int(tool.is_enabled),
        "is_searched": int(tool.is_searched),
        "flags": json.dumps([flag.to_dict() for flag in tool.flags]),
        "tokens": rows.estimate_tool_tokens(tool.definition),
        "created_at": tool.created_at,
        "updated_at": now,
    }


def _get_server(snapshot: Snapshot, offer: Offer) -> Row:
    """When this server was first listed, and whether it is enabled."""
    sql = "SELECT listed_at, is_enabled FROM tool_servers WHERE space = :space AND id = :id"
    rows = snapshot.rows(sql, {"space": offer.space, "id": offer.server})
    return rows[0] if rows else (None, 1)


def _mark_listed(transaction: Transaction, offer: Offer, now: int) -> None:
    sql = "UPDATE tool_servers SET listed_at = :now WHERE space = :space AND id = :id AND listed_at IS NULL"
    transaction.execute(sql, {"now": now, "space": offer.space, "id": offer.server})

"""Taking in what a server offers: what is new, what has changed, what is gone. Only that is indexed again."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from athand.errors import BadData, Conflict
from athand.inputs import is_text
from athand.store import Passage, Row, Snapshot, Transaction, to_microseconds
from athand.text import text_hash
from athand.tools import pinning, records
from athand.tools.desk import Desk
from athand.tools.flags import Neighbours, flags_of
from athand.tools.model import Definition, Flag
from athand.tools.names import tool_id
from athand.tools.passages import to_passage
from athand.tools.scoring import INDEX
from athand.types import Noun, Vectors

_TRIES = 5

log = logging.getLogger("athand")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server offers now; `is_all` if tools that are not in it are gone, `by_hand` if the caller vouches."""

    space: str
    server: str
    definitions: Mapping[str, Definition]  # by tool id
    is_all: bool = True
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool as it is kept."""

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
        """Whether a search may show it: what nobody has approved and looks like an attack is not shown to an agent."""
        is_held = self.state == "quarantined" and any(flag.is_dangerous for flag in self.flags)
        return self.is_enabled and not self.is_deleted and self.state != "rejected" and not is_held

    @property
    def passage(self) -> Passage:
        """What is matched of it: always of the definition that was approved."""
        return to_passage(self.space, self.id, self.server, self.definition, self.created_at)


News = tuple[Entry | None, Entry]  # a tool before and after
Examined = Callable[[Definition], tuple[Flag, ...]]


@dataclass(frozen=True, slots=True)
class Taken(Noun):
    """What an offer has changed: how many tools are new, changed, gone, as before; how many texts were embedded."""

    new: int = 0
    changed: int = 0
    gone: int = 0
    same: int = 0
    embedded: int = 0
    reused: int = 0


def offer(space: str, server: str, raw_tools: Iterable[Any], **how: bool) -> Offer:
    """An offer from what a server lists; the first of a name counts, and what cannot be a tool is left out."""
    definitions: dict[str, Definition] = {}
    for raw in raw_tools:
        try:
            definition = _definition(raw)
        except BadData as error:
            log.warning("A tool of %s was left out: %s", server, error)
            continue
        definitions.setdefault(tool_id(server, definition.name), definition)
    return Offer(space, server, definitions, **how)


def _definition(raw: Any) -> Definition:
    """A tool as it is listed; BadData also where there is text in it that no store could keep."""
    definition = pinning.definition_of(raw)
    if "\0" in definition.name or not is_text(json.dumps(definition.to_dict(), ensure_ascii=False)):
        raise BadData("It has text that is not valid Unicode, or a NUL character in its name.")
    return definition


def take_in(desk: Desk, given: Offer) -> Taken:
    """Bring the catalogue up to an offer, at once for whoever searches."""
    hashes = {id_: pinning.content_hash(definition) for id_, definition in given.definitions.items()}
    for _ in range(_TRIES):
        with desk.store.snapshot() as snapshot:
            news = _news(desk, snapshot, given, hashes)
            is_listed = bool(_server(snapshot, given)[0])
        if not news and is_listed:
            return Taken(same=len(hashes), reused=len(hashes))
        passages = _passages(news)
        known = _known(desk, passages)
        vectors = desk.embed(passages) if passages else None
        if (taken := _write(desk, given, hashes, passages, vectors)) is not None:
            return replace(taken, embedded=len(passages) - known, reused=taken.same + known)
    raise Conflict(f"The tools of {given.server} are being changed by others all the time. Try again in a moment.")


def _known(desk: Desk, passages: Sequence[Passage]) -> int:
    """How many of these texts have a vector already that may be used."""
    model_id = desk.embedder.attempt(lambda model: model.model_id) if desk.use_cache else None
    if not passages or model_id is None:
        return 0
    with desk.store.snapshot() as snapshot:
        return len(snapshot.cached_vectors(model_id, [text_hash(passage.text) for passage in passages]))


def _write(
    desk: Desk, given: Offer, hashes: Mapping[str, str], embedded: Sequence[Passage], vectors: Vectors | None
) -> Taken | None:
    """Write the news; None if meanwhile others have made them something else."""
    with desk.store.transaction(spaces=(given.space,)) as transaction:
        news = _news(desk, transaction, given, hashes)
        passages = _passages(news)
        if {each.text for each in passages} - {each.text for each in embedded}:
            return None
        save(transaction, [entry for _, entry in news], desk)
        moved = [entry.id for before, entry in news if before is not None and _is_moved(before, entry)]
        transaction.remove(INDEX, given.space, moved)
        transaction.put(INDEX, passages, vectors)
        _mark_listed(transaction, given, to_microseconds(desk.now()))
    return _summary(news, len(hashes))


def _summary(news: Sequence[News], offered: int) -> Taken:
    new = sum(before is None for before, _ in news)
    gone = sum(entry.is_deleted for _, entry in news)
    return Taken(new, len(news) - new - gone, gone, offered - (len(news) - gone))


def _passages(news: Iterable[News]) -> list[Passage]:
    """What must be indexed: of the tools that are new, or approved as something else than before."""
    return [entry.passage for before, entry in news if not entry.is_deleted and _is_moved(before, entry)]


def _is_moved(before: Entry | None, entry: Entry) -> bool:
    """Whether the passage of a tool is another than before."""
    return before is None or before.hash != entry.hash or before.is_deleted != entry.is_deleted


def _news(desk: Desk, snapshot: Snapshot, given: Offer, hashes: Mapping[str, str]) -> list[News]:
    """Each tool of the server that is not as it was, before and after."""
    values = {"space": given.space, "server": given.server}
    sql = "SELECT id, hash, offered_hash, is_deleted FROM tools WHERE space = :space AND server = :server"
    known = {id_: facts for id_, *facts in snapshot.rows(sql, values)}
    stirred = [id_ for id_, hash_ in hashes.items() if id_ in known and not _is_same(hash_, *known[id_])]
    absent = [id_ for id_, facts in known.items() if given.is_all and id_ not in hashes and not facts[-1]]
    fresh = [id_ for id_ in hashes if id_ not in known]
    if not stirred and not absent and not fresh:
        return []
    before = {entry.id: entry for entry in entries_of(snapshot, given.space, [*stirred, *absent])}
    examined = _examiner(snapshot, given)
    listed_at, is_enabled = _server(snapshot, given)
    newcomers = [_newcomer(desk, given, id_, hashes[id_], examined, not listed_at) for id_ in fresh]
    news: list[News] = [(None, replace(entry, is_enabled=bool(is_enabled))) for entry in newcomers]
    news += [(before[id_], _after(desk, given, before[id_], hashes[id_], examined)) for id_ in stirred]
    return news + [(before[id_], gone(before[id_])) for id_ in absent]


def _is_same(hash_: str, approved: str, offered: str | None, is_deleted: int) -> bool:
    """Whether a tool is offered as it was before."""
    return not is_deleted and hash_ == (offered or approved)


def _examiner(snapshot: Snapshot, given: Offer) -> Examined:
    """What looks for flags, knowing the other servers of the catalogue and their tools."""
    values = {"space": given.space, "server": given.server}
    servers = snapshot.rows("SELECT id FROM tool_servers WHERE space = :space", {"space": given.space})
    sql = "SELECT name, definition FROM tools WHERE space = :space AND server <> :server AND is_deleted = 0"
    tools = [(name, json.loads(text)["description"]) for name, text in snapshot.rows(sql, values)]
    own = [definition.name for definition in given.definitions.values()]
    neighbours = Neighbours.of([row[0] for row in servers], tools, own)
    return lambda definition: flags_of(definition, given.server, neighbours)


def _newcomer(desk: Desk, given: Offer, id_: str, hash_: str, examined: Examined, is_first: bool) -> Entry:
    definition = given.definitions[id_]
    now = to_microseconds(desk.now())
    entry = Entry(given.space, id_, given.server, definition, hash_, None, "", True, examined(definition), now)
    return replace(entry, state=_first_state(desk, given, entry, is_first=is_first))


def _first_state(desk: Desk, given: Offer, entry: Entry, *, is_first: bool) -> str:
    """What becomes of a tool that was never seen: the user's policy says it, unless it looks like an attack."""
    policy = desk.choices.policy
    if given.by_hand or policy == "accept":
        return "approved"
    is_welcome = policy == "first" and is_first and not any(flag.is_dangerous for flag in entry.flags)
    return "approved" if is_welcome else "quarantined"


def _after(desk: Desk, given: Offer, before: Entry, hash_: str, examined: Examined) -> Entry:
    """A known tool after it was offered again: as approved, or blocked until the change is approved."""
    definition = given.definitions[before.id]
    here = replace(before, is_deleted=False, flags=examined(definition))
    is_taken_over = given.by_hand or desk.choices.policy == "accept" or before.state in ("quarantined", "rejected")
    if hash_ != before.hash and not is_taken_over:
        return replace(here, offered=definition, state="changed")
    state = "approved" if before.state == "changed" else before.state
    return replace(here, definition=definition, hash=hash_, offered=None, state=state)


def entries_of(snapshot: Snapshot, space: str, ids: Sequence[str]) -> list[Entry]:
    """These tools of a catalogue, also if they are gone."""
    return [to_entry(row) for row in records.rows_of(snapshot, [(space, id_) for id_ in ids])]


def to_entry(row: Row) -> Entry:
    """A tool from its row."""
    space, id_, server, definition, hash_, offered, _, state, enabled, flags, _, deleted, created_at = row
    return Entry(
        space=space,
        id=id_,
        server=server,
        definition=pinning.from_json(definition),
        hash=hash_,
        offered=pinning.from_json(offered) if offered else None,
        state=state,
        is_enabled=bool(enabled),
        flags=tuple(Flag(**flag) for flag in json.loads(flags)),
        created_at=created_at,
        is_deleted=bool(deleted),
    )


def gone(entry: Entry) -> Entry:
    """A tool that is not offered any more."""
    return replace(entry, is_deleted=True)


def save(transaction: Transaction, entries: Sequence[Entry], desk: Desk) -> None:
    """Write tools, whether they are new or known."""
    now = to_microseconds(desk.now())
    values = [_values(entry, now) for entry in entries]
    transaction.execute_many("DELETE FROM tools WHERE space = :space AND id = :id", values)
    names = list(values[0]) if values else []
    sql = f"INSERT INTO tools ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
    transaction.execute_many(sql, values)
    for space in {entry.space for entry in entries}:
        records.count(transaction, space, {records.GENERATION: 1})


def _values(entry: Entry, now: int) -> dict[str, Any]:
    definition = pinning.to_json(entry.definition)
    return {
        "space": entry.space,
        "id": entry.id,
        "is_deleted": int(entry.is_deleted),
        "server": entry.server,
        "name": entry.definition.name,
        "definition": definition,
        "hash": entry.hash,
        "offered": pinning.to_json(entry.offered) if entry.offered else None,
        "offered_hash": pinning.content_hash(entry.offered) if entry.offered else None,
        "state": entry.state,
        "is_enabled": int(entry.is_enabled),
        "is_searched": int(entry.is_searched),
        "flags": json.dumps([flag.to_dict() for flag in entry.flags]),
        "tokens": records.tokens_of(entry.definition),
        "created_at": entry.created_at,
        "updated_at": now,
    }


def _server(snapshot: Snapshot, given: Offer) -> Row:
    """When the tools of this server were first seen, and whether it is enabled."""
    sql = "SELECT listed_at, is_enabled FROM tool_servers WHERE space = :space AND id = :id"
    rows = snapshot.rows(sql, {"space": given.space, "id": given.server})
    return rows[0] if rows else (None, 1)


def _mark_listed(transaction: Transaction, given: Offer, now: int) -> None:
    sql = "UPDATE tool_servers SET listed_at = :now WHERE space = :space AND id = :id AND listed_at IS NULL"
    transaction.execute(sql, {"now": now, "space": given.space, "id": given.server})

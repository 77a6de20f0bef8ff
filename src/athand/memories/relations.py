"""Relations between memories. Supersession forms chains without circles."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from athand.errors import Conflict, InvalidInput
from athand.memories import rows
from athand.memories.model import GLOBAL_SPACE, Memory, Related, Relation, Successor
from athand.store import Row, Snapshot, Transaction, one_of, select_in, to_datetime, to_microseconds

SUPERSEDES = "SUPERSEDES"
COLUMNS = "source_id, target_id, type, made_by, valid_from, valid_until"
_EXCERPT = 200


def relate(transaction: Transaction, source: Memory, target: Memory, type_: str, by: str, now: datetime) -> Relation:
    """Relates one memory to another, from now on."""
    if source.id == target.id:
        raise InvalidInput(f"Memory {source.id} cannot be {type_} to itself.")
    if source.project != target.project and "global" not in (source.tier, target.tier):
        raise InvalidInput(
            f"Memories {source.id} and {target.id} are in different projects; "
            "relations stay within a project, or reach a global memory."
        )
    relation = Relation(source.id, target.id, type_, by, now)
    put(transaction, common_space(source.space, target.space), relation)
    return relation


def common_space(one: str, other: str) -> str:
    """The space of a relation between memories of these spaces: a project, if both are in it."""
    return one if one == other else GLOBAL_SPACE


def put(transaction: Transaction, space: str, relation: Relation) -> None:
    """Writes a relation, new or changed, in the space of its memories."""
    transaction.execute(
        f"INSERT INTO memory_relations (space, {COLUMNS}) "
        "VALUES (:space, :source_id, :target_id, :type, :by, :valid_from, :valid_until) "
        "ON CONFLICT (space, source_id, target_id, type) DO UPDATE SET made_by = excluded.made_by, "
        "valid_from = excluded.valid_from, valid_until = excluded.valid_until",
        {
            "space": space,
            "source_id": relation.source_id,
            "target_id": relation.target_id,
            "type": relation.type,
            "by": relation.by,
            "valid_from": to_microseconds(relation.valid_from),
            "valid_until": to_microseconds(relation.valid_until) if relation.valid_until else None,
        },
    )


def supersede(transaction: Transaction, old: Memory, new: Memory, by: str, now: datetime) -> Memory:
    """Ends the old memory where the new one begins; returns the old one."""
    if successor := _successor_id(transaction, old.id):
        raise Conflict(
            f"Memory {old.id} is superseded by {successor} already. Supersede that one, "
            f"or undo it with: athand memory unsupersede {old.id}"
        )
    if old.id in _chain(transaction, new.id):
        raise Conflict(f"Memory {old.id} supersedes {new.id}, perhaps through others; the reverse would be a circle.")
    relate(transaction, new, old, SUPERSEDES, by, now)
    return _set_end(transaction, old, new.valid_from, now)


def unsupersede(transaction: Transaction, old: Memory, now: datetime) -> Memory:
    """Makes the old memory valid again; the relation is kept as ended."""
    if old.valid_until is None:
        raise Conflict(f"Memory {old.id} is not superseded. See it with: athand memory show {old.id}")
    transaction.execute(
        "UPDATE memory_relations SET valid_until = :now WHERE target_id = :id AND type = :type AND valid_until IS NULL",
        {"now": to_microseconds(now), "id": old.id, "type": SUPERSEDES},
    )
    return _set_end(transaction, old, None, now)


def bridge_chain(transaction: Transaction, erased: Memory, now: datetime) -> None:
    """Before a memory is erased: makes its successor the successor of what it superseded.

    Without a successor, the old memories stay ended: they are not true again because the newer text is erased.
    """
    successor = _successor_id(transaction, erased.id)
    if successor is None:
        return
    found = rows.by_id(transaction, [successor, *predecessors(transaction, erased.id)], now)
    newer = found.pop(successor)
    for old in found.values():
        _set_end(transaction, old, erased.valid_until, now)
        relation = Relation(successor, old.id, SUPERSEDES, "user", now)
        put(transaction, common_space(newer.space, old.space), relation)


def move(transaction: Transaction, memory: Memory) -> None:
    """Moves the relations of a memory whose tier has changed to the spaces where they are looked for."""
    values = {"id": memory.id}
    where = "WHERE source_id = :id OR target_id = :id"
    found = [
        relation_from_row(row) for row in transaction.rows(f"SELECT {COLUMNS} FROM memory_relations {where}", values)
    ]
    if not found:
        return
    spaces = rows.find_spaces(transaction, {each for one in found for each in (one.source_id, one.target_id)})
    transaction.execute(f"DELETE FROM memory_relations {where}", values)
    for relation in found:
        put(transaction, common_space(spaces[relation.source_id], spaces[relation.target_id]), relation)


def refuse_circles(snapshot: Snapshot, ids: Iterable[str]) -> None:
    """Raises if one of these memories supersedes itself through others, or has two successors."""
    for id_ in ids:
        if id_ in _chain(snapshot, id_):
            raise Conflict(f"Memory {id_} supersedes itself through others.")
        if len(_successor_ids(snapshot, id_)) > 1:
            raise Conflict(f"Memory {id_} is superseded by more than one.")


def list_related(snapshot: Snapshot, id_: str, now: datetime, longest: int | None = None) -> list[Related]:
    """The valid relations of a memory to memories that still exist; `longest` is of all their texts together."""
    found = snapshot.rows(
        f"SELECT {COLUMNS} FROM memory_relations WHERE (source_id = :id OR target_id = :id) AND valid_until IS NULL "
        "ORDER BY valid_from, type, source_id, target_id",
        {"id": id_},
    )
    relations = [relation_from_row(row) for row in found]
    others = {
        relation: relation.target_id if relation.source_id == id_ else relation.source_id for relation in relations
    }
    each = None if longest is None else longest // max(1, len(others))
    memories = rows.by_id(snapshot, list(dict.fromkeys(others.values())), now, longest=each)
    pairs = ((relation, memories.get(other)) for relation, other in others.items())
    return [Related(relation, memory) for relation, memory in pairs if memory and not memory.is_deleted]


def count_relations(snapshot: Snapshot, ids: Sequence[str], spaces: Sequence[str] | None) -> dict[str, int]:
    """For each memory, the number of valid relations to memories of these spaces that still exist; None: of all."""
    (is_source, values), (is_target, _) = one_of("source_id", ids), one_of("target_id", ids)
    inside, places = one_of("space", spaces, "space")
    holds = f"{inside} AND valid_until IS NULL"
    found = snapshot.rows(
        f"SELECT source_id, target_id FROM memory_relations WHERE {is_source} AND {holds} UNION ALL "
        f"SELECT target_id, source_id FROM memory_relations WHERE {is_target} AND {holds}",
        {**values, **places},
    )
    others = {there for _, there in found}
    still = select_in(snapshot, "SELECT id FROM memories", "id", others, {"is_deleted": 0}, spaces)
    living = {row[0] for row in still}
    return Counter(here for here, there in found if there in living)


def successors(snapshot: Snapshot, ids: Sequence[str], spaces: Sequence[str] | None) -> dict[str, Successor]:
    """The last successor of each memory that is not deleted, in these spaces or in all."""
    chains = {id_: _chain(snapshot, id_, spaces) for id_ in ids}
    ids_in_chains = {id_ for chain in chains.values() for id_ in chain}
    select = "SELECT id, content, created_at FROM memories"
    found = select_in(snapshot, select, "id", ids_in_chains, {"is_deleted": 0}, spaces)
    known = {row[0]: Successor(row[0], row[1][:_EXCERPT], to_datetime(row[2])) for row in found}
    ends = {id_: [known[each] for each in chain if each in known] for id_, chain in chains.items()}
    return {id_: chain[-1] for id_, chain in ends.items() if chain}


def chain(snapshot: Snapshot, id_: str) -> tuple[list[str], list[str]]:
    """The ids of the memories that superseded one, the next first, and of those that it superseded, the last first."""
    older, begun = [], {id_}
    waiting = predecessors(snapshot, id_)
    while waiting:
        next_ = waiting.pop(0)
        if next_ not in begun:
            begun.add(next_)
            older.append(next_)
            waiting += predecessors(snapshot, next_)
    return _chain(snapshot, id_), older


def predecessors(snapshot: Snapshot, id_: str) -> list[str]:
    """The ids of the memories that a memory superseded directly."""
    found = snapshot.rows(
        "SELECT target_id FROM memory_relations WHERE source_id = :id AND type = :type AND valid_until IS NULL "
        "ORDER BY target_id",
        {"id": id_, "type": SUPERSEDES},
    )
    return [row[0] for row in found]


def relation_from_row(row: Row) -> Relation:
    """A relation from its columns."""
    source_id, target_id, type_, by, valid_from, valid_until = row
    ended = to_datetime(valid_until) if valid_until is not None else None
    return Relation(source_id, target_id, type_, by, to_datetime(valid_from), ended)


def _successor_ids(snapshot: Snapshot, id_: str, spaces: Sequence[str] | None = None) -> list[str]:
    inside, places = one_of("space", spaces, "space")
    found = snapshot.rows(
        "SELECT source_id FROM memory_relations WHERE target_id = :id AND type = :type AND valid_until IS NULL "
        f"AND {inside}",
        {"id": id_, "type": SUPERSEDES, **places},
    )
    return [row[0] for row in found]


def _successor_id(snapshot: Snapshot, id_: str, spaces: Sequence[str] | None = None) -> str | None:
    return next(iter(_successor_ids(snapshot, id_, spaces)), None)


def _chain(snapshot: Snapshot, id_: str, spaces: Sequence[str] | None = None) -> list[str]:
    """The successor of a memory, the successor of that one, and so on."""
    chain: list[str] = []
    while (successor := _successor_id(snapshot, chain[-1] if chain else id_, spaces)) and successor not in chain:
        chain.append(successor)
    return chain


def _set_end(transaction: Transaction, memory: Memory, valid_until: datetime | None, now: datetime) -> Memory:
    changed = replace(memory, valid_until=valid_until, updated_at=memory.next_update(now))
    rows.write(transaction, memory, changed)
    return changed

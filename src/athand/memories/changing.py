"""Changing what is remembered: edit, delete, bring back, forget. Nothing is half changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from athand.errors import Conflict, InvalidInput, StoreError
from athand.inputs import check_time
from athand.memories import records, relations
from athand.memories.adding import ensure_session
from athand.memories.desk import Desk, index, unindex
from athand.memories.entry import edited
from athand.memories.filters import selection
from athand.memories.model import Memory, to_passage
from athand.memories.salience import lessened
from athand.memories.scoring import INDEX
from athand.store import Transaction, to_microseconds
from athand.types import Filter

KEPT_AFTER_DELETE = timedelta(days=30)
TRACES = "traces of deleted ones stay on disk while another process reads the store. Then run: athand reindex"


def update(desk: Desk, id_: str, changes: Mapping[str, Any], session: str | None, expected: object) -> Memory:
    """Change some fields; with `expected`, only if nobody else has since that update."""
    now = desk.now()
    with desk.store.snapshot() as snapshot:
        foreseen = to_passage(edited(records.get(snapshot, id_, now), changes, now))
    vectors = desk.embed([foreseen])
    with desk.store.transaction() as transaction:
        before = live(transaction, id_, now)
        _refuse_stale(before, expected)
        after = edited(before, changes, now)
        records.write(transaction, before, after)
        passage = to_passage(after)
        if passage != to_passage(before):
            unindex(transaction, before)
            index(transaction, after, vectors if passage == foreseen else desk.embed([passage], transaction))
        if session is not None:
            ensure_session(transaction, session, after.project, now)
            records.link(transaction, session, [after], "updated", now)
    return after


def delete(desk: Desk, id_: str, *, hard: bool) -> Memory:
    """Take a memory away; `hard` leaves nothing of it."""
    now = desk.now()
    with desk.store.transaction() as transaction:
        [memory], erased = take_away(transaction, [records.get(transaction, id_, now)], now, hard=hard)
    erase_traces(desk, erased)
    return memory


def restore(desk: Desk, id_: str) -> Memory:
    """Bring a deleted memory back."""
    now = desk.now()
    with desk.store.snapshot() as snapshot:
        passage = to_passage(records.get(snapshot, id_, now))
    vectors = desk.embed([passage])
    with desk.store.transaction() as transaction:
        memory = records.get(transaction, id_, now)
        if not memory.is_deleted:
            raise Conflict(f"Memory {id_} is not deleted. See it with: athand memory show {id_}")
        after = replace(memory, deleted_at=None, updated_at=memory.next_update(now))
        records.write(transaction, memory, after)
        index(transaction, after, vectors)
    return after


def forget(desk: Desk, filters: Mapping[str, Any], *, dry_run: bool, hard: bool) -> list[Memory]:
    """Delete all memories that pass the filters, or only say which. Pinned ones stay unless asked for."""
    now = desk.now()
    asked = {name: value for name, value in filters.items() if value is not None and value != ()}
    if not asked:
        raise InvalidInput("Forget what? Name at least one filter, such as project, sector, until or max_salience.")
    chosen = selection(now, **{"pinned": False, **asked})
    chosen = replace(chosen, where=f"{chosen.where} AND i.is_deleted = 0")
    if dry_run:
        with desk.store.snapshot() as snapshot:
            return records.select(snapshot, chosen, now, "ORDER BY created_at, id")
    with desk.store.transaction() as transaction:
        memories = records.select(transaction, chosen, now, "ORDER BY created_at, id")
        gone, erased = take_away(transaction, memories, now, hard=hard)
    erase_traces(desk, erased)
    return gone


def reinforce(desk: Desk, id_: str, amount: float, session: str | None) -> Memory:
    """Give back part of what the memory has lost."""
    now = desk.now()
    with desk.store.transaction() as transaction:
        memory = live(transaction, id_, now)
        records.reinforce(transaction, [id_], amount, now)
        if session is not None:
            ensure_session(transaction, session, memory.project, now)
            records.link(transaction, session, [memory], "reinforced", now)
        return records.get(transaction, id_, now)


def deemphasize(desk: Desk, id_: str, amount: float) -> Memory:
    """Take something from what the memory matters now."""
    now = desk.now()
    with desk.store.transaction() as transaction:
        memory = live(transaction, id_, now)
        after = replace(memory, salience=lessened(memory.effective_salience, amount), last_accessed=now)
        records.write(transaction, memory, after)
        return records.get(transaction, id_, now)


def live(transaction: Transaction, id_: str, now: datetime) -> Memory:
    """The memory, if it is not deleted."""
    memory = records.get(transaction, id_, now)
    if memory.is_deleted:
        raise Conflict(f"Memory {id_} is deleted. Bring it back with: athand memory restore {id_}")
    return memory


def _refuse_stale(memory: Memory, expected: object) -> None:
    if expected is not None and memory.updated_at != check_time("expected_updated_at", expected):
        raise Conflict(
            f"Memory {memory.id} was changed at {memory.updated_at.isoformat()}. "
            f"Look at it and try again: athand memory show {memory.id}"
        )


def take_away(
    transaction: Transaction, memories: Sequence[Memory], now: datetime, *, hard: bool
) -> tuple[list[Memory], list[Memory]]:
    """Delete memories, and erase what was deleted long ago; the deleted ones, and what was erased."""
    gone = [_delete(transaction, memory, now) for memory in memories]
    due = to_microseconds(now - KEPT_AFTER_DELETE)
    long_gone = records.select(transaction, Filter("i.deleted_at < :due", {"due": due}), now)
    erased = {memory.id: memory for memory in (*long_gone, *(gone if hard else ()))}
    for memory in erased.values():
        relations.bridge(transaction, memory, now)
        records.erase(transaction, memory)
        transaction.forget(INDEX, to_passage(memory))
    return gone, list(erased.values())


def _delete(transaction: Transaction, memory: Memory, now: datetime) -> Memory:
    if memory.is_deleted:
        return memory
    after = replace(memory, deleted_at=now, updated_at=memory.next_update(now))
    unindex(transaction, memory)
    records.write(transaction, memory, after)
    return after


def erase_traces(desk: Desk, erased: Sequence[Memory]) -> None:
    """Leave nothing on disk of what was erased."""
    if erased and not desk.store.erase_traces():
        raise StoreError(f"Deleted, but {TRACES}")

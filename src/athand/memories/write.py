"""Adds, updates, deletes, restores and forgets memories, each in one transaction."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from athand.cancellation import check_cancelled, until_cancelled
from athand.corpus import TRACES, AnyCorpus
from athand.errors import Conflict, InvalidInput, StoreError
from athand.inputs import check_time
from athand.memories import relations, rows, sessions
from athand.memories.dedupe import fingerprint
from athand.memories.filters import DELIBERATE, and_, build_filter, visible_filter
from athand.memories.model import GLOBAL_SPACE, HISTORY, Memory, Similar, duplicate_keys, spaces_of, to_passage
from athand.memories.salience import BY_CALLER, lower_salience
from athand.memories.scoring import INDEX, matches, relevance
from athand.memories.validation import apply_changes, new_memory
from athand.rank import clamp, order, prepare
from athand.store import Passage, Snapshot, Transaction, to_microseconds
from athand.text import text_hash, tokenize
from athand.types import Calibration, Filter, Query, Vectors

MOST_SIMILAR = 3
SIMILAR_FLOOR = 0.5  # probably about the same, see rank.calibrate_cosine
# The search for similar memories takes as long as any search, so it is left out where more are added at once.
COMPARED_AT_ONCE = 100
_CANDIDATES = 16
_WORDS = 12


Mark = tuple[str, str, str]  # a space, a column, a value


@dataclass(frozen=True, slots=True)
class _Entry:
    """A memory to add, the key of the call, its passage, and the most similar existing memories with their scores."""

    memory: Memory
    key: str | None
    has_given_id: bool
    passage: Passage
    duplicate_keys: Mapping[str, str]
    similar: tuple[tuple[Memory, float], ...] = ()

    @property
    def marks(self) -> set[Mark]:
        """What it has in common with any memory that it may duplicate, and with any call that it may repeat."""
        memory = self.memory
        if memory.written_by == HISTORY:  # what was said is kept as often as it was said
            return {("", "id", memory.id)}
        found = {(memory.space, column, key) for column, key in self.duplicate_keys.items() if key}
        found |= {(memory.project, "key", self.key)} if self.key else set()
        return found | ({("", "id", memory.id)} if self.has_given_id else set())

    def similar_to(self, kept: Memory) -> tuple[Similar, ...]:
        """The most similar of the others."""
        close = [(other, score) for other, score in self.similar if other.id != kept.id]
        return tuple(Similar(each.id, each.content, clamp(score), each.created_at) for each, score in close)[
            :MOST_SIMILAR
        ]


def add_many(corpus: AnyCorpus, items: Iterable[Mapping[str, Any]]) -> list[Memory]:
    """Adds several memories, all or none."""
    now = corpus.now()
    entries = _check_items(items, now)
    vectors = corpus.embed([entry.passage for entry in entries])
    if len(entries) <= COMPARED_AT_ONCE and any(entry.memory.written_by != HISTORY for entry in entries):
        entries = _find_similar_to_all(corpus, entries, vectors, now)
    with corpus.store.transaction(spaces=spaces_of(entry.memory for entry in entries)) as transaction:
        batch = _Batch(transaction, now, _find_known(transaction, entries))
        kept = [batch.add(entry) for entry in until_cancelled(entries)]
        batch.insert_new()
        transaction.put(INDEX, list(batch.indexed.values()), vectors)
    pairs = zip(kept, entries, strict=True)
    return [replace(kept, similar=each.similar_to(kept)) if each.similar else kept for kept, each in pairs]


def of_one_writer(items: Iterable[Mapping[str, Any]], written_by: str) -> Iterator[Mapping[str, Any]]:
    """The items, all written down by one; raises if an item says who writes it down."""
    for item in items:
        if not isinstance(item, Mapping):
            yield item  # refused where all are checked
        elif "written_by" in item:
            raise InvalidInput("written_by is not yours to say: it is who you are. Leave it out.")
        else:
            yield {**item, "written_by": written_by}


def _check_items(items: Iterable[Mapping[str, Any]], now: datetime) -> list[_Entry]:
    """The checked entries, each created a microsecond after the one before, so that they keep their order."""
    entries = []
    for at, item in enumerate(until_cancelled(items)):
        try:
            if not isinstance(item, Mapping):
                raise InvalidInput(f"A memory is a mapping of the arguments of add, not {type(item).__name__}.")
            memory = new_memory(item, now + timedelta(microseconds=at))
        except InvalidInput as error:
            if at == 0:
                raise
            raise InvalidInput(f"Memory {at + 1} of the batch: {error}") from error
        keys = duplicate_keys(memory)
        entries.append(_Entry(memory, item.get("key"), item.get("id") is not None, to_passage(memory), keys))
    return entries


def _find_similar_to_all(
    corpus: AnyCorpus, entries: list[_Entry], vectors: Vectors | None, now: datetime
) -> list[_Entry]:
    calibration = corpus.embedder.attempt(lambda model: model.calibration) if vectors else None
    with corpus.store.snapshot() as snapshot:
        return [_find_similar(snapshot, entry, vectors, calibration, now) for entry in until_cancelled(entries)]


def _find_similar(
    snapshot: Snapshot, entry: _Entry, vectors: Vectors | None, calibration: Calibration | None, now: datetime
) -> _Entry:
    """The entry with the existing memories that are most similar by meaning, or by words where there is no model."""
    memory = entry.memory
    query = Query(
        text=memory.content,
        words=() if vectors else _longest_words(memory.content),
        vector=vectors.by_hash[text_hash(entry.passage.text)] if vectors else None,
        model_id=vectors.model_id if vectors else None,
        spaces=(memory.project, GLOBAL_SPACE),
        filter=and_(visible_filter(now, None, (memory.session, None), with_superseded=False), DELIBERATE),
        candidates=_CANDIDATES,
        literal=True,
    )
    found = snapshot.candidates(INDEX, query)
    keywords = prepare(found.words, found.statistics, INDEX.weights)
    scores = relevance(matches(found, keywords, calibration if found.by_vector else None, "semantic"))
    times, ids = [each.created_at for each in found.passages], [each.id for each in found.passages]
    best = order(scores, times, ids, SIMILAR_FLOOR)[: MOST_SIMILAR + 1]
    memories = rows.by_id(snapshot, [ids[at] for at in best], now, query.spaces)
    return replace(entry, similar=tuple((memories[ids[at]], float(scores[at])) for at in best))


def _find_known(transaction: Transaction, entries: Sequence[_Entry]) -> set[Mark]:
    """The marks of these entries that something in the store has, too."""
    wanted: dict[tuple[str, str], list[str]] = defaultdict(list)
    for space, column, value in (mark for entry in entries for mark in entry.marks):
        wanted[space, column].append(value)
    return {
        (space, column, value)
        for (space, column), values in wanted.items()
        for value in rows.find_values(transaction, space, column, values)
    }


@dataclass(frozen=True, slots=True)
class _Batch:
    """Writes entries. Those without a known mark are new, and inserted together; the others are compared one by one."""

    transaction: Transaction
    now: datetime
    known: set[Mark]
    new: list[_Entry] = field(default_factory=list)
    indexed: dict[str, Passage] = field(default_factory=dict)

    def add(self, entry: _Entry) -> Memory:
        """Adds an entry, or reinforces what it duplicates; the new ones are written by `insert_new`."""
        marks = entry.marks
        if self.known.isdisjoint(marks):
            memory, passage = self._collect(entry)
        else:
            self.insert_new()
            memory, passage = _match_existing(self.transaction, entry, self.now) or self._collect(entry)
        self.known.update(marks)
        if passage is not None:
            if memory.deduplicated and memory.id not in self.indexed:
                unindex(self.transaction, memory)
            self.indexed[memory.id] = passage
        return memory

    def _collect(self, entry: _Entry) -> tuple[Memory, Passage | None]:
        memory = entry.memory
        if ("", "id", memory.id) in self.known:
            raise Conflict(f"There is a memory {memory.id} already. See it with: athand memory show {memory.id}")
        self.new.append(entry)
        return memory, entry.passage

    def insert_new(self) -> None:
        """Writes the new memories, with the sessions and the keys by which they came."""
        rows.insert_many(self.transaction, ((entry.memory, entry.duplicate_keys) for entry in self.new))
        sessions.link_new(self.transaction, [entry.memory for entry in self.new])
        keyed = ((each.key, each.memory, each.duplicate_keys["fingerprint"]) for each in self.new if each.key)
        rows.put_keys(self.transaction, ((memory.project, key, memory.id, text) for key, memory, text in keyed))
        self.new.clear()


def _longest_words(text: str) -> tuple[str, ...]:
    """The longest words of a text: they are the most specific."""
    return tuple(sorted(tokenize(text), key=len, reverse=True)[:_WORDS])


def _match_existing(transaction: Transaction, entry: _Entry, now: datetime) -> tuple[Memory, Passage | None] | None:
    """The memory added under this key before, or a duplicate, reinforced; with its passage if that has changed."""
    memory = entry.memory
    if entry.key and (known := rows.find_by_key(transaction, memory.project, entry.key)):
        if known[1] != fingerprint(memory.content):
            raise Conflict(f"The key {entry.key!r} was used to add another text, see: athand memory show {known[0]}")
        return rows.get(transaction, known[0], now, spaces_of([memory])), None
    same = rows.find_duplicate(transaction, memory, now)
    if same is None:
        return None
    merged = _merge_fields(same, memory, now)
    if merged != same:
        rows.write(transaction, same, merged)
    rows.reinforce(transaction, [same.id], BY_CALLER, now, [same.space])
    _link_and_put_key(transaction, entry, same, now)
    passage = to_passage(merged)
    kept = replace(rows.get(transaction, same.id, now, [same.space]), deduplicated=True)
    return kept, passage if passage != to_passage(same) else None


def _merge_fields(same: Memory, added: Memory, now: datetime) -> Memory:
    """The memory with the tags, concepts, files, pin and higher importance of the duplicate."""
    merged = replace(
        same,
        tags=_union(same.tags, added.tags),
        concepts=_union(same.concepts, added.concepts),
        files=_union(same.files, added.files),
        pinned=same.pinned or added.pinned,
        pinned_by=same.pinned_by if same.pinned else added.pinned_by,
        importance=max(same.importance, added.importance),
    )
    return same if merged == same else replace(merged, updated_at=same.next_update(now))


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one + other))


def _link_and_put_key(transaction: Transaction, entry: _Entry, memory: Memory, now: datetime) -> None:
    """Links the duplicate of a memory with the session that added it again, and stores the key of the call."""
    session = entry.memory.session
    if session is not None:
        sessions.ensure(transaction, session, entry.memory.project, entry.memory.created_at)
        sessions.link(transaction, session, [memory], "reinforced", now)
    if entry.key:
        rows.put_key(transaction, entry.memory.project, entry.key, memory.id, fingerprint(entry.memory.content))


RESTORABLE_FOR = timedelta(days=30)


def update(
    corpus: AnyCorpus, id_: str, changes: Mapping[str, Any], session: str | None, expected: object, by: str
) -> Memory:
    """Changes some fields; with `expected`, only if that is the time of the last update."""
    now = corpus.now()
    with corpus.store.snapshot() as snapshot:
        likely_passage = to_passage(apply_changes(rows.get(snapshot, id_, now), changes, now, by))
    vectors = corpus.embed([likely_passage])
    with corpus.store.transaction() as transaction:
        before = get_live(transaction, id_, now)
        _refuse_stale(before, expected)
        after = apply_changes(before, changes, now, by)
        rows.write(transaction, before, after)
        if after.space != before.space:
            relations.move(transaction, after)
        passage = to_passage(after)
        if passage != to_passage(before):
            unindex(transaction, before)
            index(transaction, after, vectors if passage == likely_passage else corpus.embed([passage], transaction))
        if session is not None:
            sessions.ensure(transaction, session, after.project, now)
            sessions.link(transaction, session, [after], "updated", now)
    return after


def delete(corpus: AnyCorpus, id_: str, *, hard: bool) -> Memory:
    """Deletes a memory; `hard` erases it at once."""
    now = corpus.now()
    with corpus.store.transaction() as transaction:
        [memory] = _delete_all(transaction, [rows.get(transaction, id_, now)], now, hard=hard)
        is_erased = _purge(transaction, now) or hard
    erase_traces(corpus, is_erased=is_erased)
    return memory


def restore(corpus: AnyCorpus, id_: str) -> Memory:
    """Restores a deleted memory."""
    now = corpus.now()
    with corpus.store.snapshot() as snapshot:
        passage = to_passage(rows.get(snapshot, id_, now))
    vectors = corpus.embed([passage])
    with corpus.store.transaction() as transaction:
        memory = rows.get(transaction, id_, now)
        if not memory.is_deleted:
            raise Conflict(f"Memory {id_} is not deleted. See it with: athand memory show {id_}")
        after = replace(memory, deleted_at=None, updated_at=memory.next_update(now))
        rows.write(transaction, memory, after)
        index(transaction, after, vectors)
    return after


def forget(
    corpus: AnyCorpus, filters: Mapping[str, Any], *, dry_run: bool, hard: bool, limit: int, longest: int | None
) -> list[Memory]:
    """Deletes the oldest memories that pass the filters, or only returns them; pinned ones only if `pinned` is given.

    The texts that are returned have at most `longest` characters together.
    """
    now = corpus.now()
    asked = {name: value for name, value in filters.items() if value is not None and value != ()}
    if not asked:
        raise InvalidInput("Forget what? Name at least one filter, such as project, sector, until or max_salience.")
    chosen = build_filter(now, **{"pinned": False, **asked})
    chosen = replace(chosen, where=f"{chosen.where} AND i.is_deleted = 0")
    if dry_run:
        with corpus.store.snapshot() as snapshot:
            each = _share(snapshot, chosen, limit, longest)
            return rows.select(snapshot, chosen, now, _OLDEST, longest=each, most=limit)
    deleted: list[Memory] = []
    with corpus.store.transaction() as transaction:
        each = _share(transaction, chosen, limit, longest)
        # Some at a time, as all their texts may not fit into memory; what is deleted passes the filter no more.
        while found := rows.select(transaction, chosen, now, _OLDEST, most=min(_AT_ONCE, limit - len(deleted))):
            check_cancelled()
            deleted += [rows.cut(memory, each) for memory in _delete_all(transaction, found, now, hard=hard)]
        is_erased = _purge(transaction, now) or (hard and bool(deleted))
    erase_traces(corpus, is_erased=is_erased)
    return deleted


_OLDEST = "ORDER BY created_at, id LIMIT :most"
_AT_ONCE = 100


def _share(snapshot: Snapshot, chosen: Filter, limit: int, longest: int | None) -> int | None:
    """How long the text of each of these memories may be in an answer."""
    return None if longest is None else longest // max(1, min(limit, rows.count(snapshot, chosen)))


def reinforce(corpus: AnyCorpus, id_: str, amount: float, session: str | None) -> Memory:
    """Raises the salience of a memory."""
    now = corpus.now()
    with corpus.store.transaction() as transaction:
        memory = get_live(transaction, id_, now)
        rows.reinforce(transaction, [id_], amount, now)
        if session is not None:
            sessions.ensure(transaction, session, memory.project, now)
            sessions.link(transaction, session, [memory], "reinforced", now)
        return rows.get(transaction, id_, now)


def deemphasize(corpus: AnyCorpus, id_: str, amount: float) -> Memory:
    """Lowers the salience of a memory."""
    now = corpus.now()
    with corpus.store.transaction() as transaction:
        memory = get_live(transaction, id_, now)
        after = replace(memory, salience=lower_salience(memory.effective_salience, amount), last_accessed=now)
        rows.write(transaction, memory, after)
        return rows.get(transaction, id_, now)


def get_live(transaction: Transaction, id_: str, now: datetime) -> Memory:
    """The memory; raises if it is deleted."""
    memory = rows.get(transaction, id_, now)
    if memory.is_deleted:
        raise Conflict(f"Memory {id_} is deleted. Bring it back with: athand memory restore {id_}")
    return memory


def _refuse_stale(memory: Memory, expected: object) -> None:
    if expected is not None and memory.updated_at != check_time("expected_updated_at", expected):
        raise Conflict(
            f"Memory {memory.id} was changed at {memory.updated_at.isoformat()}. "
            f"Look at it and try again: athand memory show {memory.id}"
        )


def delete_and_purge(transaction: Transaction, memories: Sequence[Memory], now: datetime) -> bool:
    """Deletes memories and erases those deleted long ago; whether any was erased."""
    _delete_all(transaction, memories, now, hard=False)
    return _purge(transaction, now)


def _delete_all(transaction: Transaction, memories: Sequence[Memory], now: datetime, *, hard: bool) -> list[Memory]:
    deleted = [_delete(transaction, memory, now) for memory in memories]
    if hard:
        _erase(transaction, deleted, now)
    return deleted


def _purge(transaction: Transaction, now: datetime) -> bool:
    """Erases what was deleted so long ago that it cannot be restored; whether there was any."""
    expired = Filter("i.deleted_at < :due", {"due": to_microseconds(now - RESTORABLE_FOR)})
    is_any = False
    while found := rows.select(transaction, expired, now, "ORDER BY deleted_at, id LIMIT :most", most=_AT_ONCE):
        _erase(transaction, found, now)
        is_any = True
    return is_any


def _erase(transaction: Transaction, memories: Sequence[Memory], now: datetime) -> None:
    for memory in memories:
        relations.bridge_chain(transaction, memory, now)
        rows.erase(transaction, memory)
    passages = [to_passage(memory) for memory in memories]
    transaction.forget(INDEX, passages, lambda items: rows.read_passages(transaction, items, now))


def _delete(transaction: Transaction, memory: Memory, now: datetime) -> Memory:
    if memory.is_deleted:
        return memory
    after = replace(memory, deleted_at=now, updated_at=memory.next_update(now))
    unindex(transaction, memory)
    rows.write(transaction, memory, after)
    return after


def erase_traces(corpus: AnyCorpus, *, is_erased: bool) -> None:
    """Erases the traces of what was erased on the disk."""
    if is_erased and not corpus.store.erase_traces():
        raise StoreError(f"Deleted, but {TRACES}")


def index(transaction: Transaction, memory: Memory, vectors: Vectors | None) -> None:
    """Puts a memory into the index."""
    transaction.put(INDEX, [to_passage(memory)], vectors)


def unindex(transaction: Transaction, memory: Memory) -> None:
    """Removes a memory from the index."""
    transaction.remove(INDEX, memory.space, [memory.id])

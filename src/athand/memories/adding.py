"""Adding memories: what is said already is reinforced, what is new is kept and told what it resembles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from athand.errors import Conflict, InvalidInput
from athand.inputs import check_name
from athand.memories import records
from athand.memories.desk import Desk, spaces_of, unindex
from athand.memories.entry import new_memory
from athand.memories.filters import showing
from athand.memories.likeness import fingerprint
from athand.memories.model import GLOBAL_SPACE, Memory, Session, Similar, to_passage
from athand.memories.salience import BY_CALLER
from athand.memories.scoring import INDEX, matches, relevance
from athand.rank import clamp, order, prepare
from athand.store import Passage, Snapshot, Transaction
from athand.text import text_hash, tokenize
from athand.types import Calibration, Query, Vectors

MOST_SIMILAR = 3
SIMILAR_FLOOR = 0.5  # probably about the same, see rank.calibrate_cosine
# Looking for what is similar takes as long as a search; who adds more at once than this wants them added.
COMPARED_AT_ONCE = 100
_CANDIDATES = 16
_WORDS = 12


@dataclass(frozen=True, slots=True)
class _Entry:
    """A memory to be added, the name of this add, and the existing memories most like it."""

    memory: Memory
    key: str | None
    passage: Passage
    like: tuple[tuple[Memory, float], ...] = ()

    def similar_to(self, kept: Memory) -> tuple[Similar, ...]:
        """The most similar of the others."""
        close = [(other, score) for other, score in self.like if other.id != kept.id]
        return tuple(Similar(each.id, each.content, clamp(score), each.created_at) for each, score in close)[
            :MOST_SIMILAR
        ]


def add_many(desk: Desk, items: Iterable[Mapping[str, Any]]) -> list[Memory]:
    """Keep several texts, all or none."""
    now = desk.now()
    entries = _entries(items, now)
    vectors = desk.embed([entry.passage for entry in entries])
    if len(entries) <= COMPARED_AT_ONCE:
        entries = _compared_all(desk, entries, vectors, now)
    kept: list[Memory] = []
    indexed: dict[str, Passage] = {}
    with desk.store.transaction(spaces=spaces_of(entry.memory for entry in entries)) as transaction:
        for entry in entries:
            memory, passage = _known(transaction, entry, now) or _keep(transaction, entry, now)
            kept.append(memory)
            if passage is not None:
                if memory.deduplicated and memory.id not in indexed:
                    unindex(transaction, memory)
                indexed[memory.id] = passage
        transaction.put(INDEX, list(indexed.values()), vectors)
    return [replace(memory, similar=entry.similar_to(memory)) for memory, entry in zip(kept, entries, strict=True)]


def ensure_session(transaction: Transaction, id_: str, project: str, started_at: datetime) -> Session:
    """The session of this id; the first time it is named, it begins."""
    session = records.find_session(transaction, check_name("session", id_))
    if session is None:
        records.begin_session(transaction, Session(id_, project, started_at))
        session = records.get_session(transaction, id_)
    return session


def _entries(items: Iterable[Mapping[str, Any]], now: datetime) -> list[_Entry]:
    """The checked entries, each a microsecond after the one before: their order is kept."""
    entries = []
    for at, item in enumerate(items):
        try:
            if not isinstance(item, Mapping):
                raise InvalidInput(f"A memory is a mapping of the arguments of add, not {type(item).__name__}.")
            memory = new_memory(item, now + timedelta(microseconds=at))
        except InvalidInput as error:
            if at == 0:
                raise
            raise InvalidInput(f"Memory {at + 1} of the batch: {error}") from error
        entries.append(_Entry(memory, item.get("key"), to_passage(memory)))
    return entries


def _compared_all(desk: Desk, entries: list[_Entry], vectors: Vectors | None, now: datetime) -> list[_Entry]:
    calibration = desk.embedder.attempt(lambda model: model.calibration) if vectors else None
    with desk.store.snapshot() as snapshot:
        return [_compared(snapshot, entry, vectors, calibration, now) for entry in entries]


def _compared(
    snapshot: Snapshot, entry: _Entry, vectors: Vectors | None, calibration: Calibration | None, now: datetime
) -> _Entry:
    """The entry with the existing memories that are most like it by meaning; by their words where there is no model."""
    memory = entry.memory
    query = Query(
        text=memory.content,
        words=() if vectors else _telling_words(memory.content),
        vector=vectors.by_hash[text_hash(entry.passage.text)] if vectors else None,
        model_id=vectors.model_id if vectors else None,
        spaces=(memory.project, GLOBAL_SPACE),
        filter=showing(now, None, (memory.session, None), with_superseded=False),
        candidates=_CANDIDATES,
        literal=True,
    )
    found = snapshot.candidates(INDEX, query)
    keywords = prepare(found.words, found.statistics, INDEX.weights)
    scores = relevance(matches(found.passages, keywords, calibration if found.by_vector else None, "semantic"))
    times, ids = [each.created_at for each in found.passages], [each.id for each in found.passages]
    best = order(scores, times, ids, SIMILAR_FLOOR)[: MOST_SIMILAR + 1]
    memories = records.by_id(snapshot, [ids[at] for at in best], now, query.spaces)
    return replace(entry, like=tuple((memories[ids[at]], float(scores[at])) for at in best))


def _telling_words(text: str) -> tuple[str, ...]:
    """The longest words: they tell most."""
    return tuple(sorted(tokenize(text), key=len, reverse=True)[:_WORDS])


def _known(transaction: Transaction, entry: _Entry, now: datetime) -> tuple[Memory, Passage | None] | None:
    """What was added by this name already, or says the same and is reinforced; and its passage, if that changed."""
    memory = entry.memory
    if entry.key and (named := records.named(transaction, memory.project, entry.key)):
        if named[1] != fingerprint(memory.content):
            raise Conflict(f"The key {entry.key!r} was used to add another text, see: athand memory show {named[0]}")
        return records.get(transaction, named[0], now), None
    same = records.find_duplicate(transaction, memory, now)
    if same is None:
        return None
    merged = _merged(same, memory, now)
    if merged != same:
        records.write(transaction, same, merged)
    records.reinforce(transaction, [same.id], BY_CALLER, now, [same.space])
    _note(transaction, entry, same, "reinforced", now)
    passage = to_passage(merged)
    kept = replace(records.get(transaction, same.id, now), deduplicated=True)
    return kept, passage if passage != to_passage(same) else None


def _merged(same: Memory, added: Memory, now: datetime) -> Memory:
    """The memory with what the second telling adds: tags, concepts and files, a pin, more importance."""
    merged = replace(
        same,
        tags=_joined(same.tags, added.tags),
        concepts=_joined(same.concepts, added.concepts),
        files=_joined(same.files, added.files),
        pinned=same.pinned or added.pinned,
        importance=max(same.importance, added.importance),
    )
    return same if merged == same else replace(merged, updated_at=same.next_update(now))


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one + other))


def _keep(transaction: Transaction, entry: _Entry, now: datetime) -> tuple[Memory, Passage]:
    memory = entry.memory
    if records.by_id(transaction, [memory.id], now):
        raise Conflict(f"There is a memory {memory.id} already. See it with: athand memory show {memory.id}")
    records.insert(transaction, memory)
    _note(transaction, entry, memory, "created", memory.created_at)
    return memory, entry.passage


def _note(transaction: Transaction, entry: _Entry, memory: Memory, usage: str, at: datetime) -> None:
    """Link the memory with the session that added it, and remember the name of the add."""
    session = entry.memory.session
    if session is not None:
        ensure_session(transaction, session, entry.memory.project, entry.memory.created_at)
        records.link(transaction, session, [memory], usage, at)
    if entry.key:
        records.name(transaction, entry.memory.project, entry.key, memory.id, fingerprint(entry.memory.content))

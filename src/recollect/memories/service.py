"""Memories: add, find, list, delete."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from recollect.embed import LazyEmbedder, embed_texts
from recollect.errors import Conflict, InvalidInput, NotFound, StoreError
from recollect.inputs import check_fraction, check_limit, check_name, check_text, check_time
from recollect.memories.model import COLUMNS, Memory, from_row, to_passage, to_row
from recollect.memories.scoring import INDEX, floor, relevance
from recollect.rank import clamp, explain, matched_words, order, prepare, totals
from recollect.store import Passage, Snapshot, Store, Transaction, new_id, to_microseconds
from recollect.text import tokenize
from recollect.types import Calibration, Candidates, Hit, Hits, Query, Vector, Vectors, Why

_INSERT = f"INSERT INTO memories ({COLUMNS}) VALUES ({', '.join(':' + name for name in COLUMNS.split(', '))})"
_BATCH = 512
CANDIDATES = 64

_TRACES = "traces of deleted ones stay on disk while another process reads the store. Then run: recollect reindex"

log = logging.getLogger("recollect")
MemoryList = list[Memory]  # the class below has a method named list


class Memories:
    """The memories of a store."""

    def __init__(
        self,
        store: Store,
        embedder: LazyEmbedder,
        *,
        use_cache: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        when_uncovered: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._use_cache = use_cache
        self._clock = clock
        self._when_uncovered = when_uncovered

    def add(
        self,
        content: str,
        *,
        project: str = "default",
        tags: Sequence[str] = (),
        context: str | None = None,
        author: str | None = None,
        created_at: datetime | str | None = None,
        id: str | None = None,
    ) -> Memory:
        """Keep a text for good; once this returns, it survives a crash and is found."""
        given = {
            "project": project,
            "tags": tags,
            "context": context,
            "author": author,
            "created_at": created_at,
            "id": id,
        }
        return self.add_many([{"content": content, **given}])[0]

    def add_many(self, items: Iterable[Mapping[str, Any]]) -> MemoryList:
        """Keep several texts, all or none; each a mapping of the arguments of `add`."""
        memories = [self._checked(item) for item in items]
        passages = [to_passage(memory) for memory in memories]
        vectors = self._embed(passages)
        with self._store.transaction() as transaction:
            for memory in memories:
                _refuse_taken(transaction, memory.id)
                transaction.execute(_INSERT, to_row(memory))
            transaction.put(INDEX, passages, vectors)
        return memories

    def get(self, id: str) -> Memory:
        """The memory with this id, deleted or not."""
        with self._store.snapshot() as snapshot:
            return _get(snapshot, id)

    def list(self, *, project: str | None = None, limit: int = 20, include_deleted: bool = False) -> MemoryList:
        """The newest memories first."""
        with self._store.snapshot() as snapshot:
            rows = snapshot.rows(
                f"SELECT {COLUMNS} FROM memories WHERE (:project IS NULL OR space = :project) "
                "AND (is_deleted = 0 OR :deleted = 1) ORDER BY created_at DESC, id LIMIT :limit",
                {"project": project, "deleted": int(include_deleted), "limit": check_limit(limit)},
            )
        return [from_row(row) for row in rows]

    def search(
        self, query: str, *, project: str | None = None, limit: int = 10, min_score: float | None = None
    ) -> Hits:
        """The memories that answer, best first, each with its reasons; none at all when nothing fits."""
        limit = check_limit(limit)
        least = None if min_score is None else check_fraction("min_score", min_score)
        meaning = self._embedder.attempt(lambda model: (model.embed_query(query), model.model_id, model.calibration))
        vector, model_id, calibration = meaning or (None, None, None)
        asked = Query(
            text=query,
            words=tuple(tokenize(query)),
            vector=vector,
            model_id=model_id,
            spaces=None if project is None else (check_name("project", project),),
            candidates=max(CANDIDATES, limit),
        )
        with self._store.snapshot() as snapshot:
            found = snapshot.candidates(INDEX, asked)
            ranked = _rank(found, calibration if found.by_vector else None, least, limit)
            memories = _by_id(snapshot, [id_ for id_, _ in ranked])
        hits = [_hit(memories[id_], why) for id_, why in ranked]
        return Hits(hits, notes=self._notes(found), did_you_mean=found.corrections)

    def delete(self, id: str, hard: bool = False) -> Memory:
        """Take a memory away: `restore` brings it back, unless `hard` left nothing of it."""
        with self._store.transaction() as transaction:
            memory = _get(transaction, id)
            transaction.remove(INDEX, memory.project, [memory.id])
            if hard:
                transaction.forget(INDEX, to_passage(memory))
            statement = "DELETE FROM memories" if hard else "UPDATE memories SET is_deleted = 1, updated_at = :now"
            transaction.execute(
                f"{statement} WHERE space = :space AND id = :id",
                {"space": memory.project, "id": memory.id} | ({} if hard else {"now": to_microseconds(self._clock())}),
            )
        if hard and not self._store.erase_traces():
            raise StoreError(f"Memory {id} is deleted, but {_TRACES}")
        return replace(memory, is_deleted=True)

    def restore(self, id: str) -> Memory:
        """Bring a deleted memory back."""
        memory = self.get(id)
        passages = [to_passage(memory)]
        vectors = self._embed(passages)
        with self._store.transaction() as transaction:
            if not _get(transaction, id).is_deleted:
                raise Conflict(f"Memory {id} is not deleted. See it with: recollect memory show {id}")
            transaction.execute(
                "UPDATE memories SET is_deleted = 0, updated_at = :now WHERE space = :space AND id = :id",
                {"now": to_microseconds(self._clock()), "space": memory.project, "id": id},
            )
            transaction.put(INDEX, passages, vectors)
        return self.get(id)

    def count(self) -> dict[str, int]:
        """Memories per project."""
        return self._store.counts(INDEX.corpus)

    def reindex(self, progress: Callable[[int], None] = lambda done: None) -> int:
        """Make everything derived anew from the memories, in one step that readers see whole; how many there are."""
        self.embed_missing()
        done, after = 0, ("", "")
        with self._store.transaction() as transaction:
            transaction.clear(INDEX)
            while batch := _after(transaction, after):
                passages = [to_passage(memory) for memory in batch]
                transaction.put(INDEX, passages, self._embed(passages, transaction))
                done, after = done + len(batch), (batch[-1].project, batch[-1].id)
                progress(done)
        if not self._store.erase_traces():
            log.warning("The index is new, but %s", _TRACES)
        return done

    def fingerprint(self) -> str:
        """A hash of everything derived from the memories: a fresh index has the same."""
        return self._store.fingerprint(INDEX)

    def embed_missing(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Give every memory a vector of the current model; until all have one, searches go by keyword."""
        model_id = self._embedder.attempt(lambda embedder: embedder.model_id)
        after = 0
        while model_id and (missing := self._store.uncovered(INDEX.corpus, model_id, after, _BATCH)):
            with self._store.snapshot() as snapshot:
                memories = _by_id(snapshot, [item_id for _, item_id in missing])
            vectors = self._embed([to_passage(memory) for memory in memories.values()])
            if vectors is None or stop():
                return False
            self._store.add_vectors(vectors)
            after = missing[-1][0]
        return model_id is not None and self._store.finish_cover(INDEX.corpus, model_id)

    def _embed(self, passages: Sequence[Passage], snapshot: Snapshot | None = None) -> Vectors | None:
        """The passages' vectors, from what is known where that may be used; None while the model does not work."""
        texts = [passage.text for passage in passages]
        known = snapshot.cached_vectors if snapshot else self._known_vectors
        return self._embedder.attempt(lambda model: embed_texts(model, texts, known if self._use_cache else None))

    def _known_vectors(self, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        with self._store.snapshot() as snapshot:
            return snapshot.cached_vectors(model_id, hashes)

    def _checked(self, given: Mapping[str, Any]) -> Memory:
        now = self._clock()
        unknown = set(given) - {"content", "project", "tags", "context", "author", "created_at", "id"}
        if unknown:
            raise InvalidInput(f"A memory has no {', '.join(sorted(unknown))}.")
        context, author, created_at = given.get("context"), given.get("author"), given.get("created_at")
        tags = given.get("tags", ())
        if isinstance(tags, str):
            raise InvalidInput(f"tags must be a list of names, not the text {tags!r}.")
        return Memory(
            id=check_name("id", given["id"]) if given.get("id") is not None else new_id(now),
            project=check_name("project", given.get("project", "default")),
            content=check_text("content", given.get("content")),
            context=check_text("context", context) if context else None,
            author=check_name("author", author) if author else None,
            tags=tuple(dict.fromkeys(check_name("tag", tag) for tag in tags)),
            created_at=check_time("created_at", created_at) if created_at is not None else now,
            updated_at=now,
        )

    def _notes(self, found: Candidates) -> Sequence[str]:
        if self._embedder.problem:
            return [f"Searched by keyword only: {self._embedder.problem}"]
        if not found.by_vector and found.statistics.passages:
            self._when_uncovered()
            return ["Searched by keyword only: the vectors of this model are still being made. See: recollect reindex"]
        return []


def _refuse_taken(transaction: Transaction, id_: str) -> None:
    if transaction.rows("SELECT 1 FROM memories WHERE id = :id", {"id": id_}):
        raise Conflict(f"There is a memory {id_} already. See it with: recollect memory show {id_}")


def _get(snapshot: Snapshot, id_: str) -> Memory:
    rows = snapshot.rows(f"SELECT {COLUMNS} FROM memories WHERE id = :id", {"id": id_})
    if not rows:
        raise NotFound(f"No memory {id_!r}. See what there is with: recollect memory list")
    return from_row(rows[0])


def _after(snapshot: Snapshot, place: tuple[str, str]) -> MemoryList:
    """The next memories that are not deleted, in the order of project and id."""
    rows = snapshot.rows(
        f"SELECT {COLUMNS} FROM memories WHERE (space > :space OR (space = :space AND id > :id)) "
        "AND is_deleted = 0 ORDER BY space, id LIMIT :limit",
        {"space": place[0], "id": place[1], "limit": _BATCH},
    )
    return [from_row(row) for row in rows]


def _by_id(snapshot: Snapshot, ids: Sequence[str]) -> dict[str, Memory]:
    marks = ", ".join(f":id{at}" for at in range(len(ids)))
    rows = snapshot.rows(
        f"SELECT {COLUMNS} FROM memories WHERE id IN ({marks})", {f"id{at}": id_ for at, id_ in enumerate(ids)}
    )
    return {memory.id: memory for memory in map(from_row, rows)}


def _rank(
    found: Candidates, calibration: Calibration | None, least: float | None, limit: int
) -> Sequence[tuple[str, Why]]:
    """Ids and reasons of the memories that are good enough, best first."""
    keywords = prepare(found.words, found.statistics, INDEX.weights)
    parts = relevance(found.passages, keywords, calibration)
    times, ids = [each.created_at for each in found.passages], [each.id for each in found.passages]
    best = order(totals(parts), times, ids, floor(found.words) if least is None else least)[:limit]
    return [
        (found.passages[at].item_id, Why(explain(parts, at), matched_words(found.passages[at].fields, keywords)))
        for at in best
    ]


def _hit(memory: Memory, why: Why) -> Hit:
    return Hit(memory.id, INDEX.corpus, clamp(why.total), memory.title, memory.content, why, memory)

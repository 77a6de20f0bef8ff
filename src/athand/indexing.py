"""Derived data of every corpus: embedding of passages, missing vectors, reindexing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from athand.embed import LazyEmbedder, embed_texts
from athand.errors import Unavailable
from athand.store import Index, Passage, Snapshot, Store
from athand.types import Vector, Vectors

BATCH = 512

Items = Sequence[tuple[str, str]]  # the space and the id of each


@dataclass(frozen=True, slots=True)
class Corpus:
    """How to derive the passages of a corpus: those of some items, or all in batches."""

    index: Index
    passages_of: Callable[[Snapshot, Items], Sequence[Passage]]
    every: Callable[[Snapshot], Iterator[Sequence[Passage]]]


def embed_passages(
    store: Store,
    embedder: LazyEmbedder,
    passages: Sequence[Passage],
    snapshot: Snapshot | None = None,
    *,
    use_cache: bool = True,
) -> Vectors | None:
    """The vectors of passages, from the cache if `use_cache`; None while the model does not work."""

    def lookup(model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        if snapshot is not None:
            return snapshot.cached_vectors(model_id, hashes)
        with store.snapshot() as newest:
            return newest.cached_vectors(model_id, hashes)

    texts = [passage.text for passage in passages]
    return embedder.attempt(lambda model: embed_texts(model, texts, lookup if use_cache else None))


def embed_missing(
    store: Store, embedder: LazyEmbedder, corpus: Corpus, stop: Callable[[], bool], *, use_cache: bool
) -> bool:
    """Embeds every passage that has no vector of the current model; until all have one, searches go by keyword."""
    model_id = embedder.attempt(lambda model: model.model_id)
    after = 0
    while model_id and (missing := store.missing_vectors(corpus.index.corpus, model_id, after, BATCH)):
        with store.snapshot() as snapshot:
            passages = corpus.passages_of(snapshot, sorted({(space, item_id) for _, space, item_id in missing}))
        vectors = embed_passages(store, embedder, passages, use_cache=use_cache)
        if vectors is None or stop():
            return False
        store.add_vectors(corpus.index, passages, vectors)
        after = missing[-1][0]
    return model_id is not None and store.activate_model(corpus.index.corpus, model_id)


def reindex(
    store: Store, embedder: LazyEmbedder, corpus: Corpus, progress: Callable[[int], None], *, use_cache: bool
) -> int:
    """Rebuilds the index of a corpus in one transaction; returns the number of passages."""
    embed_missing(store, embedder, corpus, lambda: False, use_cache=use_cache)
    done = 0
    with store.transaction() as transaction:
        transaction.clear(corpus.index)
        for passages in corpus.every(transaction):
            vectors = embed_passages(store, embedder, passages, transaction, use_cache=use_cache)
            transaction.put(corpus.index, passages, vectors)
            done += len(passages)
            progress(done)
    store.erase_traces()
    return done


def without_meaning(what: str, embedder: LazyEmbedder, when_uncovered: Callable[[], None], *, needed: bool) -> str:
    """The note why a search goes by keyword only; raises if vectors are `needed`."""
    reason = embedder.problem
    if not reason:
        when_uncovered()
        reason = "the vectors of this model are still being made. See: athand reindex"
    if needed:
        raise Unavailable(f"{what} cannot be searched by meaning now: {reason}")
    return f"Searched by keyword only: {reason}"

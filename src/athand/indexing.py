"""What every corpus keeps beside its items: the vectors of their passages, made when they are missing."""

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
    """How the passages of a corpus come from its items: those of some items, or all of them, some at a time."""

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
    """The passages' vectors, from what is known where that may be used; None while the model does not work."""

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
    """Give every passage a vector of the current model; until all have one, searches go by keyword."""
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
    """Make everything derived of a corpus anew, in one step that readers see whole; how many passages there are."""
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
    """Why a search goes by keyword only; where meaning is `needed`, that is an error."""
    reason = embedder.problem
    if not reason:
        when_uncovered()
        reason = "the vectors of this model are still being made. See: athand reindex"
    if needed:
        raise Unavailable(f"{what} cannot be searched by meaning now: {reason}")
    return f"Searched by keyword only: {reason}"

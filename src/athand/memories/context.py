"""What every operation on memories works with: the store, the model, the clock."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from athand.embed import LazyEmbedder
from athand.indexing import embed_passages
from athand.memories.model import Memory, to_passage
from athand.memories.scoring import INDEX
from athand.store import Passage, Snapshot, Store, Transaction
from athand.types import Vectors


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """Store, model and clock."""

    store: Store
    embedder: LazyEmbedder
    use_cache: bool
    now: Callable[[], datetime]
    complaints: set[str] = field(default_factory=set)  # what the log was told already

    def embed(self, passages: Sequence[Passage], snapshot: Snapshot | None = None) -> Vectors | None:
        """The passages' vectors, from what is known where that may be used; None while the model does not work."""
        return embed_passages(self.store, self.embedder, passages, snapshot, use_cache=self.use_cache)


def spaces_of(memories: Iterable[Memory]) -> set[str]:
    """Where memories, their links and their names are kept."""
    return {space for memory in memories for space in (memory.space, memory.project)}


def index(transaction: Transaction, memory: Memory, vectors: Vectors | None) -> None:
    """Make a memory findable."""
    transaction.put(INDEX, [to_passage(memory)], vectors)


def unindex(transaction: Transaction, memory: Memory) -> None:
    """Take a memory out of the index."""
    transaction.remove(INDEX, memory.space, [memory.id])

"""Dependencies of the documents corpus: store, embedder, file readers, clock."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from athand.documents.readers import Readers
from athand.embed import LazyEmbedder
from athand.indexing import embed_passages
from athand.store import Passage, Snapshot, Store
from athand.types import Vectors


@dataclass(frozen=True, slots=True)
class DocumentContext:
    """Store, embedder, readers and clock; `host` is the name of this machine."""

    store: Store
    embedder: LazyEmbedder
    readers: Readers
    use_cache: bool
    now: Callable[[], datetime]
    host: str
    when_uncovered: Callable[[], None] = lambda: None
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def is_shared(self) -> bool:
        """Whether other machines may use the store too (PostgreSQL); then a folder belongs to one host."""
        return self.store.location.startswith("postgres")

    def embed(self, passages: Sequence[Passage], snapshot: Snapshot | None = None) -> Vectors | None:
        """The vectors of passages, from the cache where allowed; None while the model does not work."""
        return embed_passages(self.store, self.embedder, passages, snapshot, use_cache=self.use_cache)

"""Dependencies of all tool operations: store, embedder, clock, environment and settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from athand.embed import LazyEmbedder
from athand.indexing import embed_passages
from athand.store import Passage, Snapshot, Store
from athand.tools.catalogue_index import CatalogueIndexCache
from athand.tools.scoring import ALPHA, LIMIT, THRESHOLD
from athand.types import Vectors

POLICIES = ("first", "quarantine", "accept")


@dataclass(frozen=True, slots=True)
class Choices:
    """Settings of the tools corpus.

    `policy` decides about tools that nobody has approved: "first" approves the first list of a new server and
    quarantines later additions and changes, "quarantine" quarantines everything, "accept" approves everything.
    """

    limit: int = LIMIT
    threshold: float = THRESHOLD
    alpha: float = ALPHA
    policy: str = "first"
    search_seconds: float = 10.0
    idle_seconds: float = 300.0
    tokens: Path | None = None  # the folder of OAuth tokens


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Store, embedder, clock, environment and settings."""

    store: Store
    embedder: LazyEmbedder
    use_cache: bool
    now: Callable[[], datetime]
    environment: Mapping[str, str] = field(repr=False)
    choices: Choices = Choices()
    when_uncovered: Callable[[], None] = lambda: None
    index_cache: CatalogueIndexCache = field(default_factory=CatalogueIndexCache)

    def embed(self, passages: Sequence[Passage], snapshot: Snapshot | None = None) -> Vectors | None:
        """The vectors of passages, from the cache where possible; None while the model does not work."""
        return embed_passages(self.store, self.embedder, passages, snapshot, use_cache=self.use_cache)

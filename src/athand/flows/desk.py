"""What every operation on flows works with: the store, the model, the clock, the profiles, and what was typed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from athand.embed import LazyEmbedder
from athand.flows.prior.goals import Remembered
from athand.flows.profiles import Profiles
from athand.flows.secrets import Typed
from athand.indexing import embed_passages
from athand.store import Passage, Snapshot, Store
from athand.types import Vectors


@dataclass(frozen=True, slots=True)
class Desk:
    """Store, model, clock, profiles, and what this process keeps to itself: typed secrets, and goals it has read."""

    store: Store
    embedder: LazyEmbedder
    use_cache: bool
    now: Callable[[], datetime]
    profiles: Profiles
    when_uncovered: Callable[[], None] = lambda: None
    window_hours: float = 48.0  # how old sessions may be that are named as related
    typed: Typed = field(default_factory=Typed)
    remembered: Remembered = field(default_factory=Remembered)

    def embed(self, passages: Sequence[Passage], snapshot: Snapshot | None = None) -> Vectors | None:
        """The passages' vectors, from what is known where that may be used; None while the model does not work."""
        return embed_passages(self.store, self.embedder, passages, snapshot, use_cache=self.use_cache)

"""The dependencies that every operation on flows shares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from athand.embed import LazyEmbedder
from athand.flows.echo_masking import TypedSecrets
from athand.flows.prior.goals import Remembered
from athand.flows.profiles import Profiles
from athand.indexing import embed_passages
from athand.store import Passage, Snapshot, Store
from athand.types import Vectors


@dataclass(frozen=True, slots=True)
class FlowContext:
    """Store, embedder, clock and profiles; and, in memory only, typed secrets and the cached history of sessions."""

    store: Store
    embedder: LazyEmbedder
    use_cache: bool
    now: Callable[[], datetime]
    profiles: Profiles
    when_uncovered: Callable[[], None] = lambda: None
    window_hours: float = 48.0  # the maximum age of related sessions
    typed_secrets: TypedSecrets = field(default_factory=TypedSecrets)
    history_cache: Remembered = field(default_factory=Remembered)

    def embed(self, passages: Sequence[Passage], snapshot: Snapshot | None = None) -> Vectors | None:
        """The vectors of passages, cached ones first; None while the model does not work."""
        return embed_passages(self.store, self.embedder, passages, snapshot, use_cache=self.use_cache)

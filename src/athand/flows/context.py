"""What the functions of this package work with: the corpus, the profiles of apps, and what is kept in memory only."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from athand.bounded_cache import BoundedCache
from athand.corpus import BATCH, Corpus, Items
from athand.embed import LazyEmbedder
from athand.flows import rows
from athand.flows.echo_masking import TypedSecrets
from athand.flows.model import FlowHit, FlowSession
from athand.flows.prediction.history import HistoryCache
from athand.flows.profiles import Profiles
from athand.flows.schema import SCHEMA
from athand.store import Passage, Snapshot, Store

_MOST_KNOWN = 1_000  # sessions of which it is kept in memory in which app they are


class FlowContext(Corpus[Any, FlowHit]):
    """The corpus of sessions and their steps; `window_hours` is the maximum age of related sessions."""

    schema = SCHEMA
    noun = "flow"
    points = ((0.0, 0.0), (0.34, 0.1), (0.44, 0.25), (0.51, 0.5), (0.63, 0.75), (1.6, 1.0))
    facet = "apps"
    filters = frozenset({"app"})
    own_filter = "app"

    def __init__(
        self,
        store: Store,
        embedder: LazyEmbedder,
        *,
        profile_folders: Sequence[Path] = (),
        window_hours: float = 48.0,
        **options: Any,
    ) -> None:
        super().__init__(store, embedder, **options)
        self.app_profiles = Profiles(profile_folders)
        self.window_hours = window_hours
        self.typed_secrets = TypedSecrets()
        self.history_cache = HistoryCache()
        self.app_of: BoundedCache[str, str] = BoundedCache(_MOST_KNOWN)

    def get_session(self, snapshot: Snapshot, id_: object) -> FlowSession:
        """The session with this id; of one that was used before it is known in which app it is."""
        session = rows.get_session(snapshot, id_, self.app_of.get(id_) if isinstance(id_, str) else None)
        self.app_of.put(session.id, session.app)
        return session

    def passages_of(self, snapshot: Snapshot, items: Items) -> Sequence[Passage]:
        """The passages of all steps of these sessions."""
        return rows.read_passages(snapshot, items)

    def all_passages(self, snapshot: Snapshot) -> Iterator[Sequence[Passage]]:
        """The passages of all steps in batches, ordered by app and id."""
        return rows.iterate_passages(snapshot, BATCH)

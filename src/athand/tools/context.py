"""What the functions of this room work with: the corpus, its settings and the environment of server processes."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athand.corpus import BATCH, Corpus, Items
from athand.embed import LazyEmbedder
from athand.inputs import check_choice
from athand.store import Passage, Snapshot, Store
from athand.text import text_hash
from athand.tools import rows
from athand.tools.calls import DECISIONS
from athand.tools.catalogue_index import CatalogueIndexCache
from athand.tools.model import ToolHit
from athand.tools.schema import SCHEMA
from athand.tools.scoring import ALPHA, LIMIT, THRESHOLD

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
    unannotated: str = "ask"  # an agent's call of a tool whose server does not say what it does: allow, ask or deny
    search_seconds: float = 10.0
    idle_seconds: float = 300.0
    tokens: Path | None = None  # the folder of OAuth tokens


class ToolContext(Corpus[Any, ToolHit]):
    """The corpus of tools with its settings; `environment` has the variables that configurations refer to."""

    schema = SCHEMA
    noun = "tool"
    points = ((0.0, 0.0), (0.38, 0.1), (0.41, 0.25), (0.56, 0.5), (0.71, 0.75), (0.92, 0.9), (1.66, 1.0))
    facet = "servers"
    filters = frozenset({"project", "catalogue"})

    def __init__(
        self,
        store: Store,
        embedder: LazyEmbedder,
        *,
        environment: Mapping[str, str],
        choices: Choices = Choices(),  # frozen
        **options: Any,
    ) -> None:
        check_choice("tool policy", choices.policy, POLICIES)
        check_choice("unannotated tools", choices.unannotated, DECISIONS)
        super().__init__(store, embedder, **options)
        self.environment = environment
        self.choices = choices
        self.index_cache = CatalogueIndexCache()
        self.embedding_pool = ThreadPoolExecutor(4, "athand-tools")  # a search does not wait for it for long

    def passages_of(self, snapshot: Snapshot, items: Items) -> Sequence[Passage]:
        """The passages of some tools; deleted tools have none."""
        return rows.read_passages(snapshot, items)

    def all_passages(self, snapshot: Snapshot) -> Iterator[Sequence[Passage]]:
        """The passages of all tools in batches, ordered by catalogue and id."""
        return rows.iterate_passages(snapshot, BATCH)

    def count_cached(self, passages: Sequence[Passage]) -> int:
        """The number of passages that already have a vector of the current model."""
        model_id = self.embedder.attempt(lambda model: model.model_id) if self._use_cache else None
        if not passages or model_id is None:
            return 0
        with self.store.snapshot() as snapshot:
            hashes, spaces = [text_hash(each.text) for each in passages], {each.space for each in passages}
            return len(snapshot.cached_vectors(model_id, hashes, spaces))

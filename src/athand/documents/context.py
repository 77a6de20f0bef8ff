"""What the functions of this room work with: the corpus, its file readers and the machine they run on."""

import platform
from collections.abc import Iterator, Sequence
from typing import Any

from athand.corpus import Corpus, Items
from athand.documents.model import DocumentHit
from athand.documents.readers import Readers
from athand.documents.redaction import MODES
from athand.documents.rows import iterate_passages, read_passages
from athand.documents.schema import SCHEMA
from athand.embed import LazyEmbedder
from athand.store import Passage, Snapshot, Store

# Part of the stamp of an indexed file. Raised when files are read or cut in another way: then all are read again.
_READING = 3


class DocumentContext(Corpus[Any, DocumentHit]):
    """The corpus of documents with its readers; `host` is the name of this machine."""

    schema = SCHEMA
    noun = "document"
    points = ((0.0, 0.0), (0.32, 0.1), (0.38, 0.25), (0.59, 0.5), (1.0, 1.0))
    facet = "folders"
    filters = frozenset({"project", "folder_id"})
    has_home = True
    own_filter = "folder_id"

    def __init__(self, store: Store, embedder: LazyEmbedder, *, redaction: str = "values", **options: Any) -> None:
        super().__init__(store, embedder, **options)
        self.redact = MODES[redaction]
        self.reading = f"{_READING} {redaction}"
        self.readers = Readers()
        self.host = platform.node()

    @property
    def is_shared(self) -> bool:
        """Whether other machines may use the store too (PostgreSQL); then a folder belongs to one host."""
        return self.store.location.startswith("postgres")

    def passages_of(self, snapshot: Snapshot, items: Items) -> Sequence[Passage]:
        """The passages of some documents."""
        return read_passages(snapshot, items)

    def all_passages(self, snapshot: Snapshot) -> Iterator[Sequence[Passage]]:
        """The passages of all documents in batches, ordered by folder, path and position."""
        return iterate_passages(snapshot)

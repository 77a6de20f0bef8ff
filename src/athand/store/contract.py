"""What a store is: one contract, one engine per folder."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from athand.types import Candidate, Candidates, Query, Scan, ScanMatch, Vector, Vectors

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """How one corpus is indexed: its fields, what a match in each is worth, which columns of an item scores need."""

    corpus: str
    fields: tuple[str, ...]
    weights: tuple[float, ...]
    item_columns: tuple[str, ...] = ()
    texts: str = ""  # the table (space, id, position, content) of the passages as they are written, if they are kept


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of an item as it is matched: the text of each field, the text whose meaning counts, and when (µs)."""

    id: str
    item_id: str
    space: str
    fields: tuple[str, ...]
    text: str
    created_at: int
    content: str = ""  # as it is written, where that is searched too


class Snapshot(Protocol):
    """One consistent view of the store; later writes do not show."""

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """The rows of a portable SELECT with named parameters."""

    def candidates(self, index: Index, query: Query) -> Candidates:
        """Passages that may answer, from the keyword and the vector side, filters applied."""

    def passages_of(self, index: Index, query: Query, item_ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of these items, where they are in the query's spaces and pass its filter."""

    def scan(self, index: Index, scan: Scan) -> tuple[list[ScanMatch], bool]:
        """Every passage that a scan is after, and whether vectors could be compared; filters applied."""

    def frequencies(self, index: Index, spaces: tuple[str, ...] | None, terms: Sequence[str]) -> dict[str, int]:
        """In how many passages of the spaces each known term is; under an empty term, how many passages there are."""

    def cached_vectors(self, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors already known for these texts; damaged ones are left out."""

    def fingerprint(self, index: Index) -> str:
        """A hash of everything that is derived: equal when two indexes hold the same, on whichever engines."""


class Transaction(Snapshot, Protocol):
    """A view that can also write; everything in it becomes visible at once, or nothing."""

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Run a portable statement; how many rows it changed."""

    def execute_many(self, sql: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Run a portable statement once for each of these."""

    def put(self, index: Index, passages: Sequence[Passage], vectors: Vectors | None) -> None:
        """Index these passages by word and by vector."""

    def remove(self, index: Index, space: str, item_ids: Iterable[str]) -> None:
        """Take these items out of the index; their vectors stay known, in case the texts come back."""

    def forget(self, index: Index, passage: Passage) -> None:
        """Leave no trace of a removed passage: neither its vector nor how its words were written."""

    def clear(self, index: Index) -> None:
        """Drop all that is derived from the items of a corpus, to index them again."""


class Store(Protocol):
    """A database that finds passages; thread-safe, shared with other processes."""

    @property
    def location(self) -> str: ...

    def snapshot(self) -> AbstractContextManager[Snapshot]: ...

    def transaction(
        self, *, durable: bool = True, spaces: Iterable[str] | None = None
    ) -> AbstractContextManager[Transaction]:
        """Commit at the end, roll back on any error; `durable` waits until the disk has it.

        Nobody else writes in the spaces meanwhile: what is read there still holds when it is written. None: in any.
        """

    def missing_vectors(self, corpus: str, model_id: str, after: int, limit: int) -> list[tuple[int, str, str]]:
        """Number, space and item id of the next passages that have no vector of this model yet."""

    def add_vectors(self, index: Index, passages: Sequence[Passage], vectors: Vectors) -> None:
        """Keep vectors of passages that are there already, or soon will be."""

    def activate_model(self, corpus: str, model_id: str) -> bool:
        """Search by this model's vectors from now on, if no passage is without one; drop those of other models."""

    def counts(self, corpus: str) -> dict[str, int]:
        """Passages per space."""

    def erase_traces(self) -> bool:
        """Remove what deletions left on disk; False if a reader of an older moment still needs it."""

    def check_integrity(self) -> list[str]:
        """Everything that is wrong with the store; empty when all is well."""

    def fingerprint(self, index: Index) -> str:
        """The fingerprint of the newest snapshot."""

    def size_bytes(self) -> int: ...

    def facts(self) -> dict[str, str | int]:
        """What it is: the engine, its version, the version of the schema, and bytes not yet folded in (`log`)."""

    def back_up(self, path: Path, *, force: bool = False) -> None:
        """Copy one moment to a file, verified, while others read and write."""

    def distribute(self) -> dict[str, str]:
        """Spread the tables over several machines, where the engine can; what was done, by table."""

    def close(self) -> None: ...

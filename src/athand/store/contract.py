"""The protocol that both engines implement: `Store`, its read `Snapshot` and its write `Transaction`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from athand.types import Candidate, Candidates, Query, Scan, ScanMatch, Vector, Vectors

Row = tuple[Any, ...]

# What reading a damaged row may raise: it has another type, is no JSON, lacks a part.
READ_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def holds_json(column: str, kind: str) -> str:
    """The condition (see `Schema`) that a column holds a JSON array or object, or nothing."""
    return f"({column} IS NULL OR CASE WHEN json_valid({column}) THEN json_type({column}) = '{kind}' ELSE 0 END)"


@dataclass(frozen=True, slots=True)
class Index:
    """How one corpus is indexed: its fields and their BM25 weights, and the item columns that scoring reads."""

    corpus: str
    fields: tuple[str, ...]
    weights: tuple[float, ...]
    item_columns: tuple[str, ...] = ()
    texts: str = ""  # the table (space, id, position, content) with the original text of passages, if there is one


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a corpus: its index, and the tables of its items in portable SQL.

    The table of the items has the name of the corpus and the columns space, id and is_deleted (1: not indexed). The
    first step creates the tables, each later one leads to the next version.
    """

    index: Index
    steps: tuple[str, ...]
    secure_delete: bool = False  # words that are taken out of the index are overwritten at once
    # What holds for every row of a table, in SQL beyond its types: a row for which it does not is damaged.
    conditions: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The version of the tables after all steps."""
        return len(self.steps)


@dataclass(frozen=True, slots=True)
class Passage:
    """A searchable part of an item: the text of each field, the text that is embedded, and its time (µs)."""

    id: str
    item_id: str
    space: str
    fields: tuple[str, ...]
    text: str
    created_at: int
    content: str = ""  # the original text, for literal search


PassagesOf = Callable[[Sequence[tuple[str, str]]], Sequence[Passage]]  # of items, each a space and an id


class IndexSource(Protocol):
    """What the index of a corpus is made of."""

    def all_passages(self, snapshot: "Snapshot") -> Iterator[Sequence[Passage]]:
        """The passages of all items in a fixed order, some at a time."""

    def passages_of(self, snapshot: "Snapshot", items: Sequence[tuple[str, str]]) -> Sequence[Passage]:
        """The passages of these items, each given by its space and id."""

    def embed(self, passages: Sequence[Passage], snapshot: "Snapshot") -> Vectors | None:
        """The passages' vectors; None while the model does not work."""


class Snapshot(Protocol):
    """A consistent read-only view of the store; later writes are not visible in it."""

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Runs a portable SELECT with named parameters."""

    def candidates(self, index: Index, query: Query) -> Candidates:
        """The best passages by keyword and by vector that pass the filter."""

    def passages_of(self, index: Index, query: Query, item_ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of these items, where they are in the query's spaces and pass its filter."""

    def cosines(
        self, index: Index, query: Query, item_ids: Sequence[str], vectors: Sequence[Vector]
    ) -> dict[tuple[str, str], tuple[float, ...]]:
        """The cosines of the passages of these items in the query's spaces, by space and id: one for each vector."""

    def scan(self, index: Index, scan: Scan) -> tuple[list[ScanMatch], bool]:
        """Every passage that matches the scan and its filter, and whether vectors could be compared."""

    def frequencies(self, index: Index, spaces: tuple[str, ...] | None, terms: Sequence[str]) -> dict[str, int]:
        """Document frequency of each known term in the spaces; the key "" has the number of passages."""

    def cached_vectors(
        self, model_id: str, hashes: Sequence[bytes], spaces: Iterable[str] | None = None
    ) -> dict[bytes, Vector]:
        """The stored vectors of these text hashes; damaged ones are left out.

        Where spaces are given, a cluster is asked only for those.
        """

    def fingerprint(self, index: Index) -> str:
        """A hash of all derived data, equal for equal indexes on either engine."""


class Transaction(Snapshot, Protocol):
    """A snapshot that can also write; its changes become visible together or not at all."""

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Runs a portable statement and returns how many rows it changed."""

    def execute_many(self, sql: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Runs a portable statement once per parameter set."""

    def put(self, index: Index, passages: Sequence[Passage], vectors: Vectors | None) -> None:
        """Adds passages to the keyword index and, with vectors, to the vector index."""

    def remove(self, index: Index, space: str, item_ids: Iterable[str]) -> None:
        """Removes the passages of these items; their vectors stay cached in case the texts come back."""

    def forget(self, index: Index, items: Sequence[Passage], read_passages: PassagesOf) -> None:
        """Erases what removed passages left behind: cached vectors, and spellings that no other passage has."""

    def clear(self, index: Index) -> None:
        """Drops all derived data of a corpus, so that its items can be indexed again."""


class Store(Protocol):
    """A searchable database; thread-safe, and shared with other processes."""

    @property
    def location(self) -> str: ...

    @property
    def schemas(self) -> Sequence[Schema]:
        """The corpora it was opened for."""

    def snapshot(self) -> AbstractContextManager[Snapshot]: ...

    def transaction(
        self, *, durable: bool = True, spaces: Iterable[str] | None = None, patience: float | None = None
    ) -> AbstractContextManager[Transaction]:
        """Commits at the end, rolls back on any error; `durable` waits for the disk.

        Holds a write lock on the spaces (None: on all of them), so what is read there still holds at the commit. Where
        one writer keeps out all others (SQLite), StoreBusy is raised after `patience` seconds; None: the usual limit.
        """

    def rebuild(self, index: Index, source: IndexSource, report: Callable[[int], None]) -> None:
        """Makes the index of a corpus anew; the old one answers until then.

        `report` hears how many passages are done, and stops it by raising.
        """

    def missing_vectors(self, corpus: str, model_id: str, after: int, limit: int) -> list[tuple[int, str, str]]:
        """Number, space and item id of the next passages after `after` without a vector of this model."""

    def add_vectors(self, index: Index, passages: Sequence[Passage], vectors: Vectors) -> None:
        """Stores vectors of passages that are indexed already, or soon will be."""

    def activate_model(self, corpus: str, model_id: str) -> bool:
        """Switches vector search to this model once every passage has its vector; drops those of other models."""

    def counts(self, corpus: str) -> dict[str, int]:
        """Number of passages per space."""

    def erase_traces(self) -> bool:
        """Removes deleted data from the disk; False if a reader of an older snapshot still needs it."""

    def items_without_passages(self, corpus: str) -> list[tuple[str, str]]:
        """Space and id of every item that is not in the index; some have nothing that could be found."""

    def check_integrity(self) -> list[str]:
        """Lists every problem of the store; empty if there is none. What should be indexed, a corpus knows."""

    def salvage(self) -> AbstractContextManager[tuple["Store", Sequence[str]]]:
        """A store in which every row can be read: this one, or a copy without the damaged rows, and which these are."""

    def fingerprint(self, index: Index) -> str:
        """The fingerprint of the newest snapshot."""

    def size_bytes(self) -> int: ...

    def facts(self) -> dict[str, str | int]:
        """Engine, its version, schema version, and the bytes of the write-ahead log (`log`)."""

    def back_up(self, path: Path, *, force: bool = False) -> None:
        """Copies a snapshot to a file and verifies it, while others read and write."""

    def distribute(self) -> dict[str, str]:
        """Distributes the tables over a cluster, where the engine can; returns what was done by table."""

    def close(self) -> None: ...

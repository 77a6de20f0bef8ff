"""The `Embedder` protocol, and the caches in front of it."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from athand.text import text_hash
from athand.types import Calibration, Matrix, Vector, Vectors


class Embedder(Protocol):
    """Turns texts into float32 unit vectors, or zeros for an empty text."""

    @property
    def model_id(self) -> str:
        """The name under which vectors are stored; changes with the weights."""

    @property
    def dimensions(self) -> int: ...

    @property
    def calibration(self) -> Calibration: ...

    def embed_query(self, text: str) -> Vector:
        """The vector of a query, with the query prefix of the model if it has one."""

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""


def unit_rows(matrix: Matrix) -> Matrix:
    """Scales each row to length 1; rows that are zero or not finite become zero."""
    rows = np.asarray(matrix, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 1e-9)
    units: Matrix = np.divide(rows, lengths, out=np.zeros_like(rows), where=usable)
    return units


Lookup = Callable[[str, Sequence[bytes]], dict[bytes, Vector]]


def embed_texts(embedder: Embedder, texts: Iterable[str], lookup: Lookup | None) -> Vectors:
    """The vectors of all texts by hash; those that `lookup` finds are not embedded again."""
    by_hash = {text_hash(text): text for text in texts}
    known = lookup(embedder.model_id, list(by_hash)) if lookup else {}
    fresh = {address: text for address, text in by_hash.items() if address not in known}
    if fresh:
        rows = embedder.embed_passages(list(fresh.values()))
        known |= dict(zip(fresh, rows, strict=True))
    return Vectors(embedder.model_id, embedder.dimensions, known)


_CACHED_QUERIES = 16


class CachingEmbedder:
    """Caches the vectors of the last queries: a search over all corpora embeds its query once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vector = lru_cache(_CACHED_QUERIES)(embedder.embed_query)

    @property
    def model_id(self) -> str:
        """The name under which vectors are stored."""
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        return self._embedder.dimensions

    @property
    def calibration(self) -> Calibration:
        """What the cosines of the model mean."""
        return self._embedder.calibration

    def embed_query(self, text: str) -> Vector:
        """The vector of a query, read-only, as it is shared."""
        vector = self._vector(text)
        vector.flags.writeable = False
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""
        return self._embedder.embed_passages(texts)

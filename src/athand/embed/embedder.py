from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from athand.text import text_hash
from athand.types import Calibration, Matrix, Vector, Vectors


class Embedder(Protocol):
    """Turns texts into float32 rows of length 1, or all zeros where a text says nothing."""

    @property
    def model_id(self) -> str:
        """The name under which vectors of this model are stored; other weights, another name."""

    @property
    def dimensions(self) -> int: ...

    @property
    def calibration(self) -> Calibration: ...

    def embed_query(self, text: str) -> Vector:
        """The vector of a question, with the model's query prefix if it has one."""

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""


def unit_rows(matrix: Matrix) -> Matrix:
    """Scale each row to length 1; zero rows and rows that are not finite become zero, never NaN."""
    rows = np.asarray(matrix, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 1e-9)
    units: Matrix = np.divide(rows, lengths, out=np.zeros_like(rows), where=usable)
    return units


Lookup = Callable[[str, Sequence[bytes]], dict[bytes, Vector]]


def embed_texts(embedder: Embedder, texts: Iterable[str], lookup: Lookup | None) -> Vectors:
    """The vector of every text, by its address; `lookup` brings the known ones, None embeds all of them."""
    by_hash = {text_hash(text): text for text in texts}
    known = lookup(embedder.model_id, list(by_hash)) if lookup else {}
    fresh = {address: text for address, text in by_hash.items() if address not in known}
    if fresh:
        rows = embedder.embed_passages(list(fresh.values()))
        known |= dict(zip(fresh, rows, strict=True))
    return Vectors(embedder.model_id, embedder.dimensions, known)


_QUESTIONS = 16


class CachingEmbedder:
    """An embedder that knows the vectors of the last questions."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vector = lru_cache(_QUESTIONS)(embedder.embed_query)

    @property
    def model_id(self) -> str:
        """The name under which vectors of the model are stored."""
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        """How long its vectors are."""
        return self._embedder.dimensions

    @property
    def calibration(self) -> Calibration:
        """What its cosines mean."""
        return self._embedder.calibration

    def embed_query(self, text: str) -> Vector:
        """The vector of a question; many may have the same, so nobody may write into it."""
        vector = self._vector(text)
        vector.flags.writeable = False
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""
        return self._embedder.embed_passages(texts)

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from athand.types import Calibration, Matrix, Vector


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

"""One question goes to several corpora, and is embedded once."""

from collections.abc import Sequence
from functools import lru_cache

from athand.embed.base import Embedder
from athand.types import Calibration, Matrix, Vector

_QUESTIONS = 16


class Remembering:
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

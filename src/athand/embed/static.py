"""Static models, like the bundled one: sums of token vectors, with numpy and tokenizers only."""

import json
import re
import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from athand.embed.embedder import unit_rows
from athand.embed.models import ModelCard
from athand.errors import DataError
from athand.text import tokenize
from athand.types import Calibration, Matrix, Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCH = 256
# A longer text is cut: it hardly changes the sum, but a megabyte would cost a second.
MAX_CHARACTERS = 32_768
LETTERS_A_PIECE = 3
_CACHED_WORDS = 1 << 16
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]")
_WORDS = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")


class StaticEmbedder:
    """Embedding = unit(sum over distinct tokens of sqrt(count) x row); a token's weight is its row's length."""

    def __init__(self, folder: Path, card: ModelCard) -> None:
        tensors = load_safetensors(folder / "model.safetensors")
        self._packed = tensors["table"]
        self._scale = tensors["scale"]
        self._tokenizer = _load_tokenizer(folder / "tokenizer.json", card.max_tokens)
        self._cached = CachingTokenizer(self._tokenizer, card.max_tokens)
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        self._card = card

    @property
    def model_id(self) -> str:
        return self._card.name

    @property
    def dimensions(self) -> int:
        return self._card.dimensions

    @property
    def calibration(self) -> Calibration:
        assert self._card.calibration is not None  # noqa: S101 - every static model of the table has one
        return self._card.calibration

    def embed_query(self, text: str) -> Vector:
        if not self._has_known_words(text[:MAX_CHARACTERS]):
            return np.zeros(self.dimensions, np.float32)
        vector: Vector = self.embed_passages([text])[0]
        return vector

    def _has_known_words(self, text: str) -> bool:
        """Whether at least one word is not split into tiny tokens: the vector of made-up words is near to anything."""
        for word in tokenize(text):
            pieces = len(self._tokenizer.encode(word, add_special_tokens=False).ids)
            if pieces == 1 or len(word) >= LETTERS_A_PIECE * pieces:
                return True
        return False

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        batches = [self._embed(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        return np.concatenate(batches) if batches else np.zeros((0, self.dimensions), np.float32)

    def _embed(self, texts: Sequence[str]) -> Matrix:
        # Lone surrogates are dropped: the tokenizer would refuse the whole batch.
        cut = [text[:MAX_CHARACTERS].encode("utf-8", "ignore").decode() for text in texts]
        ids = [self._cached.encode(text) for text in cut]
        tokens, columns = np.unique(np.fromiter(chain.from_iterable(ids), np.int64), return_inverse=True)
        table = self._unpack_rows(tokens)
        # The distinct tokens of each text, text by text.
        places = np.repeat(np.arange(len(texts)), list(map(len, ids))) * len(tokens) + columns
        distinct, counts = np.unique(places, return_counts=True)
        weights, rows = np.sqrt(counts, dtype=np.float32), distinct % max(1, len(tokens))
        ends = np.searchsorted(distinct, np.arange(len(texts) + 1) * len(tokens)).tolist()
        sums = np.zeros((len(texts), self.dimensions), np.float32)
        for at, (start, end) in enumerate(pairwise(ends)):
            if end - start > 1 or (end > start and tokens[rows[start]] != self._unknown):
                sums[at] = weights[start:end] @ table[rows[start:end]]
        return unit_rows(sums)

    def _unpack_rows(self, tokens: npt.NDArray[np.int64]) -> Matrix:
        """Unpacks the rows of these tokens: two 4-bit values per byte, low half first, offset by 8."""
        packed = self._packed[tokens]
        values = np.stack([packed & 15, packed >> 4], axis=-1).reshape(-1, self.dimensions).astype(np.float32)
        rows: Matrix = (values - 8) * self._scale[tokens].astype(np.float32)[:, None]
        return rows


class CachingTokenizer:
    """Tokenizes word by word, with a cache of words."""

    def __init__(self, tokenizer: "Tokenizer", most: int) -> None:
        self._tokenizer = tokenizer
        self._most = most
        self._encode_word = lru_cache(_CACHED_WORDS)(self._encode)

    def encode(self, text: str) -> list[int]:
        """The token ids of a text; one with control characters, which the tokenizer drops, is encoded as a whole."""
        if _CONTROL.search(text):
            return self._encode(text)
        words = _WORDS.findall(text) if text.isascii() else text.split()
        return list(islice(chain.from_iterable(map(self._encode_word, words)), self._most))

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def _load_tokenizer(path: Path, max_tokens: int) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


_DTYPES = {"I8": np.int8, "U8": np.uint8, "F16": np.float16, "F32": np.float32, "I32": np.int32, "I64": np.int64}


def load_safetensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """All tensors of a safetensors file (a JSON header, then raw arrays), memory-mapped."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    try:
        size = struct.unpack("<Q", data[:8].tobytes())[0]
        header = json.loads(data[8 : 8 + size].tobytes())
        header.pop("__metadata__", None)
        return {name: _tensor(data[8 + size :], entry) for name, entry in header.items()}
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path.name} is not a safetensors file ({error}). Install the model again.") from error


def _tensor(body: np.ndarray[Any, Any], entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    start, end = entry["data_offsets"]
    return body[start:end].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])

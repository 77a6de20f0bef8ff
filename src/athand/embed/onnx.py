"""Transformer models run by ONNX Runtime."""

import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from athand.distribution import install_hint
from athand.embed.calibrate import measure_calibration
from athand.embed.embedder import unit_rows
from athand.embed.models import DEFAULT_MODEL, ModelCard
from athand.errors import DataError, InvalidInput, Unavailable
from athand.types import Calibration, Matrix, Vector

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

log = logging.getLogger("athand")

CPU = "CPUExecutionProvider"
GPUS = (
    "CUDAExecutionProvider",
    "ROCMExecutionProvider",
    "MIGraphXExecutionProvider",
    "DmlExecutionProvider",
    "CoreMLExecutionProvider",
)
# Every build for macOS lists it, GPU or not, and it recompiles for every new text length.
ONLY_ON_REQUEST = "CoreMLExecutionProvider"
# Beyond 2,048 tokens a batch leaves the processor's caches and gets slower per text.
BATCH_TOKENS = 2_048
WINDOW = 1_024
CHARACTERS_PER_TOKEN = 16


def choose_provider(device: str) -> str:
    """The execution provider for `auto`, `cpu` or `gpu`."""
    if device not in ("auto", "cpu", "gpu"):
        raise InvalidInput(f"No device named {device!r}. Use auto, cpu or gpu.")
    available = _import_runtime().get_available_providers()
    usable = [gpu for gpu in GPUS if gpu in available and (device == "gpu" or gpu != ONLY_ON_REQUEST)]
    if device == "cpu" or (device == "auto" and not usable):
        return CPU
    if not usable:
        raise InvalidInput(f"ONNX Runtime knows no GPU here, only {', '.join(available)}. Set the device to cpu.")
    return usable[0]


def find_weights(folder: Path, card: ModelCard) -> Path:
    """The ONNX file of a model: that of its card, else model.onnx at its usual places."""
    names = [name for name in card.sha256 if name.endswith(".onnx")] or ["onnx/model.onnx", "model.onnx"]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} holds no {' or '.join(names)}. Put the model there, or use --model {DEFAULT_MODEL}.")


class OnnxEmbedder:
    """Tokenizes, runs the graph in bounded batches and pools its last hidden state."""

    def __init__(self, folder: Path, card: ModelCard, device: str = "auto") -> None:
        self._card = card
        self._tokenizer = _load_tokenizer(folder / "tokenizer.json", card.max_tokens)
        self._padding = (self._tokenizer.padding or {}).get("pad_id", 0)
        self._tokenizer.no_padding()
        self._session = _open_session(find_weights(folder, card), device)
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._output = _choose_output(self._session.get_outputs(), folder)
        self._dimensions: int = self._run(self._tokenizer.encode_batch(["a first run shows the width"])).shape[1]

    @property
    def model_id(self) -> str:
        return self._card.name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @cached_property
    def calibration(self) -> Calibration:
        return self._card.calibration or measure_calibration(self)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([text], self._card.query_prefix)[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, "")

    def _embed(self, texts: Sequence[str], prefix: str) -> Matrix:
        rows = np.zeros((len(texts), self._dimensions), np.float32)
        nonempty = [index for index, text in enumerate(texts) if text.strip()]
        for start in range(0, len(nonempty), WINDOW):
            window = nonempty[start : start + WINDOW]
            encodings = self._encode([prefix + texts[index] for index in window])
            for batch in _make_batches(encodings, self._card.batch):
                rows[[window[place] for place in batch]] = self._run([encodings[place] for place in batch])
        return unit_rows(rows)

    def _encode(self, texts: list[str]) -> "list[Encoding]":
        limit = self._card.max_tokens * CHARACTERS_PER_TOKEN
        # Lone surrogates are legal in Python strings, but not in UTF-8.
        cleaned = [text[:limit].encode(errors="replace").decode() for text in texts]
        return self._tokenizer.encode_batch_fast(cleaned)

    def _run(self, encodings: "Sequence[Encoding]") -> Matrix:
        ids = np.full((len(encodings), max(map(len, encodings))), self._padding, np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            answer = self._session.run([self._output], {name: feed[name] for name in feed if name in self._inputs})[0]
        except Exception as error:  # ONNX Runtime's errors share no base class
            what = f"Model {self.model_id} cannot be run ({_first_line(error)})."
            raise Unavailable(f"{what} Use --model {DEFAULT_MODEL}.") from error
        return _pool(answer.astype(np.float32, copy=False), mask, self._card.pooling)


def _pool(hidden: npt.NDArray[np.float32], mask: npt.NDArray[np.int64], pooling: str) -> Matrix:
    """One row per text: the sentence vector of the graph, its CLS token, or the mean of its tokens."""
    if hidden.ndim == 2:
        return hidden
    if pooling == "cls":
        return hidden[:, 0]
    weights = mask[:, :, None].astype(np.float32)
    rows: Matrix = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return rows


def _make_batches(encodings: "Sequence[Encoding]", most: int) -> Iterator[list[int]]:
    """Batches of indexes of texts of similar length, bounded in number and in padded tokens."""
    batch: list[int] = []
    for place in sorted(range(len(encodings)), key=lambda place: len(encodings[place])):
        if batch and (len(batch) == most or (len(batch) + 1) * len(encodings[place]) > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _open_session(path: Path, device: str) -> Any:
    runtime, provider = _import_runtime(), choose_provider(device)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = runtime.InferenceSession(str(path), options, providers=list(dict.fromkeys((provider, CPU))))
    except Exception as error:  # ONNX Runtime's errors share no base class
        raise DataError(f"{path} is no usable ONNX file ({_first_line(error)}). Fetch or export it again.") from error
    if provider not in session.get_providers():
        if device == "gpu":
            raise InvalidInput(f"The GPU does not start ({provider}): check its driver, or set the device to cpu.")
        log.warning("The GPU does not start (%s); embedding on the processor.", provider)
    return session


def _choose_output(outputs: Sequence[Any], folder: Path) -> str:
    named = [each.name for each in outputs if each.name == "last_hidden_state"]
    names = named + [each.name for rank in (3, 2) for each in outputs if len(each.shape) == rank]
    if not names:
        raise DataError(f"The model in {folder} gives no token or sentence vectors. Export an embedding model.")
    return str(names[0])


def _load_tokenizer(path: Path, max_tokens: int) -> "Tokenizer":
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises plain Exception
        raise DataError(f"{path} is missing or no tokenizer ({_first_line(error)}). Fetch the model again.") from error
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _import_runtime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise Unavailable(f"Transformer models need ONNX Runtime. Run: {install_hint('onnx')}") from error
    return onnxruntime


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

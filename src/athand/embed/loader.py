"""Loads embedders by model name, folder or endpoint; `LazyEmbedder` does so on first use and survives failures."""

import json
import logging
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from athand.embed.calibrate import measure_calibration
from athand.embed.download import sha256_of
from athand.embed.embedder import CachingEmbedder, Embedder
from athand.embed.models import BUNDLED, DEFAULT_MODEL, MODELS, ModelCard, ModelOptions, default_cache
from athand.embed.static import load_safetensors
from athand.errors import DataError, InvalidInput, StoreError, Unavailable

log = logging.getLogger("athand")
_ENDPOINT = "openai:"
# How long to wait before loading a model that failed again.
RETRY_SECONDS = 30
_LOAD_LOCK = threading.Lock()  # two threads must not load the model twice

T = TypeVar("T")


def load_embedder(name: str = DEFAULT_MODEL, options: ModelOptions | None = None) -> Embedder:
    """Loads the embedder of a model name, folder or endpoint, or raises."""
    options = options or ModelOptions()
    if name in MODELS:
        return _load_named(MODELS[name], options)
    if name.startswith(_ENDPOINT):
        from athand.embed.remote import RemoteEmbedder

        return RemoteEmbedder(name.removeprefix(_ENDPOINT), options.base_url, options.api_key)
    if _is_folder(name):
        return load_folder(Path(name), options.device)
    raise _unknown_model(name)


def _load_named(card: ModelCard, options: ModelOptions) -> Embedder:
    if card.kind == "static":
        with _LOAD_LOCK:
            return _load_bundled(card.name)
    from athand.embed.download import fetch_model
    from athand.embed.onnx import CPU, OnnxEmbedder, choose_provider

    if choose_provider(options.device) == CPU:
        card = card.for_processor(platform.machine())
    return OnnxEmbedder(fetch_model(card, options.cache_dir or default_cache()), card, options.device)


@cache
def _load_bundled(name: str) -> Embedder:
    """The bundled model, shared by all stores of a process."""
    from athand.embed.static import StaticEmbedder

    return StaticEmbedder(BUNDLED, MODELS[name])


def _is_folder(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_dir()
    except OSError:  # longer than any file name
        return False


def _unknown_model(name: str) -> InvalidInput:
    from difflib import get_close_matches

    by_lower = {known.lower(): known for known in MODELS}
    close = get_close_matches(name.lower().rpartition("/")[2], by_lower, n=1)
    hint = f" Did you mean {by_lower[close[0]]}?" if close else ""
    return InvalidInput(
        f"No model named {name!r}.{hint} Known: {', '.join(MODELS)}; "
        f"also the path of a folder with an ONNX model, or {_ENDPOINT}<model> for an endpoint."
    )


class LazyEmbedder:
    """Loads the model on first use; while that fails, results are None and `problem` says why."""

    def __init__(self, name: str, options: ModelOptions | None = None) -> None:
        if name not in MODELS and not name.startswith(_ENDPOINT) and not _is_folder(name):
            raise _unknown_model(name)
        self.name = name
        self.problem: str | None = None
        self._options = options
        self._embedder: Embedder | None = None
        self._retry_at = 0.0
        self._lock = threading.Lock()

    def attempt(self, action: Callable[[Embedder], T]) -> T | None:
        """Runs the action with the embedder; None while the model does not work, which is retried after a while."""
        if time.monotonic() < self._retry_at:
            return None
        embedder = None
        try:
            embedder = self._load()
            result = action(embedder)
        except Unavailable as error:
            if embedder is not None and isinstance(error, StoreError):
                raise  # an error of the store, which the action may read, not of the model
            self._give_up(error)
            return None
        self.problem = None
        return result

    def pause(self, reason: str) -> None:
        """Stops using a model for a while, for example one that answers too slowly."""
        self._give_up(Unavailable(reason))

    def _give_up(self, error: Unavailable) -> None:
        if self.problem != str(error):
            log.warning("Searching by keyword only: %s", error)
        self.problem, self._retry_at = str(error), time.monotonic() + RETRY_SECONDS

    def _load(self) -> Embedder:
        with self._lock:
            self._embedder = self._embedder or CachingEmbedder(load_embedder(self.name, self._options))
            return self._embedder


PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


def load_folder(folder: Path, device: str) -> Embedder:
    """Loads an ONNX export or a static model from a folder; pickles are never opened."""
    for name in ("onnx/model.onnx", "model.onnx"):
        if (folder / name).is_file():
            return _load_onnx(folder, folder / name, device)
    if (folder / "model.safetensors").is_file():
        return _load_static(folder, folder / "model.safetensors")
    pickles = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
    found = f"; {', '.join(pickles)} could run code and is not opened" if pickles else ""
    raise InvalidInput(
        f"{folder} holds no weights as model.onnx or model.safetensors{found}. "
        f"Export the model with: optimum-cli export onnx --model {folder} {folder}-onnx"
    )


def _load_onnx(folder: Path, weights: Path, device: str) -> Embedder:
    from athand.embed.onnx import OnnxEmbedder

    prompts = _read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    card = ModelCard(
        name=_make_model_id(folder, weights),
        kind="onnx",
        dimensions=0,
        query_prefix=prompts.get("query", ""),
        pooling=_read_pooling_mode(folder / "1_Pooling" / "config.json"),
        max_tokens=_read_json(folder / "sentence_bert_config.json").get("max_seq_length") or 512,
    )
    return OnnxEmbedder(folder, card, device)


def _load_static(folder: Path, weights: Path) -> Embedder:
    from athand.embed.static import StaticEmbedder

    tensors = load_safetensors(weights)
    if not {"table", "scale"} <= tensors.keys():
        raise InvalidInput(
            f"{weights} is no table of token vectors, as static models are. "
            f"Export a transformer with: optimum-cli export onnx --model {folder} {folder}-onnx"
        )
    card = ModelCard(_make_model_id(folder, weights), "static", 2 * tensors["table"].shape[1])
    return StaticEmbedder(folder, replace(card, calibration=measure_calibration(StaticEmbedder(folder, card))))


def _make_model_id(folder: Path, weights: Path) -> str:
    """A model id of folder name and weights digest: other weights are another model."""
    # Large exports store the weights beside the graph, in model.onnx_data.
    digests = [sha256_of(part)[:12] for part in sorted(weights.parent.glob(f"{weights.name}*"))]
    return f"{folder.resolve().name}@{'+'.join(digests)}"


def _read_pooling_mode(path: Path) -> Literal["mean", "cls"]:
    modes = [mode for mode, used in _read_json(path).items() if mode.startswith("pooling_mode_") and used is True]
    if modes in ([], ["pooling_mode_mean_tokens"]):
        return "mean"
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    raise InvalidInput(f"{path} asks for {', '.join(modes)}; only mean and cls pooling are known. Use another model.")


def _read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is no file."""
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise DataError(f"{path} is not a JSON object ({error}). Fetch the model again.") from error

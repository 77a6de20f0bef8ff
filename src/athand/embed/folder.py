"""A folder the user names as a model: what kind it is, and how it wants to be read."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from athand.embed.base import Embedder
from athand.embed.calibrate import measure
from athand.embed.download import sha256_of
from athand.embed.models import ModelCard
from athand.embed.safetensors import load_safetensors
from athand.errors import DataError, InvalidInput

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


def load_folder(folder: Path, device: str) -> Embedder:
    """The embedder of an ONNX export or of a static table; pickles are never opened."""
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

    prompts = _read(folder / "config_sentence_transformers.json").get("prompts") or {}
    card = ModelCard(
        name=_identity(folder, weights),
        kind="onnx",
        dimensions=0,
        query_prefix=prompts.get("query", ""),
        pooling=_pooling(folder / "1_Pooling" / "config.json"),
        max_tokens=_read(folder / "sentence_bert_config.json").get("max_seq_length") or 512,
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
    card = ModelCard(_identity(folder, weights), "static", 2 * tensors["table"].shape[1])
    return StaticEmbedder(folder, replace(card, calibration=measure(StaticEmbedder(folder, card))))


def _identity(folder: Path, weights: Path) -> str:
    """Folder name and content: other weights under the same name are another model."""
    # Large exports keep their numbers beside the graph, in model.onnx_data.
    digests = [sha256_of(part)[:12] for part in sorted(weights.parent.glob(f"{weights.name}*"))]
    return f"{folder.resolve().name}@{'+'.join(digests)}"


def _pooling(path: Path) -> Literal["mean", "cls"]:
    modes = [mode for mode, used in _read(path).items() if mode.startswith("pooling_mode_") and used is True]
    if modes in ([], ["pooling_mode_mean_tokens"]):
        return "mean"
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    raise InvalidInput(f"{path} asks for {', '.join(modes)}; only mean and cls pooling are known. Use another model.")


def _read(path: Path) -> dict[str, Any]:
    """The JSON object in the file; a file that is not there says nothing."""
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise DataError(f"{path} is not a JSON object ({error}). Fetch the model again.") from error

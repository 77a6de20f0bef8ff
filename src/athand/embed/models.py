"""The model table: one card per named model, and which of them are on this machine."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from athand.distribution import DISTRIBUTION
from athand.types import Calibration, Noun

DEFAULT_MODEL = "athand-static-1"
BUNDLED = Path(__file__).parent / "athand_static_1"


@dataclass(frozen=True, slots=True)
class ModelCard:
    """How a named model is downloaded and run; a missing calibration is measured on first use."""

    name: str
    kind: Literal["static", "onnx"]
    dimensions: int
    calibration: Calibration | None = None
    query_prefix: str = ""
    pooling: Literal["mean", "cls"] = "mean"
    max_tokens: int = 512
    batch: int = 32
    repository: str = ""
    revision: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    int8: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def for_processor(self, machine: str) -> "ModelCard":
        """The card of the int8 edition for a processor (`platform.machine()`), if there is one; else this card."""
        if machine.lower() not in self.int8:
            return self
        file, digest = self.int8[machine.lower()]
        files = {file: digest, "tokenizer.json": self.sha256["tokenizer.json"]}
        # int8 activations are scaled per batch, so only batches of one text are reproducible.
        return replace(self, name=f"{self.name}-int8", sha256=files, int8={}, batch=1)


def _int8(x86: str, arm: str) -> dict[str, tuple[str, str]]:
    avx2, arm64 = ("onnx/model_quint8_avx2.onnx", x86), ("onnx/model_qint8_arm64.onnx", arm)
    return {"x86_64": avx2, "amd64": avx2, "arm64": arm64, "aarch64": arm64}


_CARDS = (
    ModelCard(DEFAULT_MODEL, "static", 384, Calibration(noise=0.048, relevant=0.402)),
    ModelCard(
        name="bge-small-en-v1.5",
        kind="onnx",
        dimensions=384,
        query_prefix="Represent this sentence for searching relevant passages: ",
        pooling="cls",
        repository="BAAI/bge-small-en-v1.5",
        revision="5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
        sha256={
            "onnx/model.onnx": "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35",
            "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        },
    ),
    ModelCard(
        name="all-MiniLM-L6-v2",
        kind="onnx",
        dimensions=384,
        calibration=Calibration(noise=0.043, relevant=0.452),
        max_tokens=256,
        repository="sentence-transformers/all-MiniLM-L6-v2",
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        sha256={
            "onnx/model.onnx": "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
        int8=_int8(
            x86="b941bf19f1f1283680f449fa6a7336bb5600bdcd5f84d10ddc5cd72218a0fd21",
            arm="4278337fd0ff3c68bfb6291042cad8ab363e1d9fbc43dcb499fe91c871902474",
        ),
    ),
    ModelCard(
        name="all-mpnet-base-v2",
        kind="onnx",
        dimensions=768,
        max_tokens=384,
        repository="sentence-transformers/all-mpnet-base-v2",
        revision="e8c3b32edf5434bc2275fc9bab85f82640a19130",
        sha256={
            "onnx/model.onnx": "74187b16d9c946fea252e120cfd7a12c5779d8b8b86838a2e4c56573c47941bd",
            "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        },
        int8=_int8(
            x86="aa5c27172d77bbd1cbae3628cbac4b26d7c12adabff25d2d4285d0f29159b237",
            arm="c392a9c545c7d4438a16fed8287a76a576b27eaf029c1c23bbf78a7a666d197f",
        ),
    ),
)

MODELS = {card.name: card for card in _CARDS}


_PACKAGES = ("onnxruntime", "huggingface_hub")


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How to load a model; the values come from the settings."""

    device: str = "auto"
    cache_dir: Path | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ModelState(Noun):
    """A model and its state: `needs` is what must be installed first, `bytes` the size of its files on this machine."""

    name: str
    kind: str
    dimensions: int | None
    bytes: int | None
    is_present: bool
    is_calibrated: bool
    is_current: bool
    needs: str | None = None


def default_cache() -> Path:
    """The default folder for downloaded models."""
    from platformdirs import user_cache_path

    return user_cache_path("athand") / "models"


def list_models(current: str, options: ModelOptions) -> list[ModelState]:
    """All models of the table, and the current one if it is not among them."""
    states = [_to_state(card, current, options.cache_dir or default_cache()) for card in MODELS.values()]
    if current not in MODELS:
        kind = "folder" if Path(current).is_dir() else "endpoint"
        states.append(ModelState(current, kind, None, None, kind == "folder", False, True))
    return states


def _to_state(card: ModelCard, current: str, cache: Path) -> ModelState:
    files = _list_files(card, cache)
    is_here = bool(files)
    missing = [] if card.kind == "static" else [name for name in _PACKAGES if find_spec(name) is None]
    return ModelState(
        name=card.name,
        kind=card.kind,
        dimensions=card.dimensions,
        bytes=sum(file.stat().st_size for file in files) if is_here else None,
        is_present=is_here,
        is_calibrated=card.calibration is not None,
        is_current=card.name == current,
        needs=f"{DISTRIBUTION}[onnx]" if missing else None,
    )


def _list_files(card: ModelCard, cache: Path) -> list[Path]:
    """The files of a model, of either edition, if all are here."""
    if card.kind == "static":
        return [file for file in BUNDLED.iterdir() if file.is_file()]
    for edition in (card.for_processor(platform.machine()), card):
        files = [cache / edition.name / name for name in edition.sha256]
        if all(file.is_file() for file in files):
            return files
    return []

"""Which models there are: on this machine already, to be fetched, or in need of another package."""

import platform
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from athand.embed.loader import BUNDLED, ModelOptions, default_cache
from athand.embed.models import MODELS, ModelCard
from athand.types import Noun

_PACKAGES = ("onnxruntime", "huggingface_hub")


@dataclass(frozen=True, slots=True)
class ModelState(Noun):
    """A model and how it stands: `needs` is what must be installed first, `bytes` what its files take here."""

    name: str
    kind: str
    dimensions: int | None
    bytes: int | None
    is_present: bool
    is_calibrated: bool
    is_current: bool
    needs: str | None = None


def list_models(current: str, options: ModelOptions) -> list[ModelState]:
    """All models of the table, and the current one if it is none of them."""
    states = [_state(card, current, options.cache_dir or default_cache()) for card in MODELS.values()]
    if current not in MODELS:
        kind = "folder" if Path(current).is_dir() else "endpoint"
        states.append(ModelState(current, kind, None, None, kind == "folder", False, True))
    return states


def _state(card: ModelCard, current: str, cache: Path) -> ModelState:
    files = _files(card, cache)
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
        needs="athand[onnx]" if missing else None,
    )


def _files(card: ModelCard, cache: Path) -> list[Path]:
    """The files of a model, of either edition, if they are all here."""
    if card.kind == "static":
        return [file for file in BUNDLED.iterdir() if file.is_file()]
    for edition in (card.for_processor(platform.machine()), card):
        files = [cache / edition.name / name for name in edition.sha256]
        if all(file.is_file() for file in files):
            return files
    return []

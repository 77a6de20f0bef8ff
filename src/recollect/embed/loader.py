"""From a model's name to an embedder, on first use and never fatally."""

import logging
import platform
import threading
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from recollect.embed.base import Embedder
from recollect.embed.models import DEFAULT_MODEL, MODELS, ModelCard
from recollect.errors import InvalidInput, Unavailable

log = logging.getLogger("recollect")
_BUNDLED = Path(__file__).parent / "recollect_static_1"
_ENDPOINT = "openai:"


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model is to be loaded; the values come from the settings."""

    device: str = "auto"
    cache_dir: Path | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)


def load_embedder(name: str = DEFAULT_MODEL, options: ModelOptions | None = None) -> Embedder:
    """The embedder of that name, folder or endpoint; raises where it cannot be had."""
    options = options or ModelOptions()
    if name in MODELS:
        return _load_named(MODELS[name], options)
    if name.startswith(_ENDPOINT):
        from recollect.embed.remote import RemoteEmbedder

        return RemoteEmbedder(name.removeprefix(_ENDPOINT), options.base_url, options.api_key)
    if _is_folder(name):
        from recollect.embed.folder import load_folder

        return load_folder(Path(name), options.device)
    raise _unknown(name)


def _load_named(card: ModelCard, options: ModelOptions) -> Embedder:
    if card.kind == "static":
        from recollect.embed.static import StaticEmbedder

        return StaticEmbedder(_BUNDLED, card)
    from recollect.embed.download import fetch_model
    from recollect.embed.onnx import CPU, OnnxEmbedder, choose_provider

    if choose_provider(options.device) == CPU:
        card = card.for_processor(platform.machine())
    return OnnxEmbedder(fetch_model(card, options.cache_dir or _default_cache()), card, options.device)


def _default_cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("recollect") / "models"


def _is_folder(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_dir()
    except OSError:  # longer than any file name
        return False


def _unknown(name: str) -> InvalidInput:
    by_lower = {known.lower(): known for known in MODELS}
    close = get_close_matches(name.lower().rpartition("/")[2], by_lower, n=1)
    hint = f" Did you mean {by_lower[close[0]]}?" if close else ""
    return InvalidInput(
        f"No model named {name!r}.{hint} Known: {', '.join(MODELS)}; "
        f"also the path of a folder with an ONNX model, or {_ENDPOINT}<model> for an endpoint."
    )


class LazyEmbedder:
    """Loads the model when it is first needed; without one, searches go on by keyword and say so."""

    def __init__(self, name: str, options: ModelOptions | None = None) -> None:
        self.name = name
        self.problem: str | None = None
        self._options = options
        self._embedder: Embedder | None = None
        self._lock = threading.Lock()

    def get(self) -> Embedder | None:
        """The loaded embedder, or None with the reason in `problem`."""
        with self._lock:
            if self._embedder is None and self.problem is None:
                try:
                    self._embedder = load_embedder(self.name, self._options)
                except (Unavailable, InvalidInput) as error:
                    self.problem = str(error)
                    log.warning("Searching by keyword only: %s", error)
            return self._embedder

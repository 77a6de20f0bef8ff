"""From a model's name to an embedder, on first use and never fatally."""

import logging
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TypeVar

from athand.embed.base import Embedder
from athand.embed.models import DEFAULT_MODEL, MODELS, ModelCard
from athand.embed.remembering import Remembering
from athand.errors import InvalidInput, StoreError, Unavailable

log = logging.getLogger("athand")
BUNDLED = Path(__file__).parent / "athand_static_1"
_ENDPOINT = "openai:"
# A model that could not be had is not asked for with every search.
RETRY_SECONDS = 30
_LOAD_LOCK = threading.Lock()  # two threads that open a store at the same moment do not load the model twice

T = TypeVar("T")


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
        from athand.embed.remote import RemoteEmbedder

        return RemoteEmbedder(name.removeprefix(_ENDPOINT), options.base_url, options.api_key)
    if _is_folder(name):
        from athand.embed.folder import load_folder

        return load_folder(Path(name), options.device)
    raise _unknown(name)


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
    """A model of the package: it never changes, so all stores of a process share one."""
    from athand.embed.static import StaticEmbedder

    return StaticEmbedder(BUNDLED, MODELS[name])


def default_cache() -> Path:
    """Where models are kept when nobody says where."""
    from platformdirs import user_cache_path

    return user_cache_path("athand") / "models"


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
    """Loads the model when it is first needed. What cannot be embedded now is None, and `problem` says why."""

    def __init__(self, name: str, options: ModelOptions | None = None) -> None:
        if name not in MODELS and not name.startswith(_ENDPOINT) and not _is_folder(name):
            raise _unknown(name)
        self.name = name
        self.problem: str | None = None
        self._options = options
        self._embedder: Embedder | None = None
        self._retry_at = 0.0
        self._lock = threading.Lock()

    def attempt(self, action: Callable[[Embedder], T]) -> T | None:
        """What the action makes of the embedder, or None while it does not work; tried again after a while."""
        if time.monotonic() < self._retry_at:
            return None
        embedder = None
        try:
            embedder = self._load()
            result = action(embedder)
        except Unavailable as error:
            if embedder is not None and isinstance(error, StoreError):
                raise  # the action may read the store, and its errors are not the model's
            self._give_up(error)
            return None
        self.problem = None
        return result

    def pause(self, reason: str) -> None:
        """Leave a model alone for a while that does not answer in time."""
        self._give_up(Unavailable(reason))

    def _give_up(self, error: Unavailable) -> None:
        if self.problem != str(error):
            log.warning("Searching by keyword only: %s", error)
        self.problem, self._retry_at = str(error), time.monotonic() + RETRY_SECONDS

    def _load(self) -> Embedder:
        with self._lock:
            self._embedder = self._embedder or Remembering(load_embedder(self.name, self._options))
            return self._embedder

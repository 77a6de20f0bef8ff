"""Texts in, vectors out: the models, how they are loaded, and the cache that spares them work."""

from recollect.embed.base import Embedder, unit_rows
from recollect.embed.cache import embed_texts
from recollect.embed.listing import ModelState, list_models
from recollect.embed.loader import LazyEmbedder, ModelOptions, load_embedder
from recollect.embed.models import DEFAULT_MODEL, MODELS, ModelCard

__all__ = [
    "DEFAULT_MODEL",
    "MODELS",
    "Embedder",
    "LazyEmbedder",
    "ModelCard",
    "ModelOptions",
    "ModelState",
    "embed_texts",
    "list_models",
    "load_embedder",
    "unit_rows",
]

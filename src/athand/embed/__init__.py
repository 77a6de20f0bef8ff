"""Texts in, vectors out: the models, how they are loaded, and the cache that spares them work."""

from athand.embed.base import Embedder, unit_rows
from athand.embed.cache import embed_texts
from athand.embed.listing import ModelState, list_models
from athand.embed.loader import LazyEmbedder, ModelOptions, load_embedder
from athand.embed.models import DEFAULT_MODEL, MODELS, ModelCard

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

"""Embedding models: the model table, loading, and caching."""

from athand.embed.embedder import Embedder, embed_texts, unit_rows
from athand.embed.loader import LazyEmbedder, load_embedder
from athand.embed.models import DEFAULT_MODEL, MODELS, ModelCard, ModelOptions, ModelState, list_models

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

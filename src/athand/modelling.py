"""The embedding models, as the settings choose them: which there are, and how to get one."""

from athand import embed
from athand.config import Settings
from athand.embed import LazyEmbedder, ModelOptions, ModelState

__all__ = ["ModelState", "fetch_model", "list_models", "model_options"]


def model_options(settings: Settings) -> ModelOptions:
    """How a model is loaded."""
    return ModelOptions(
        device=settings.device,
        cache_dir=settings.data_folder / "models",
        base_url=settings.embeddings_url,
        api_key=settings.embeddings_key,
    )


def list_models(settings: Settings, current: str | None = None) -> list[ModelState]:
    """The models there are; the current one is that of the settings, if none is named."""
    return embed.list_models(LazyEmbedder(current or settings.model).name, model_options(settings))


def fetch_model(settings: Settings, name: str) -> int:
    """Get a model's files, unless they are here, and try it; how many dimensions its vectors have."""
    return len(embed.load_embedder(name, model_options(settings)).embed_query("a question"))

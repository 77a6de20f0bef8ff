"""Unchanged text is never embedded twice."""

from collections.abc import Callable, Iterable, Sequence

from athand.embed.base import Embedder
from athand.text import text_hash
from athand.types import Vector, Vectors

Lookup = Callable[[str, Sequence[bytes]], dict[bytes, Vector]]


def embed_texts(embedder: Embedder, texts: Iterable[str], lookup: Lookup | None) -> Vectors:
    """The vector of every text, by its address; `lookup` brings the known ones, None embeds all of them."""
    by_hash = {text_hash(text): text for text in texts}
    known = lookup(embedder.model_id, list(by_hash)) if lookup else {}
    fresh = {address: text for address, text in by_hash.items() if address not in known}
    if fresh:
        rows = embedder.embed_passages(list(fresh.values()))
        known |= dict(zip(fresh, rows, strict=True))
    return Vectors(embedder.model_id, embedder.dimensions, known)

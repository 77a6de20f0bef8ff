"""Structural chunking: sections by kind of file (headings, definitions, keys), merged and split to a target length."""

from athand.documents.chunking.chunks import build_chunks, build_outline, choose_strategy
from athand.documents.extract import ChunkSpan, Extract, FileKind, Heading

__all__ = ["cut", "outline"]


def chunk_text(extract: Extract, kind: FileKind) -> list[ChunkSpan]:
    """The chunks of a text in order; without their overlaps they add up to the whole text."""
    return build_chunks(extract, choose_strategy(extract, kind)) if extract.text else []


def extract_outline(extract: Extract, kind: FileKind) -> list[Heading]:
    """The headings or definitions of a text, with level and line."""
    return build_outline(extract.text, choose_strategy(extract, kind)) if extract.text else []

"""Cutting a text into pieces by its structure: one plan per kind of file, one way to make pieces of it."""

from athand.documents.chunking.chunks import build_chunks, build_outline, choose_strategy
from athand.documents.extract import ChunkSpan, Extract, FileKind, Heading

__all__ = ["cut", "outline"]


def chunk_text(extract: Extract, kind: FileKind) -> list[ChunkSpan]:
    """The pieces of a text in order: together they are the whole text, overlaps removed."""
    return build_chunks(extract, choose_strategy(extract, kind)) if extract.text else []


def extract_outline(extract: Extract, kind: FileKind) -> list[Heading]:
    """The headings or definitions of a text, each with its level and line."""
    return build_outline(extract.text, choose_strategy(extract, kind)) if extract.text else []

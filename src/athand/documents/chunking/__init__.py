"""Structural chunking: sections by kind of file (headings, definitions, keys), merged and split to a target length."""

from athand.documents.chunking.chunks import chunk_text, extract_outline

__all__ = ["chunk_text", "extract_outline"]

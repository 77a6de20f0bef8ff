"""Cutting a text into pieces by its structure: one plan per kind of file, one way to make pieces of it."""

from athand.documents.chunking.pieces import headings, pieces
from athand.documents.chunking.plans import plan
from athand.documents.extract import Extract, Heading, Kind, Piece

__all__ = ["cut", "outline"]


def cut(extract: Extract, kind: Kind) -> list[Piece]:
    """The pieces of a text in order: together they are the whole text, overlaps removed."""
    return pieces(extract, plan(extract, kind)) if extract.text else []


def outline(extract: Extract, kind: Kind) -> list[Heading]:
    """The headings or definitions of a text, each with its level and line."""
    return headings(extract.text, plan(extract, kind)) if extract.text else []

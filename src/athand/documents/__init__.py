"""Documents: folders of files, found passage by passage."""

from athand.documents.model import (
    Chunk,
    Chunks,
    Directory,
    Document,
    DocumentData,
    DocumentHit,
    DocumentList,
    DocumentText,
    Folder,
    FoundDocument,
    FoundDocuments,
    Problem,
    SearchChunkResult,
    SearchContentResponse,
)
from athand.documents.service import Documents

__all__ = [
    "Chunk",
    "Chunks",
    "Directory",
    "Document",
    "DocumentData",
    "DocumentHit",
    "DocumentList",
    "DocumentText",
    "Documents",
    "Folder",
    "FoundDocument",
    "FoundDocuments",
    "Problem",
    "SearchChunkResult",
    "SearchContentResponse",
]

"""Documents: folders of files, found passage by passage."""

from recollect.documents.model import (
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
)
from recollect.documents.responses import SearchChunkResult, SearchContentResponse
from recollect.documents.service import Documents

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

"""Types of the documents corpus: folders, documents, chunks, hits and responses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from athand.documents.extract import Heading
from athand.types import Hit, Noun, Why, plain

STATES = ("pending", "indexing", "ready", "error", "offline", "imported")
_NO_REASON = Why({})


@dataclass(frozen=True, slots=True)
class Folder(Noun):
    """A registered folder: `state` is one of STATES, `reason` says why it is not ready."""

    folder_id: str
    path: str
    project: str | None
    state: str
    reason: str | None
    done: int
    total: int
    documents: int
    chunks: int
    problems: int
    skipped: Mapping[str, int]
    generation: int
    added_at: datetime
    indexed_at: datetime | None

    @property
    def progress(self) -> float:
        """Fraction of the current indexing that is done, from 0 to 1."""
        return self.done / self.total if self.state == "indexing" and self.total else float(self.state == "ready")

    def to_dict(self) -> dict[str, Any]:
        """The folder as plain values, with its progress."""
        return {**super(Folder, self).to_dict(), "progress": self.progress}


@dataclass(frozen=True, slots=True)
class Problem(Noun):
    """A file that could not be indexed, or only in part, and why."""

    folder_id: str
    document_id: str
    reason: str
    is_indexed: bool


@dataclass(frozen=True, slots=True)
class Document(Noun):
    """Metadata of an indexed file, without its content."""

    folder_id: str
    document_id: str
    title: str
    kind: str
    language: str
    size: int
    modified_at: datetime
    lines: int
    chunk_count: int
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk(Noun):
    """A slice of a document with its exact text. Lines count from 1, offsets are characters from 0."""

    chunk_id: str
    folder_id: str
    document_id: str
    chunk_index: int
    heading: tuple[str, ...]
    names: tuple[str, ...]
    place: str
    start_line: int
    end_line: int
    start_offset: int
    end_offset: int
    content: str

    @property
    def title(self) -> str:
        """Path and the last two headings."""
        return " > ".join((self.document_id, *self.heading[-2:]))


class Chunks(list[Chunk]):
    """Chunks ordered by document and position, with the freshness of their index."""

    def __init__(self, chunks: Iterable[Chunk] = (), *, freshness: Mapping[str, Any] | None = None) -> None:
        super().__init__(chunks)
        self.freshness = dict(freshness or {})

    def to_dict(self) -> dict[str, Any]:
        """All chunks as plain values."""
        return {"chunks": [chunk.to_dict() for chunk in self], "freshness": plain(self.freshness)}


@dataclass(frozen=True, slots=True)
class DocumentHit(Hit):
    """A chunk found by a search; `item` is the chunk, `keywords` are its document's key phrases."""

    keywords: tuple[str, ...] = ()
    highlights: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Continuation(Noun):
    """Whether there are more results, and the cursor of the next page."""

    has_more: bool
    next_token: str | None = None


@dataclass(frozen=True, slots=True)
class FoundDocument(Document):
    """A document that matches a query, without its content; `best_chunk_id` is its best chunk."""

    score: float = 0.0
    why: Why = _NO_REASON
    best_chunk_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The document as plain values, with the explanation of its score."""
        return {**super(FoundDocument, self).to_dict(), "why": self.why.to_dict()}


@dataclass(frozen=True, slots=True)
class FoundDocuments(Noun):
    """A page of the documents that match a query, best first."""

    documents: tuple[FoundDocument, ...]
    total_results: int
    continuation: Continuation
    freshness: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[FoundDocument]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)

    def to_dict(self) -> dict[str, Any]:
        """All documents and notes as plain values."""
        shown = super(FoundDocuments, self).to_dict()
        return {**shown, "documents": [each.to_dict() for each in self.documents]}


@dataclass(frozen=True, slots=True)
class Subfolder(Noun):
    """A directory inside a folder: number and size of its documents, and its key phrases."""

    path: str
    documents: int
    size: int
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Directory(Noun):
    """The contents of one directory of a folder."""

    folder_id: str
    path: str
    subfolders: tuple[Subfolder, ...]
    documents: tuple[Document, ...]
    freshness: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DocumentList(Noun):
    """A page of documents, ordered by path."""

    documents: tuple[Document, ...]
    total: int
    continuation: Continuation
    freshness: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True, slots=True)
class ChunkPreview(Noun):
    """A chunk in a list: its location and its beginning."""

    chunk_id: str
    chunk_index: int
    heading: tuple[str, ...]
    place: str
    start_line: int
    end_line: int
    preview: str


@dataclass(frozen=True, slots=True)
class DocumentData(Noun):
    """Metadata, outline and chunks of a document; the list of chunks is paged."""

    document: Document
    encoding: str
    characters: int
    outline: tuple[Heading, ...]
    chunks: tuple[ChunkPreview, ...]
    continuation: Continuation
    problem: str | None = None
    freshness: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DocumentText(Noun):
    """A window of a document's exact text: offsets are characters from 0, lines count from 1."""

    folder_id: str
    document_id: str
    text: str
    start_offset: int
    end_offset: int
    start_line: int
    end_line: int
    characters: int
    lines: int
    continuation: Continuation
    freshness: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SearchChunkResult(Noun):
    """One chunk found by `search_content`."""

    chunk_id: str
    document_id: str
    content: str
    relevance_score: float
    chunk_index: int
    document_keywords: tuple[str, ...]
    folder_id: str
    heading: tuple[str, ...]
    place: str
    start_line: int
    end_line: int
    why: Why

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, with the explanation of its score."""
        return {**super(SearchChunkResult, self).to_dict(), "why": self.why.to_dict()}


@dataclass(frozen=True, slots=True)
class SearchStatistics(Noun):
    """`total_results` counts the matches on all pages; the other fields describe this page."""

    total_results: int
    files_covered: tuple[str, ...]
    avg_relevance: float
    search_interpretation: str


@dataclass(frozen=True, slots=True)
class SearchData(Noun):
    """Results and statistics of a page."""

    results: tuple[SearchChunkResult, ...]
    statistics: SearchStatistics


@dataclass(frozen=True, slots=True)
class ResponseStatus(Noun):
    """Status of a response, always a success; errors are raised instead."""

    success: bool
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class NavigationHints(Noun):
    """Suggested next calls, with real ids, and related queries."""

    next_actions: tuple[str, ...]
    related_queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchContentResponse(Noun):
    """The response of `search_content`; `freshness` is the age of the index by folder."""

    data: SearchData
    status: ResponseStatus
    continuation: Continuation
    navigation_hints: NavigationHints
    freshness: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The response as plain values, each result with the explanation of its score."""
        shown = super(SearchContentResponse, self).to_dict()
        shown["data"]["results"] = [each.to_dict() for each in self.data.results]
        return shown

"""What `search_content` answers with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from athand.documents.model import Continuation
from athand.types import Noun, Why


@dataclass(frozen=True, slots=True)
class SearchChunkResult(Noun):
    """One chunk that `search_content` has found."""

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
        """The result as plain values, its reasons with their total."""
        return {**super(SearchChunkResult, self).to_dict(), "why": self.why.to_dict()}


@dataclass(frozen=True, slots=True)
class SearchStatistics(Noun):
    """`total_results` counts every match on all pages; the rest speaks of this page."""

    total_results: int
    files_covered: tuple[str, ...]
    avg_relevance: float
    search_interpretation: str


@dataclass(frozen=True, slots=True)
class SearchData(Noun):
    """What was found."""

    results: tuple[SearchChunkResult, ...]
    statistics: SearchStatistics


@dataclass(frozen=True, slots=True)
class ResponseStatus(Noun):
    """How it went; what cannot be answered is raised instead."""

    success: bool
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class NavigationHints(Noun):
    """What to do next: calls that exist, with real ids, and other things to ask."""

    next_actions: tuple[str, ...]
    related_queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchContentResponse(Noun):
    """The answer of `search_content`; `freshness` tells by folder how old its index is."""

    data: SearchData
    status: ResponseStatus
    continuation: Continuation
    navigation_hints: NavigationHints
    freshness: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as plain values, each result with its reasons."""
        shown = super(SearchContentResponse, self).to_dict()
        shown["data"]["results"] = [each.to_dict() for each in self.data.results]
        return shown

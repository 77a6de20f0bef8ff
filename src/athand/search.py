"""Federated search: one query to every corpus, the hits calibrated to one scale and merged."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from athand.calibration import calibrate_hit, is_worth_showing, to_total
from athand.documents import Documents
from athand.errors import InvalidInput
from athand.flows import Flows
from athand.inputs import check_fraction, check_limit, check_names
from athand.memories import Memories
from athand.text import fold, tokenize
from athand.tools import DEFAULT_CATALOGUE, MOST_TOOLS, Tools
from athand.types import Hit, Hits

CORPORA = ("memories", "documents", "tools", "flows")
COUNTED = 30  # hits per corpus for facets, however few are shown
CLOSEST = 3
# The facet of a corpus, and the attribute of its items.
_PLACES = {
    "memories": ("projects", "project"),
    "documents": ("folders", "folder_id"),
    "tools": ("servers", "server"),
    "flows": ("apps", "app"),
}

Names = str | Sequence[str] | None
Answers = Mapping[str, Hits[Any]]  # by corpus


@dataclass(frozen=True, slots=True)
class Corpora:
    """All that can be request."""

    memories: Memories
    documents: Documents
    tools: Tools
    flows: Flows


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The checked arguments of a search; the corpora check their own filters."""

    text: str
    corpora: tuple[str, ...]
    limit: int
    least: float | None
    project: str | None
    folder_id: Names
    catalogue: Names
    app: str | None

    @classmethod
    def check(
        cls,
        query: str,
        corpora: Sequence[str] | None,
        limit: int,
        min_score: float | None,
        project: str | None,
        folder_id: Names,
        catalogue: Names,
        app: str | None,
    ) -> "SearchRequest":
        """Checks the arguments; raises InvalidInput."""
        unknown = set(check_names("corpora", corpora or ())) - set(CORPORA)
        if unknown:
            raise InvalidInput(f"No corpus named {', '.join(sorted(unknown))}. Known: {', '.join(CORPORA)}.")
        wanted = corpora or default_corpora(project, folder_id, app)
        least = None if min_score is None else check_fraction("min_score", min_score)
        chosen = tuple(corpus for corpus in CORPORA if corpus in wanted)
        return cls(query, chosen, check_limit(limit), least, project, folder_id, catalogue, app)

    def least_total(self, corpus: str) -> float | None:
        """The least total that hits of a corpus need; None for the default of the corpus."""
        return None if self.least is None else min(1.0, max(0.0, to_total(corpus, self.least) - 1e-9))

    def accepts(self, hit: Hit) -> bool:
        """Whether a calibrated hit is good enough."""
        if self.least is None:
            return is_worth_showing(hit)
        return hit.score > 0 and hit.why.total >= self.least


def default_corpora(project: str | None, folder_id: Names, app: str | None) -> tuple[str, ...]:
    """The corpora to search when none is named: a folder has documents only, an app flows, a project no flows."""
    named = [corpus for corpus, filtered in (("documents", folder_id), ("flows", app)) if filtered is not None]
    if project is not None:
        return ("memories", "documents", "tools", *named)
    return tuple(named) or CORPORA


def search(of: Corpora, request: SearchRequest) -> Hits[Hit]:
    """The hits of all requested corpora that are good enough, best first."""
    deep = max(request.limit, COUNTED)
    found = {corpus: _SEARCHES[corpus](of, request, deep) for corpus in request.corpora}
    hits = sorted((calibrate_hit(hit) for answer in found.values() for hit in answer), key=lambda hit: -hit.why.total)
    fitting = [hit for hit in hits if request.accepts(hit)]
    return Hits(
        fitting[: request.limit],
        notes=dict.fromkeys(note for answer in found.values() for note in answer.notes),
        did_you_mean=dict(_corrections(found, fitting)),
        closest=() if fitting else _closest(found, hits),
        freshness={folder: age for answer in found.values() for folder, age in answer.freshness.items()},
        facets=_facets(fitting),
    )


def _memories(of: Corpora, request: SearchRequest, limit: int) -> Hits[Any]:
    least = request.least_total("memories")
    return of.memories.search(request.text, project=request.project, limit=limit, min_score=least, reinforce=False)


def _documents(of: Corpora, request: SearchRequest, limit: int) -> Hits[Any]:
    """One hit per document, with its best passage."""
    least = request.least_total("documents")
    if request.folder_id is None and request.project is not None:
        return of.documents.search_project(request.text, request.project, limit, min_score=least, once=True)
    return of.documents.search(request.text, folder_id=request.folder_id, limit=limit, min_score=least, once=True)


def _tools(of: Corpora, request: SearchRequest, limit: int) -> Hits[Any]:
    """Searches the catalogue of the project and the default one, if none is named."""
    catalogues = request.catalogue
    if catalogues is None and request.project is not None:
        catalogues = (request.project, DEFAULT_CATALOGUE)
    least = request.least_total("tools")
    return of.tools.search(request.text, limit=min(limit, MOST_TOOLS), threshold=least, catalogue=catalogues)


def _flows(of: Corpora, request: SearchRequest, limit: int) -> Hits[Any]:
    """One hit per session, with its best step."""
    least = request.least_total("flows")
    return of.flows.search(request.text, limit=limit, min_score=least, filters={"app": request.app}, once=True)


_SEARCHES: Mapping[str, Callable[[Corpora, SearchRequest, int], Hits[Any]]] = {
    "memories": _memories,
    "documents": _documents,
    "tools": _tools,
    "flows": _flows,
}


def _corrections(found: Answers, hits: Sequence[Hit]) -> Iterator[tuple[str, str]]:
    """Typo corrections, those of the best corpus first; without words that hits of other corpora contain."""
    told: set[str] = set()
    for corpus in sorted(found, key=lambda corpus: _place(corpus, hits)):
        for word, meant in found[corpus].did_you_mean.items():
            knowing = [hit for hit in hits if word not in found[hit.corpus].did_you_mean]
            if word not in told and not any(_has(hit, word) for hit in knowing):
                yield word, meant
            told.add(word)


def _place(corpus: str, hits: Sequence[Hit]) -> int:
    """The position of the first hit of a corpus."""
    return next((at for at, hit in enumerate(hits) if hit.corpus == corpus), len(hits))


def _has(hit: Hit, word: str) -> bool:
    """Whether a hit contains a word; the substring test first, as it is faster."""
    text = f"{hit.title} {hit.text}"
    return word in hit.why.matched or (word in fold(text) and word in tokenize(text))


def _closest(found: Answers, hits: Sequence[Hit]) -> list[str]:
    """The closest titles when nothing is good enough: rejected hits, then what the corpora suggest."""
    names = [*(hit.title for hit in hits), *(name for answer in found.values() for name in answer.closest)]
    return list(dict.fromkeys(names))[:CLOSEST]


def _facets(hits: Sequence[Hit]) -> dict[str, Any]:
    """Number of hits per corpus, and per project, folder, server or app."""
    numbers = Counter(hit.corpus for hit in hits)
    facets: dict[str, Any] = {corpus: numbers[corpus] for corpus in CORPORA if numbers[corpus]}
    for corpus in tuple(facets):
        name, place = _PLACES[corpus]
        facets[name] = dict(Counter(getattr(hit.item, place) for hit in hits if hit.corpus == corpus))
    return facets

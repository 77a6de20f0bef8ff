"""One question to every corpus: the answers on one scale, in one order, with all that is said about them."""

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
COUNTED = 30  # of each corpus at most, however few are shown
CLOSEST = 3
# What the items of a corpus belong to.
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
    """The arguments of a search, checked; the corpora check what only they understand."""

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
        """The same, or the error that names what is wrong."""
        unknown = set(check_names("corpora", corpora or ())) - set(CORPORA)
        if unknown:
            raise InvalidInput(f"No corpus named {', '.join(sorted(unknown))}. Known: {', '.join(CORPORA)}.")
        wanted = corpora or default_corpora(project, folder_id, app)
        least = None if min_score is None else check_fraction("min_score", min_score)
        chosen = tuple(corpus for corpus in CORPORA if corpus in wanted)
        return cls(query, chosen, check_limit(limit), least, project, folder_id, catalogue, app)

    def least_total(self, corpus: str) -> float | None:
        """The total of a corpus below which no hit can pass; None where it has a measure of its own."""
        return None if self.least is None else min(1.0, max(0.0, to_total(corpus, self.least) - 1e-9))

    def accepts(self, hit: Hit) -> bool:
        """Whether a hit, on the common scale, is good enough."""
        if self.least is None:
            return is_worth_showing(hit)
        return hit.score > 0 and hit.why.total >= self.least


def default_corpora(project: str | None, folder_id: Names, app: str | None) -> tuple[str, ...]:
    """What is searched when no corpus is named: a folder has documents only, an app flows, a project no flows."""
    named = [corpus for corpus, filtered in (("documents", folder_id), ("flows", app)) if filtered is not None]
    if project is not None:
        return ("memories", "documents", "tools", *named)
    return tuple(named) or CORPORA


def search(of: Corpora, request: SearchRequest) -> Hits[Hit]:
    """The hits of all corpora that were asked, best first; nothing where nothing fits."""
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
    """Each document once, with its best passage."""
    least = request.least_total("documents")
    if request.folder_id is None and request.project is not None:
        return of.documents.search_project(request.text, request.project, limit, min_score=least, once=True)
    return of.documents.search(request.text, folder_id=request.folder_id, limit=limit, min_score=least, once=True)


def _tools(of: Corpora, request: SearchRequest, limit: int) -> Hits[Any]:
    """The tools of a project's own catalogue, too, where no other is named."""
    catalogues = request.catalogue
    if catalogues is None and request.project is not None:
        catalogues = (request.project, DEFAULT_CATALOGUE)
    least = request.least_total("tools")
    return of.tools.search(request.text, limit=min(limit, MOST_TOOLS), threshold=least, catalogue=catalogues)


def _flows(of: Corpora, request: SearchRequest, limit: int) -> Hits[Any]:
    """Each session once, with its best step."""
    least = request.least_total("flows")
    return of.flows.search(request.text, limit=limit, min_score=least, filters={"app": request.app}, once=True)


_SEARCHES: Mapping[str, Callable[[Corpora, SearchRequest, int], Hits[Any]]] = {
    "memories": _memories,
    "documents": _documents,
    "tools": _tools,
    "flows": _flows,
}


def _corrections(found: Answers, hits: Sequence[Hit]) -> Iterator[tuple[str, str]]:
    """Words that were taken for others, as the best answer has it; no word that another corpus was found by."""
    told: set[str] = set()
    for corpus in sorted(found, key=lambda corpus: _place(corpus, hits)):
        for word, meant in found[corpus].did_you_mean.items():
            knowing = [hit for hit in hits if word not in found[hit.corpus].did_you_mean]
            if word not in told and not any(_has(hit, word) for hit in knowing):
                yield word, meant
            told.add(word)


def _place(corpus: str, hits: Sequence[Hit]) -> int:
    """Where in an answer a corpus is first."""
    return next((at for at, hit in enumerate(hits) if hit.corpus == corpus), len(hits))


def _has(hit: Hit, word: str) -> bool:
    """Whether a word is in a hit; most are not even part of a word in it, which is seen sooner."""
    text = f"{hit.title} {hit.text}"
    return word in hit.why.matched or (word in fold(text) and word in tokenize(text))


def _closest(found: Answers, hits: Sequence[Hit]) -> list[str]:
    """What came nearest, where nothing fits: the best of what was left out, then what the corpora name themselves."""
    names = [*(hit.title for hit in hits), *(name for answer in found.values() for name in answer.closest)]
    return list(dict.fromkeys(names))[:CLOSEST]


def _facets(hits: Sequence[Hit]) -> dict[str, Any]:
    """How many hits each corpus has, and within it each project, folder, server or app."""
    numbers = Counter(hit.corpus for hit in hits)
    facets: dict[str, Any] = {corpus: numbers[corpus] for corpus in CORPORA if numbers[corpus]}
    for corpus in tuple(facets):
        name, place = _PLACES[corpus]
        facets[name] = dict(Counter(getattr(hit.item, place) for hit in hits if hit.corpus == corpus))
    return facets

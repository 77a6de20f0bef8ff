"""Tool search: embeds the request, fetches candidates, scores them and builds hits."""

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from concurrent.futures import TimeoutError as EmbeddingTimeout
from dataclasses import dataclass, replace

import numpy as np

from athand.embed import Embedder
from athand.errors import InvalidInput
from athand.indexing import without_meaning
from athand.inputs import check_choice, check_fraction, check_limit, check_name, check_query
from athand.rank import Factor, KeywordQuery, Numbers, Part, clamp, explain, matched_words, order, prepare, totals
from athand.store import Snapshot
from athand.text import are_near, tokenize
from athand.tools import rows
from athand.tools.catalogue_index import CatalogueIndex, ToolKey
from athand.tools.context import ToolContext
from athand.tools.model import Tool, ToolHit
from athand.tools.query_embedding import embed_query
from athand.tools.scoring import INDEX, MOST, boost_named, combine, coverage, score_matches, server_factor
from athand.types import Candidate, Candidates, Filter, Hits, Query, Vector, Why

MODES = ("hybrid", "semantic", "keyword")
CANDIDATES = 32
CLOSEST = 3
_MOST_SENTENCES = 6  # sentences of a request that are embedded separately
_FEW_WORDS = 4  # up to so many words, the request is embedded with its typos corrected, too
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")


@dataclass(frozen=True, slots=True)
class ToolSearchRequest:
    """Checked arguments of a search."""

    text: str
    limit: int
    threshold: float
    alpha: float
    server: str | None
    spaces: tuple[str, ...] | None

    @classmethod
    def from_arguments(
        cls,
        context: ToolContext,
        query: object,
        limit: object,
        threshold: object,
        alpha: object,
        mode: object,
        server: object,
        spaces: tuple[str, ...] | None,
    ) -> "ToolSearchRequest":
        """Check the arguments; the settings are the defaults."""
        choices = context.choices
        shares = {"semantic": 1.0, "keyword": 0.0}
        if mode is not None and check_choice("mode", mode, MODES) in shares:
            if alpha is not None:
                raise InvalidInput("Give either mode or alpha: a mode is alpha 1 or 0.")
            alpha = shares[str(mode)]
        return cls(
            check_query(query),
            check_limit(choices.limit if limit is None else limit, MOST),
            check_fraction("threshold", choices.threshold if threshold is None else threshold),
            check_fraction("alpha", choices.alpha if alpha is None else alpha),
            None if server is None else check_name("server", server),
            spaces,
        )

    @property
    def filter(self) -> Filter:
        """The filter for searchable tools, and for the server if one is given."""
        if self.server is None:
            return rows.SEARCHED
        return Filter(f"{rows.SEARCHED.where} AND i.server = :server", {"server": self.server})


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """The vectors of the request: of the whole text, then of each sentence."""

    vectors: tuple[Vector, ...] = ()
    model_id: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredTools:
    """Candidates with the parts and factors of their scores."""

    candidates: Sequence[Candidate]
    parts: dict[str, Part]
    factors: dict[str, Factor]
    keywords: KeywordQuery
    edits: Sequence[int | None]

    @property
    def sides(self) -> dict[str, Part]:
        """The semantic and lexical parts only."""
        return {name: part for name, part in self.parts.items() if name in ("semantic", "lexical")}

    @property
    def keys(self) -> list[ToolKey]:
        """Catalogue and id of each candidate."""
        return [(each.space, each.id) for each in self.candidates]


def search(context: ToolContext, request: ToolSearchRequest, pool: Executor) -> Hits[ToolHit]:
    """The tools that match, best first; if there are none, the ids that came closest."""
    if not request.text.strip():
        return Hits()
    query_vectors, notes = _embed_request(context, request, request.text, pool)
    with context.store.snapshot() as snapshot:
        index = context.index_cache.get(snapshot, request.spaces, query_vectors.model_id)
        named = index.find_named(request.text)
        found, cosines = _fetch_candidates(snapshot, request, query_vectors, named)
        if found.corrections and len(tokenize(request.text)) <= _FEW_WORDS and query_vectors.vectors:
            corrected, _ = _embed_request(context, request, _correct(request.text, found), pool)
            query_vectors = replace(query_vectors, vectors=(*query_vectors.vectors, *corrected.vectors[:1]))
            found, cosines = _fetch_candidates(snapshot, request, query_vectors, named)
        scored = _score(request, found, cosines, index, named)
        hits, closest = _build_hits(snapshot, request, scored, index)
    if request.alpha > 0 and cosines is None and found.statistics.passages and not notes:
        notes = (without_meaning("Tools", context.embedder, context.when_uncovered, needed=False),)
    return Hits(hits, notes=notes, did_you_mean=found.corrections, closest=closest)


def _embed_request(
    context: ToolContext, request: ToolSearchRequest, text: str, pool: Executor
) -> tuple[QueryVectors, tuple[str, ...]]:
    """Embed the request; on a timeout, no vectors and a note."""
    if request.alpha == 0:
        return QueryVectors(), ()
    parts = [part for part in _SENTENCE_END.split(text.strip()) if len(tokenize(part)) > 1][:_MOST_SENTENCES]
    texts = [text, *parts] if len(parts) > 1 else [text]

    def embed(model: Embedder) -> QueryVectors:
        context.index_cache.load_probes(model)
        return QueryVectors(tuple(embed_query(model, each) for each in texts), model.model_id)

    seconds = context.choices.search_seconds
    try:
        return pool.submit(context.embedder.attempt, embed).result(seconds) or QueryVectors(), ()
    except EmbeddingTimeout:
        context.embedder.pause(f"the model {context.embedder.name} did not answer within {seconds:g} s.")
        return QueryVectors(), (f"Searched by keyword only: {context.embedder.problem}",)


def _correct(text: str, found: Candidates) -> str:
    """Correct the typos of a short request, where one edit is enough."""
    corrections = {word: right for word, right in found.corrections.items() if are_near(word, right)}
    return " ".join(corrections.get(word, word) for word in tokenize(text))


def _fetch_candidates(
    snapshot: Snapshot, request: ToolSearchRequest, query_vectors: QueryVectors, named: Iterable[ToolKey]
) -> tuple[Candidates, Numbers | None]:
    """Candidates for the request, each of its sentences and the names in it, with their cosines to each vector."""
    whole, *others = [_build_query(request, query_vectors, vector) for vector in query_vectors.vectors or (None,)]
    others = [replace(query, words=()) for query in others]
    found = snapshot.candidates(INDEX, whole)
    if query_vectors.vectors and not found.by_vector:  # vectors are still missing: search by keyword only
        return _fetch_candidates(snapshot, request, QueryVectors(), named)
    passages = {(each.space, each.id): each for each in found.passages}
    further = [(each.space, each.id) for query in others for each in snapshot.candidates(INDEX, query).passages]
    missing = sorted({id_ for space, id_ in (*further, *named) if (space, id_) not in passages})
    if missing:
        passages |= {(each.space, each.id): each for each in snapshot.passages_of(INDEX, whole, missing)}
    found = replace(found, passages=tuple(passages[key] for key in sorted(passages)))
    if not found.by_vector:
        return found, None
    own = [each.cosine or 0.0 for each in found.passages]
    return found, np.array([own, *(_get_cosines(snapshot, query, found) for query in others)])


def _build_query(request: ToolSearchRequest, query_vectors: QueryVectors, vector: Vector | None) -> Query:
    words = () if request.alpha == 1 and vector is not None else tuple(tokenize(request.text))
    most = max(CANDIDATES, request.limit)
    return Query(request.text, words, vector, query_vectors.model_id, request.spaces, request.filter, candidates=most)


def _get_cosines(snapshot: Snapshot, query: Query, found: Candidates) -> list[float]:
    """The cosine of every candidate to the vector of a query."""
    ids = sorted({each.id for each in found.passages})
    near = {(each.space, each.id): each.cosine for each in snapshot.passages_of(INDEX, query, ids)}
    return [near.get((each.space, each.id)) or 0.0 for each in found.passages]


def _score(
    request: ToolSearchRequest,
    found: Candidates,
    cosines: Numbers | None,
    index: CatalogueIndex,
    named: Mapping[ToolKey, int],
) -> ScoredTools:
    """Score all candidates."""
    keywords = prepare(found.words, found.statistics, INDEX.weights)
    edits = [named.get((each.space, each.id)) for each in found.passages]
    parts = score_matches(found.passages, cosines, keywords, index.noise, request.alpha)
    parts = boost_named(parts, coverage(found.passages, found.words), edits)
    factors = {"server": server_factor(found.passages, index.find_servers(request.text), edits)}
    return ScoredTools(found.passages, parts, factors, keywords, edits)


def _build_hits(
    snapshot: Snapshot, request: ToolSearchRequest, scored: ScoredTools, index: CatalogueIndex
) -> tuple[list[ToolHit], list[str]]:
    """The hits, or if there are none, the ids that came closest."""
    scores, keys = totals(scored.parts, scored.factors), scored.keys
    times, ids = [each.created_at for each in scored.candidates], [each.id for each in scored.candidates]
    best = [at for at in order(scores, times, ids, 0.0) if keys[at] not in index.hidden]
    fitting = [at for at in best if scores[at] >= request.threshold][: request.limit]
    if not fitting:
        near = [*index.find_similar(request.text, CLOSEST), *(keys[at] for at in best)]
        return [], list(dict.fromkeys(id_ for _, id_ in near))[:CLOSEST]
    tools = {(row[0], row[1]): row for row in rows.get_rows(snapshot, [keys[at] for at in fitting])}
    return [_to_hit(scored, at, rows.to_tool(tools[keys[at]])) for at in fitting], []


def _to_hit(scored: ScoredTools, at: int, tool: Tool) -> ToolHit:
    why = Why(
        explain(scored.parts, at, scored.factors), *matched_words([scored.candidates[at].fields], scored.keywords)
    )
    sides = {name: float(part.calibrated[at]) for name, part in scored.sides.items()}
    return ToolHit(
        id=tool.id,
        corpus="tools",
        score=clamp(why.total),
        title=f"{tool.server} · {tool.title or tool.name}",
        text=tool.description,
        why=why,
        item=tool,
        semantic=sides.get("semantic", 0.0),
        lexical=sides["lexical"],
        combined=float(combine(scored.sides)[at]),
        reason=_reason(sides, why.matched, scored.edits[at]),
    )


def _reason(sides: dict[str, float], matched: Sequence[str], wrong: int | None) -> str:
    """The match in words."""
    if wrong is not None:
        return "its name" if wrong == 0 else "its name, misspelt"
    meaning = sides.get("semantic", 0.0)
    means = "means the same" if meaning >= 0.75 else "means about that" if meaning >= 0.4 else ""
    words = f"has {', '.join(matched[:5])}" if matched else ""
    return "; ".join(filter(None, (means, words))) or "is a little like it"

"""Tool search: embeds the request and its phrases, fetches candidates for each, scores them and builds hits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from athand.corpus import Answer, Match, Ranking
from athand.embed import Embedder
from athand.errors import InvalidInput
from athand.inputs import check_choice, check_fraction, check_limit, check_name, check_query
from athand.rank import Numbers, Part, bm25_of, matched_words, order, totals
from athand.store import Snapshot
from athand.text import are_near, tokenize
from athand.tools import rows
from athand.tools.access import server_condition
from athand.tools.catalogue_index import CatalogueIndex, ToolKey
from athand.tools.context import ToolContext
from athand.tools.definitions import cut_definition
from athand.tools.masking import for_agents
from athand.tools.model import Tool, ToolHit
from athand.tools.query_embedding import embed_query
from athand.tools.request_phrases import split_request
from athand.tools.scoring import (
    MOST,
    add_boosts,
    arguments_factor,
    combine,
    coverage,
    fits,
    score_matches,
    server_factor,
)
from athand.types import Candidate, Candidates, Filter, Query, Vector, Why

MODES = ("hybrid", "semantic", "keyword")
_ALPHAS = {"semantic": 1.0, "keyword": 0.0}
CANDIDATES = 32
CLOSEST = 3
_FEW_WORDS = 4  # up to so many words, the request is embedded with its typos corrected, too


@dataclass(frozen=True, slots=True)
class ToolSearchRequest:
    """The checked arguments of a search, and the vectors of the phrases of its question."""

    query: Query
    phrases: tuple[Vector, ...]
    limit: int
    threshold: float
    alpha: float
    with_noise: bool  # the caller has named a threshold, and wants all that reaches it
    longest: int | None = None  # characters of all texts of the answer together; None: they are whole


ToolRanking = Ranking[ToolSearchRequest]


def make_request(
    context: ToolContext,
    query: object,
    *,
    limit: object = None,
    threshold: object = None,
    alpha: object = None,
    mode: object = None,
    server: object = None,
    spaces: tuple[str, ...] | None = None,
    longest: int | None = None,
) -> ToolSearchRequest:
    """Check the arguments of a search and embed its question; the settings are the defaults."""
    choices = context.choices
    if mode is not None and check_choice("mode", mode, MODES) in _ALPHAS:
        if alpha is not None:
            raise InvalidInput("Give either mode or alpha: a mode is alpha 1 or 0.")
        alpha = _ALPHAS[str(mode)]
    text = check_query(query)
    limit = check_limit(choices.limit if limit is None else limit, MOST)
    with_noise = threshold is not None
    threshold = check_fraction("threshold", choices.threshold if threshold is None else threshold)
    alpha = check_fraction("alpha", choices.alpha if alpha is None else alpha)
    server = None if server is None else check_name("server", server)
    texts = [text, *split_request(text)] if alpha > 0 else []
    vectors, model_id = _embed_texts(context, texts)
    made = Query(
        text=text,
        words=() if alpha == 1 and vectors else tuple(tokenize(text)),
        vector=vectors[0] if vectors else None,
        model_id=model_id,
        spaces=spaces,
        filter=_build_filter(server),
        candidates=max(CANDIDATES, limit),
        mode="hybrid" if alpha > 0 else "keyword",
    )
    return ToolSearchRequest(made, vectors[1:], limit, threshold, alpha, with_noise, longest)


def _build_filter(server: str | None) -> Filter:
    """The filter for searchable tools that may be reached, and for the server if one is given."""
    within, values = server_condition("i.server")
    own = {} if server is None else {"server": server}
    return Filter(f"{rows.SEARCHED.where}{within}{' AND i.server = :server' if own else ''}", {**values, **own})


def _embed_texts(context: ToolContext, texts: Sequence[str]) -> tuple[tuple[Vector, ...], str | None]:
    """The vectors of texts and the model; nothing while it does not work, or does not answer in time."""

    def embed(model: Embedder) -> tuple[tuple[Vector, ...], str]:
        context.index_cache.load_probes(model)
        return tuple(embed_query(model, text) for text in texts), model.model_id

    if not any(text.strip() for text in texts):
        return (), None
    seconds = context.choices.search_seconds
    try:
        return context.embedding_pool.submit(context.embedder.attempt, embed).result(seconds) or ((), None)
    except TimeoutError:
        context.embedder.pause(f"the model {context.embedder.name} did not answer within {seconds:g} s.")
        return (), None


def rank(context: ToolContext, snapshot: Snapshot, request: ToolSearchRequest) -> ToolRanking:
    """The tools that are good enough, best first; if there are none, the ids that came closest."""
    query = request.query
    index = context.index_cache.get(snapshot, query.spaces, query.model_id)
    named = index.find_named(query.text)
    found = snapshot.candidates(context.index, query)
    if not found.by_vector and not query.words:  # the vectors are still being made
        query = replace(query, words=tuple(tokenize(query.text)))
        found = snapshot.candidates(context.index, query)
    vectors = _other_vectors(context, request, found) if found.by_vector else ()
    others = [replace(query, words=(), vector=vector) for vector in vectors]
    found = _add_candidates(context, snapshot, found, query, others, named)
    cosines = _get_cosines(context, snapshot, found, query, vectors) if found.by_vector else None
    return _rank_candidates(request, context.ask(snapshot, query, found), cosines, index, named)


def _other_vectors(context: ToolContext, request: ToolSearchRequest, found: Candidates) -> tuple[Vector, ...]:
    """The vectors of the phrases, and of a short request with its typos corrected where one edit is enough."""
    words = tokenize(request.query.text)
    if not found.corrections or len(words) > _FEW_WORDS:
        return request.phrases
    corrections = {word: right for word, right in found.corrections.items() if are_near(word, right)}
    corrected, _ = _embed_texts(context, [" ".join(corrections.get(word, word) for word in words)])
    return (*request.phrases, *corrected)


def _add_candidates(
    context: ToolContext,
    snapshot: Snapshot,
    found: Candidates,
    query: Query,
    others: Sequence[Query],
    named: Iterable[ToolKey],
) -> Candidates:
    """The candidates with those of other queries and the named tools, ordered by catalogue and id."""
    passages = {_key(each): each for each in found.passages}
    scores = {_key(found.passages[at]): score for at, score in found.bm25.items()}
    for other in others:
        passages = {_key(each): each for each in snapshot.candidates(context.index, other).passages} | passages
    missing = sorted({id_ for space, id_ in named if (space, id_) not in passages})
    if missing:
        passages |= {_key(each): each for each in snapshot.passages_of(context.index, query, missing)}
    keys = sorted(passages)
    known = {at: scores[key] for at, key in enumerate(keys) if key in scores}
    return replace(found, passages=tuple(passages[key] for key in keys), bm25=known)


def _get_cosines(
    context: ToolContext, snapshot: Snapshot, found: Candidates, query: Query, others: Sequence[Vector]
) -> Numbers:
    """The cosines of all candidates, a row for each vector: that of the whole request, then the others."""
    if not others or query.vector is None:
        return np.array([[each.cosine or 0.0 for each in found.passages]])
    vectors, ids = (query.vector, *others), sorted({each.id for each in found.passages})
    known, none = snapshot.cosines(context.index, query, ids, vectors), (0.0,) * len(vectors)
    return np.array([known.get(_key(each), none) for each in found.passages]).reshape(-1, len(vectors)).T


def _key(candidate: Candidate) -> ToolKey:
    return candidate.space, candidate.id


def _rank_candidates(
    request: ToolSearchRequest,
    answer: Answer,
    cosines: Numbers | None,
    index: CatalogueIndex,
    named: Mapping[ToolKey, int],
) -> ToolRanking:
    """Score the candidates and order them; those below the threshold and those of hidden servers are left out."""
    found, text = answer.found, request.query.text
    candidates = found.passages
    typos = [named.get(_key(each)) for each in candidates]
    parts = score_matches(bm25_of(found, answer.keywords), cosines, answer.keywords, index.noise, request.alpha)
    parts = add_boosts(parts, coverage(candidates, found.words), typos)
    factors = {
        "server": server_factor(candidates, index.find_servers(text), typos),
        "arguments": arguments_factor([index.required.get(_key(each), 0) for each in candidates], text, typos),
    }
    scores = totals(parts, factors)
    times, ids = [each.created_at for each in candidates], [each.id for each in candidates]
    best = [row for row in order(scores, times, ids, 0.0) if _key(candidates[row]) not in index.hidden]
    matches = [Match(candidates[row], float(scores[row]), row) for row in best if scores[row] >= request.threshold]
    if not (request.with_noise or _some_fits(matches, parts, answer)):
        matches = []
    closest: list[str] = []
    if not matches:
        near = [*index.find_similar(text, CLOSEST), *(_key(candidates[row]) for row in best)]
        closest = list(dict.fromkeys(id_ for _, id_ in near))[:CLOSEST]
    return Ranking(request, matches, parts, factors, answer, closest)


def _some_fits(matches: Sequence[Match], parts: Mapping[str, Part], answer: Answer) -> bool:
    """Whether any of the tools fits; else all of them are noise."""
    if "semantic" not in parts:
        return True
    matched = matched_words([match.candidate.fields for match in matches], answer.keywords)
    meanings, names = parts["semantic"].calibrated, parts["name"].raw
    return any(
        names[match.row] > 0 or fits(len(words), len(answer.found.words), float(meanings[match.row]))
        for match, words in zip(matches, matched, strict=True)
    )


def to_hits(snapshot: Snapshot, ranking: ToolRanking, matches: Sequence[Match]) -> list[ToolHit]:
    """The hits with the tools as they were approved, and why they fit."""
    tools = {(row[0], row[1]): row for row in rows.get_rows(snapshot, [_key(each.candidate) for each in matches])}
    sides = {name: part for name, part in ranking.parts.items() if name in ("semantic", "lexical")}
    combined = combine(sides)
    request = ranking.request
    longest = None if request.longest is None else request.longest // (2 * request.limit)  # in text and in item
    return [
        _to_hit(
            cut_definition(for_agents(rows.to_tool(tools[_key(match.candidate)])), longest),
            score,
            why,
            {name: float(part.calibrated[match.row]) for name, part in sides.items()},
            combined=float(combined[match.row]),
            named=float(ranking.parts["name"].raw[match.row]),
        )
        for match, score, why in zip(matches, ranking.scores(matches), ranking.reasons(matches), strict=True)
    ]


def _to_hit(
    tool: Tool, score: float, why: Why, sides: Mapping[str, float], *, combined: float, named: float
) -> ToolHit:
    return ToolHit(
        id=tool.id,
        corpus="tools",
        score=score,
        title=f"{tool.server} · {tool.title or tool.name}" + (f" ({tool.notice})" if tool.notice else ""),
        text=tool.description,
        why=why,
        item=tool,
        semantic=sides.get("semantic", 0.0),
        lexical=sides["lexical"],
        combined=combined,
        reason=_to_reason(sides, why.matched, named),
    )


def _to_reason(sides: Mapping[str, float], matched: Sequence[str], named: float) -> str:
    """The match in words; `named` is 1 for a tool whose name is the request, less if the name is misspelt."""
    if named > 0:
        return "its name" if named >= 1 else "its name, misspelt"
    meaning = sides.get("semantic", 0.0)
    means = "means the same" if meaning >= 0.75 else "means about that" if meaning >= 0.4 else ""
    words = f"has {', '.join(matched[:5])}" if matched else ""
    return "; ".join(filter(None, (means, words))) or "is a little like it"

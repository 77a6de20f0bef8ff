"""Exhaustive search of `search_content`: every chunk near the concepts or with the exact terms, in a total order."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from athand.bounded_cache import BoundedCache
from athand.cancellation import until_cancelled
from athand.documents.content_request import ContentSearchRequest, Position
from athand.documents.context import DocumentContext
from athand.documents.globs import path_filter
from athand.documents.scoring import INDEX
from athand.rank import Numbers, calibrate_cosine
from athand.store import Snapshot
from athand.text import tokenize
from athand.types import Calibration, Filter, Scan, ScanMatch, Signal, Vector, Why

# Chunks under a heading of one word have a median cosine of .31 to it; under a phrase, of .40.
ONE_WORD_FACTOR = 0.77
BOOST = 1.5  # factor per distinct exact term in a chunk
_MAX_SEARCHES, _MAX_CACHED = 1_000, 50_000  # cached searches, and the matches of all of them
_CODE = re.compile(r"_|::|->|\(\)")
_DOTTED_WORDS = re.compile(r"\w+(?:[./]\w+)+")

Generations = tuple[tuple[str, int], ...]  # folder id and generation of its index


@dataclass(frozen=True, slots=True)
class TermMatch:
    """Exact terms in one chunk: which are present, occurrences as whole words, and occurrences at all."""

    terms: tuple[str, ...]
    whole: int
    occurrences: int


_NO_TERMS = TermMatch((), 0, 0)


@dataclass(frozen=True, slots=True)
class ConceptVectors:
    """The embedded concepts, each with the calibration of its cosines."""

    vectors: tuple[Vector, ...]
    model_id: str
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class ContentMatch:
    """A matching chunk: its sort key among all matches, its semantic score and its exact terms."""

    position: Position
    semantic: float
    exact: TermMatch

    @property
    def total(self) -> float:
        """The unclamped score."""
        return -self.position[0]

    @property
    def chunk_key(self) -> tuple[str, str]:
        """Folder and id of the chunk."""
        return self.position[3], self.position[6]

    @property
    def document_key(self) -> tuple[str, str]:
        """Folder and path of the document."""
        return self.position[3], self.position[4]


@dataclass(frozen=True, slots=True)
class ContentMatches:
    """All matches, best first; `by_meaning` is False where concepts could not be compared."""

    ordered: tuple[ContentMatch, ...]
    by_meaning: bool

    def offset_after(self, position: Position | None) -> int:
        """Index of the first match after a position; 0 without one."""
        return 0 if position is None else bisect_right(self.ordered, tuple(position), key=lambda match: match.position)


# By request, generations and model: a following page need not search again while the index is unchanged.
ContentSearchCache: TypeAlias = BoundedCache[tuple[Any, ...], ContentMatches]


def create_cache() -> ContentSearchCache:
    """An empty cache of searches, bounded by the number of their matches."""
    return BoundedCache(_MAX_SEARCHES, max_size=_MAX_CACHED, size_of=lambda matches: len(matches.ordered))


def search_matches(
    context: DocumentContext,
    request: ContentSearchRequest,
    snapshot: Snapshot,
    generations: Generations,
    cache: ContentSearchCache,
) -> ContentMatches:
    """All matches of a request in the folders of `generations`, from the cache where it has them."""
    model_id = context.embedder.attempt(lambda model: model.model_id) if request.concepts else None
    key = (request.query_key, generations, model_id)
    cached = cache.get(key)
    if cached is not None:
        return cached
    spaces = tuple(folder_id for folder_id, _ in generations)
    path = path_filter(request.path)
    matches = find_matches(snapshot, request, spaces, _embed_concepts(context, request), path)
    if matches.by_meaning:
        if len(matches.ordered) <= _MAX_CACHED:
            cache.put(key, matches)
        return matches
    if not snapshot.frequencies(INDEX, spaces, ())[""]:
        return ContentMatches((), True)  # an empty index is not a degraded one
    if not request.terms:
        return matches
    # Without vectors the exact terms alone decide; not cached, since adding vectors changes no generation.
    by_terms = replace(request.query_key, concepts=(), min_score=0.0)
    return replace(find_matches(snapshot, by_terms, spaces, None, path), by_meaning=False)


def _embed_concepts(context: DocumentContext, request: ContentSearchRequest) -> ConceptVectors | None:
    """The concepts as vectors; None without concepts, or while the model does not work."""
    if not request.concepts:
        return None
    return context.embedder.attempt(
        lambda model: ConceptVectors(
            tuple(model.embed_query(concept) for concept in request.concepts),
            model.model_id,
            tuple(concept_calibration(concept, model.calibration) for concept in request.concepts),
        )
    )


def concept_calibration(concept: str, calibration: Calibration) -> Calibration:
    """The calibration for a concept: cosines of a single word are lower than those of a phrase."""
    is_word = len(tokenize(concept)) == 1
    return replace(calibration, relevant=ONE_WORD_FACTOR * calibration.relevant) if is_word else calibration


def find_matches(
    snapshot: Snapshot,
    request: ContentSearchRequest,
    spaces: tuple[str, ...],
    concepts: ConceptVectors | None,
    path: Filter,
) -> ContentMatches:
    """Scans all passages and returns every match, best first."""
    scan = Scan(
        concepts.vectors if concepts else (),
        _min_cosine(request.min_score, concepts.calibrations) if concepts else 0.0,
        _min_cosine_with_terms(request, concepts.calibrations) if concepts else -1.0,
        request.terms,
        concepts.model_id if concepts else None,
        spaces,
        path,
    )
    scanned, by_vector = snapshot.scan(INDEX, scan)
    semantic = _semantic_scores(scanned, concepts if by_vector else None)
    ordered = sorted(
        (
            match
            for each, score in zip(until_cancelled(scanned), semantic, strict=True)
            if (match := _to_match(each, score, request))
        ),
        key=lambda match: match.position,
    )
    return ContentMatches(tuple(ordered), by_vector or not request.concepts)


def _to_match(passage: ScanMatch, semantic: float, request: ContentSearchRequest) -> ContentMatch | None:
    """The passage as a match; None below the minimum score."""
    exact = find_terms(passage.content, request.terms) if passage.content is not None else _NO_TERMS
    count = len(exact.terms)
    total = semantic * term_boost(count) if request.concepts else terms_only_score(count)
    # With min_score 0 a chunk must still match something; one exact term is enough, whatever its semantic score.
    if total < request.min_score or not (total or count):
        return None
    position = (
        *(-total, -exact.whole, -exact.occurrences),
        *(passage.space, passage.item_id, passage.position, passage.id),
    )
    return ContentMatch(position, semantic, exact)


def _min_cosine(score: float, calibrations: Sequence[Calibration]) -> float:
    """The lowest cosine with which any concept reaches a score: the inverse of the calibration."""
    return min(float(np.interp(score, (0.0, 0.5, 1.0), (each.noise, each.relevant, 1.0))) for each in calibrations)


def _min_cosine_with_terms(request: ContentSearchRequest, calibrations: Sequence[Calibration]) -> float:
    """The lowest cosine with which a chunk that has all exact terms reaches the minimum score."""
    score = request.min_score / term_boost(len(request.terms))
    return _min_cosine(score, calibrations) if request.min_score > 0 else -1.0


def _semantic_scores(scanned: Sequence[ScanMatch], concepts: ConceptVectors | None) -> list[float]:
    """The semantic score of each passage for all concepts together."""
    if concepts is None or not scanned:
        return [0.0] * len(scanned)
    cosines = np.nan_to_num(np.array([each.cosines for each in scanned], float))
    columns = [calibrate_cosine(column, each) for column, each in zip(cosines.T, concepts.calibrations, strict=True)]
    scores: list[float] = combine_concepts(np.column_stack(columns)).tolist()
    return scores


def combine_concepts(scores: Numbers) -> Numbers:
    """One score per chunk of several concepts: the maximum (the mean has half the recall and lower precision)."""
    best: Numbers = scores.max(axis=1)
    return best


def explain_match(match: ContentMatch, *, by_meaning: bool) -> Why:
    """The parts of a score: the semantic score and the boost of exact terms, or exact terms alone."""
    present = match.exact.terms
    if not by_meaning:
        score = terms_only_score(len(present))
        return Why({"exact": Signal(len(present), score, 1.0, score)}, present)
    boost = term_boost(len(present))
    signals = {"semantic": Signal(match.semantic, match.semantic, 1.0, match.semantic)}
    if present:
        signals["exact"] = Signal(len(present), boost, boost, match.semantic * boost - match.semantic)
    return Why(signals, present)


# Exact terms


def is_case_sensitive(term: str) -> bool:
    """Whether a term is code, by camel case, an underscore or other punctuation; words and acronyms are not."""
    has_hump = any(one.islower() and next_.isupper() for one, next_ in pairwise(term))
    if has_hump or _CODE.search(term):
        return True
    return any(map(_is_dotted_code, _DOTTED_WORDS.findall(term)))


def _is_dotted_code(dotted: str) -> bool:
    """`Foo.bar` and `src/App.tsx` are code; `node.js`, `CI/CD` and `Input/Output` are not."""
    parts = re.split(r"[./]", dotted)
    capitalised = [part[:1].isupper() and part[1:].islower() for part in parts]
    return any(capitalised) and ("." in dotted or not all(capitalised))


def find_terms(content: str, terms: Sequence[str]) -> TermMatch:
    """The terms that a text contains literally, with their numbers of occurrences."""
    folded = _fold_case(content)
    present, whole, occurrences = [], 0, 0
    for term in terms:
        is_exact, needle = _search_form(term)
        text = content if is_exact else folded
        count = text.count(needle)
        if count:
            present.append(term)
            occurrences += count
            whole += _count_whole_words(text, needle)
    return TermMatch(tuple(present), whole, occurrences)


def _fold_case(text: str) -> str:
    """The text in lower case, with one form of sigma. Unlike casefold, no letter becomes two: `ß` is not `ss`."""
    return text.lower().replace("\u03c2", "\u03c3")


@lru_cache(maxsize=1024)
def _search_form(term: str) -> tuple[bool, str]:
    """Whether a term is case-sensitive, and the string to look for."""
    is_exact = is_case_sensitive(term)
    return is_exact, term if is_exact else _fold_case(term)


def _count_whole_words(text: str, needle: str) -> int:
    """Occurrences that are not part of a longer word."""
    count, at, length = 0, text.find(needle), len(needle)
    while at >= 0:
        end = at + length
        goes_on = _same_word(text[at - 1 : at], needle[0]) or _same_word(needle[-1], text[end : end + 1])
        count += not goes_on
        at = text.find(needle, end)
    return count


def _same_word(one: str, other: str) -> bool:
    """Whether two adjacent characters belong to one word; either is empty at an end of the text."""
    return (one.isalnum() or one == "_") and (other.isalnum() or other == "_")


def term_boost(present: int) -> float:
    """The factor that `present` exact terms put on a semantic score."""
    return float(BOOST**present)


def terms_only_score(present: int) -> float:
    """The score of `present` exact terms in a request without concepts."""
    return float(1 - BOOST**-present)

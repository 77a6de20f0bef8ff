"""Scores of chunks for a natural question: pure functions from candidates to the parts and factors of their scores.

The base score is a weighted sum of calibrated cosine and BM25. It is raised by query words in headings, defined names
and path, by matching siblings in the same document, and in code by the words of the file's own name and by the
definition of an identifier that the query names. It is lowered for tests, examples and change logs, for prose among
code, and for all but the best chunk of the same document.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from athand.documents.identifiers import defined_identifiers, stem_terms
from athand.rank import (
    Factor,
    KeywordQuery,
    Numbers,
    Part,
    bm25_of,
    calibrate_cosine,
    calibrate_keyword,
    inverse_frequency,
)
from athand.store import Index
from athand.text import join_terms
from athand.types import Calibration, Candidate, Candidates, QueryWord

# How the weights were chosen: docs/ranking.md; measured by benchmarks/documents.py.
SEMANTIC, KEYWORD = 0.5, 0.25  # their sum is below 1, since factors raise it
FULL_MATCH = 1.25  # divides BM25: the score of a chunk with all words, where passages have each once
# Maximum gain of query words in a field:
IN_HEADING = 0.5
IN_NAMES = 0.5
IN_PATH = 0.3
IN_STEM = 0.3  # of the words of a source file's own name in the query
NAMED = 0.75  # for code that defines an identifier which the query names
COHERENCE = 0.4  # maximum gain of matching siblings
_HALF_COHERENCE = 2.6  # sum of sibling scores with half of that gain
NOISE = 0.5  # loss of tests, examples and change logs
PROSE = 0.4  # loss of prose when all other candidates are code
REPEATED = 0.85  # factor of all but the best chunk of a document, for diversity
FLOOR = 0.2  # below this score of the best hit, nothing fits
FLOOR_OF_OTHERS = 0.14  # beside a best hit that fits, the least score

INDEX = Index(
    "documents",
    fields=("content", "heading", "names", "path"),
    weights=(1.0, 1.0, 1.0, 1.0),
    item_columns=("kind",),
    texts="document_chunks",
)
_HEADING, _NAMES, _PATH = 1, 2, 3
_MAX_NAMES = 20
_MIN_STEM_WORTH = 0.7  # of a variant of a query word, to count as the word in the name of a file
_NOISE_PATH = re.compile(
    r"(?i)(^|/)(tests?|testing|specs?|__tests__|examples?|samples?|fixtures?|benchmarks?|third_party|legacy|compat|"
    r"migrations)(/|$)|(^|/)(test_[^/]*|[^/]*[._-](test|spec)s?\.[a-z]+|conftest\.py|changelog[^/]*|changes[^/]*|"
    r"history[^/]*|release[_-]?notes[^/]*|licen[cs]e[^/]*|authors[^/]*|contributors[^/]*|[^/]*\.d\.ts)$"
)
_NOISE_WORDS = frozenset(
    "test tests testing tested example examples sample samples fixture fixtures benchmark benchmarks changelog license "
    "licence migration migrations legacy released release".split()
)
_PROSE = ("markdown", "text", "html", "pdf", "docx", "odt", "epub", "pptx")


def match_parts(found: Candidates, keywords: KeywordQuery, calibration: Calibration | None) -> dict[str, Part]:
    """The semantic and keyword parts of every candidate; without vectors the keyword part has both weights."""
    raw = bm25_of(found, keywords)
    keyword = Part(
        raw, calibrate_keyword(raw / FULL_MATCH, keywords), SEMANTIC + KEYWORD if calibration is None else KEYWORD
    )
    if calibration is None:
        return {"keyword": keyword}
    cosines = np.array([candidate.cosine or 0.0 for candidate in found.passages])
    return {"semantic": Part(cosines, calibrate_cosine(cosines, calibration), SEMANTIC), "keyword": keyword}


def adjustment_factors(parts: Mapping[str, Part], found: Candidates, question: str) -> dict[str, Factor]:
    """Factors by field matches, siblings and kind of file."""
    candidates, words, passages = found.passages, found.words, found.statistics.passages
    shares = _word_shares(candidates, words, passages)
    names = shares[:, _NAMES] / np.sqrt([_count_names(each.fields[_NAMES]) for each in candidates])
    others = _sibling_scores(parts, candidates)
    noise = np.zeros(len(candidates)) if _asks_for_noise_files(words) else _noise_flags(candidates)
    prose = np.array([each.item[0] in _PROSE for each in candidates], float)
    code = np.array([each.item[0] == "code" for each in candidates], float)
    stem, named = code * _stem_shares(candidates, words), code * _named_flags(candidates, question)
    return {
        "heading": Factor(shares[:, _HEADING], 1 + IN_HEADING * shares[:, _HEADING]),
        "definition": Factor(names, 1 + IN_NAMES * names),
        "path": Factor(shares[:, _PATH], 1 + IN_PATH * shares[:, _PATH]),
        "stem": Factor(stem, 1 + IN_STEM * stem),
        "named": Factor(named, 1 + NAMED * named),
        "document": Factor(others, 1 + COHERENCE * others / (_HALF_COHERENCE + others)),
        "noise": Factor(noise, 1 - NOISE * noise),
        "prose": Factor(prose, 1 - PROSE * prose * (code.mean() if len(code) else 0.0)),
    }


def repetition_factor(scores: Numbers, candidates: Sequence[Candidate]) -> Factor:
    """The factor 1 for the best chunk of a document, and less for the others."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    before = np.zeros(len(candidates))
    for index in sorted(range(len(candidates)), key=lambda index: (-scores[index], candidates[index].id)):
        place = (candidates[index].space, candidates[index].item_id)
        before[index] = seen[place]
        seen[place] += 1
    return Factor(before, np.where(before > 0, REPEATED, 1.0))


def _stem_shares(candidates: Sequence[Candidate], words: Sequence[QueryWord]) -> Numbers:
    """For each candidate the share of the words in its file's own name that the query has."""
    terms = {variant.term for word in words for variant in word.variants if variant.worth >= _MIN_STEM_WORTH}
    stems = [stem_terms(each.item_id) for each in candidates]
    return np.array([sum(term in terms for term in stem) / max(1, len(stem)) for stem in stems])


def _named_flags(candidates: Sequence[Candidate], question: str) -> Numbers:
    """1 for each candidate that defines an identifier which the question names, else 0."""
    named = defined_identifiers(question)
    return np.array([any(each in candidate.fields[_NAMES] for each in named) for candidate in candidates], float)


def _word_shares(candidates: Sequence[Candidate], words: Sequence[QueryWord], passages: int) -> Numbers:
    """By candidate and field: the share of query words it has, weighted by inverse frequency."""
    found = np.zeros((len(candidates), len(INDEX.fields)))
    total = 0.0
    for word in words:
        best = max(word.variants, key=lambda variant: variant.worth, default=None)
        weight = inverse_frequency(passages, best.frequency if best else 1)
        total += weight
        for index in (_HEADING, _NAMES, _PATH):
            texts = [candidate.fields[index] for candidate in candidates]
            found[:, index] += weight * _presence(
                texts, ((join_terms([each.term]), each.worth) for each in word.variants)
            )
    return found / total if total else found


def _presence(texts: Sequence[str], terms: Iterable[tuple[str, float]]) -> Numbers:
    """For each text the worth of the best term that it contains; 0 without any."""
    best = np.zeros(len(texts))
    for term, worth in terms:
        best = np.maximum(best, [worth * (term in text) for text in texts])
    return best


def _count_names(names: str) -> int:
    """The number of names that a chunk defines, from 1 to the maximum."""
    return min(max(1, names.count("  ") + 1), _MAX_NAMES)


def _sibling_scores(parts: Mapping[str, Part], candidates: Sequence[Candidate]) -> Numbers:
    """The sum of the base scores (to the power 1.5) of the other candidates of the same document."""
    own: Numbers = sum((part.calibrated * part.weight for part in parts.values()), np.zeros(1)) ** 1.5
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for candidate, value in zip(candidates, own.tolist(), strict=True):
        sums[candidate.space, candidate.item_id] += value
    return np.array(
        [sums[each.space, each.item_id] - value for each, value in zip(candidates, own.tolist(), strict=True)]
    )


def _noise_flags(candidates: Sequence[Candidate]) -> Numbers:
    return np.array([bool(_NOISE_PATH.search(each.item_id)) for each in candidates], float)


def _asks_for_noise_files(words: Sequence[QueryWord]) -> bool:
    return not _NOISE_WORDS.isdisjoint(word.word for word in words)

"""How well a chunk answers a natural question: pure, from candidates to the parts of their scores.

Meaning and words say how well a chunk fits. Three things then make it better: the words of the query in its headings,
in the names it defines, or in its path; and that other chunks of the same document fit too. Three make it worse: being
a test, an example or a list of changes; being prose in a folder of code, where the code is what is looked for; and
coming after better chunks of the same document.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from athand.rank import (
    Factor,
    KeywordQuery,
    Numbers,
    Part,
    bm25,
    calibrate_cosine,
    calibrate_keyword,
    inverse_frequency,
)
from athand.store import Index
from athand.text import spaced
from athand.types import Calibration, Candidate, QueryWord

# How they were chosen, and what each is worth: docs/ranking.md; measured by benchmarks/documents.py.
SEMANTIC, KEYWORD = 0.5, 0.25  # together less than 1: what follows adds to them
FULL_MATCH = 1.25  # what a chunk that has all words scores, in passages that have each of them once
# How much better a chunk may be that has the words of the query …
IN_HEADING = 0.5
IN_NAMES = 0.5
IN_PATH = 0.3
COHERENCE = 0.4  # … and one whose document fits as a whole
_HALF_COHERENCE = 2.6  # in chunks that fit fully, for half of that
NOISE = 0.5  # how much worse a test, an example or a list of changes is
PROSE = 0.4  # and prose, where all other candidates are code
REPEATED = 0.92  # what every further chunk of a document counts, so that ten answers are not one file
FLOOR = 0.16  # below this, a hit is noise

INDEX = Index(
    "documents",
    fields=("content", "heading", "names", "path"),
    weights=(1.0, 1.0, 1.0, 1.0),
    item_columns=("kind",),
    texts="document_chunks",
)
_HEADING, _NAMES, _PATH = 1, 2, 3
_MAX_NAMES = 20
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


def match_parts(
    candidates: Sequence[Candidate], keywords: KeywordQuery, calibration: Calibration | None
) -> dict[str, Part]:
    """What words and meaning say of every candidate; a side that is not there leaves its weight to the other."""
    raw = bm25([candidate.fields for candidate in candidates], keywords)
    keyword = Part(
        raw, calibrate_keyword(raw / FULL_MATCH, keywords), SEMANTIC + KEYWORD if calibration is None else KEYWORD
    )
    if calibration is None:
        return {"keyword": keyword}
    cosines = np.array([candidate.cosine or 0.0 for candidate in candidates])
    return {"semantic": Part(cosines, calibrate_cosine(cosines, calibration), SEMANTIC), "keyword": keyword}


def adjustment_factors(
    parts: Mapping[str, Part], candidates: Sequence[Candidate], words: Sequence[QueryWord], passages: int
) -> dict[str, Factor]:
    """What else is known of each candidate, as factors; `passages` is how many there are to search."""
    shares = _word_shares(candidates, words, passages)
    names = shares[:, _NAMES] / np.sqrt([_count_names(each.fields[_NAMES]) for each in candidates])
    others = _sibling_scores(parts, candidates)
    noise = np.zeros(len(candidates)) if _asks_for_noise_files(words) else _noise_flags(candidates)
    prose = np.array([each.item[0] in _PROSE for each in candidates], float)
    code = np.array([each.item[0] == "code" for each in candidates], float)
    return {
        "heading": Factor(shares[:, _HEADING], 1 + IN_HEADING * shares[:, _HEADING]),
        "definition": Factor(names, 1 + IN_NAMES * names),
        "path": Factor(shares[:, _PATH], 1 + IN_PATH * shares[:, _PATH]),
        "document": Factor(others, 1 + COHERENCE * others / (_HALF_COHERENCE + others)),
        "noise": Factor(noise, 1 - NOISE * noise),
        "prose": Factor(prose, 1 - PROSE * prose * (code.mean() if len(code) else 0.0)),
    }


def repetition_factor(scores: Numbers, candidates: Sequence[Candidate]) -> Factor:
    """1 for the best chunk of a document, less for each that follows."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    before = np.zeros(len(candidates))
    for index in sorted(range(len(candidates)), key=lambda index: (-scores[index], candidates[index].id)):
        place = (candidates[index].space, candidates[index].item_id)
        before[index] = seen[place]
        seen[place] += 1
    return Factor(before, REPEATED**before)


def _word_shares(candidates: Sequence[Candidate], words: Sequence[QueryWord], passages: int) -> Numbers:
    """For every candidate and field, which share of the query's words it has; rare words count more."""
    found = np.zeros((len(candidates), len(INDEX.fields)))
    total = 0.0
    for word in words:
        best = max(word.variants, key=lambda variant: variant.worth, default=None)
        weight = inverse_frequency(passages, best.frequency if best else 1)
        total += weight
        for index in (_HEADING, _NAMES, _PATH):
            texts = [candidate.fields[index] for candidate in candidates]
            found[:, index] += weight * _presence(texts, ((spaced([each.term]), each.worth) for each in word.variants))
    return found / total if total else found


def _presence(texts: Sequence[str], terms: Iterable[tuple[str, float]]) -> Numbers:
    """The worth of the best of some terms that each text has."""
    best = np.zeros(len(texts))
    for term, worth in terms:
        best = np.maximum(best, [worth * (term in text) for text in texts])
    return best


def _count_names(names: str) -> int:
    """How many names there are in a chunk; each says less where there are many."""
    return min(max(1, names.count("  ") + 1), _MAX_NAMES)


def _sibling_scores(parts: Mapping[str, Part], candidates: Sequence[Candidate]) -> Numbers:
    """How well the other chunks of each candidate's document fit, added up; those that fit badly hardly count."""
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

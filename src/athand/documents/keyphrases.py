"""Key phrase extraction: candidates with weights from one document, and the choice by rarity in its folder.

Both are done at indexing: `phrase_candidates` when a file is parsed, `choose_by_frequency` when it is in the index.
"""

import heapq
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import pairwise
from math import fsum

from athand.documents.extract import ChunkSpan, FileKind
from athand.rank import inverse_frequency
from athand.text import STOP_WORDS, join_terms, split_identifier, stem, terms

# Only the beginning of a long document is read, and all its headings.
_MAX_CHARACTERS = 48_000
_MAX_WORD_LENGTH = 40
_HALF_WEIGHT_AT = 4.0
_LENGTH_BONUS = (0.0, 1.0, 1.7, 1.9)
_PROMINENCE_BONUS = (1.0, 1.6, 2.2)
_DEFINED_FACTOR, _PRIVATE_FACTOR, _FRAGMENT_FACTOR = 2.0, 0.6, 0.5
_PLAIN_FACTOR = 0.7
_SHORTLIST = 80
_FEW_TOKENS = 400
_MAX_CACHED_WORDS = 1 << 16
# A longer phrase replaces a chosen part of it from this share of its score on; a longer identifier needs more.
_LONGER_WINS_AT, _LONGER_NAME_WINS_AT = 0.45, 0.8

_NOISE = re.compile(
    r"""
    \A---[ \t]*\n(?s:.*?)\n---[ \t]*\n
    | \n[ \t>]*(?P<fence>```+|~~~+)(?s:.*?)(?:\n[ \t>]*(?P=fence)|\Z)
    | <!--(?s:.{0,4000}?)--> | </?[a-zA-Z][^<>\n]{0,300}> | \{\{[^{}]{0,400}\}\}
    | (?:https?://|www\.)[^\s)>\]"']+ | \]\([^()\s]{0,300}[^()\n]{0,100}\) | \{[\#.][^{}\n]{0,100}\}
    | /[\w.-]+(?:/[\w.-]*)+ | &\w{1,10};
    """,
    re.VERBOSE,
)
_COMMENT = re.compile(
    r'"""(?s:.*?)(?:"""|\Z)|'
    + r"'''(?s:.*?)(?:'''|\Z)|"
    + r"/\*(?s:.*?)(?:\*/|\Z)|(?:(?<![:\S])//+|(?<!\S)(?:\#+|--)(?=[ \t]))[^\n]*"
)
_TOKEN = re.compile(r"[^\W\d_]\w+(?:[-'\u2019.+]\w+)*|[^\w \t]+|\w+")
_IDENTIFIER = re.compile(r"\b_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[A-Za-z][a-z0-9]+(?:[A-Z][A-Za-z0-9]+)+\b")
_WORD = re.compile(r"[^\W\d_](?:[\w'\u2019+.-]*[\w+])?")
_DATA = re.compile(r"(?=\w*\d)[0-9a-f]{8,}|\w*\d\w*\d\w*\d\w*|v?\d[\d.]*")
_FRAGMENT = re.compile(r"(?:ed|ly)$|^\w+ly\b|^\w+ing$")
_UNINFORMATIVE = STOP_WORDS | frozenset(
    """
    able across allows already although always another based become becomes case cases certain change changes common
    consider contains create created creates currently default define defined depending different e.g either enable
    ensure even example examples existing fewer find first following follows found four general given gives go going
    good i.e include includes including instead keep last later learn least less long main means method multiple name
    named never new next non none note number often order part particular parts per place possible provided provides
    read recommended refer return returns run running second section see set sets setting several similar simple simply
    since single specific specified specify start step steps still supported supports take takes three time two type
    types understand unless used useful user uses usually value values various via well work works write www yourself
    true false null nil self cls int str bool float void args kwargs param params todo fixme noqa copyright license
    licensed var let const function def class import raise raises arg isn't don't doesn't can't won't it's you're
    let's that's there's what's aren't
    """.split()
)


def phrase_candidates(
    text: str, spans: Sequence[ChunkSpan], kind: FileKind, limit: int = 24
) -> list[tuple[str, float]]:
    """Candidate phrases with weights from this document alone, the highest first."""
    head = text[:_MAX_CHARACTERS]
    if kind.name == "code":
        weights = _weigh_phrases("\n".join(_COMMENT.findall(head)), ())
        _add_identifiers(weights, head, spans)
    else:
        weights = _weigh_phrases(_NOISE.sub(" . ", head), _list_headings(spans))
    ordered = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return ordered[:limit]


def choose_by_frequency(candidates: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    """The key phrases of stored candidates (JSON), by the passages of a folder with each term; `""` counts all."""
    total = counts[""]
    idf = {term: inverse_frequency(total, min(total, counts.get(term, 1))) for term in candidate_terms(candidates)}
    return tuple(choose_phrases(json.loads(candidates), idf.__getitem__))


def candidate_terms(candidates: str) -> tuple[str, ...]:
    """The distinct terms of stored candidates (JSON); a phrase without any is a term itself."""
    return tuple(dict.fromkeys(term for phrase, _ in json.loads(candidates) for term in terms(phrase) or [phrase]))


def choose_phrases(candidates: Sequence[tuple[str, float]], idf: Callable[[str], float], limit: int = 7) -> list[str]:
    """The best phrases by weight times mean inverse frequency, none part of another."""
    scored = sorted(
        ((weight * _mean_idf(phrase, idf), phrase) for phrase, weight in candidates),
        key=lambda each: (-each[0], each[1]),
    )
    chosen: list[tuple[float, str, str]] = []  # score, phrase, its stems between spaces
    for score, phrase in scored:
        stems = join_terms(map(stem, split_identifier(phrase)))
        overlapping = [at for at, (_, _, other) in enumerate(chosen) if stems in other or other in stems]
        if stems and not overlapping:
            chosen.append((score, phrase, stems))
        elif len(overlapping) == 1 and _is_longer_form(score, phrase, stems, chosen[overlapping[0]]):
            chosen[overlapping[0]] = (chosen[overlapping[0]][0], phrase, stems)
    return [phrase for _, phrase, _ in chosen[:limit]]


def _mean_idf(phrase: str, idf: Callable[[str], float]) -> float:
    found = [idf(term) for term in terms(phrase) or [phrase]]
    return fsum(found) / len(found)


def _is_longer_form(score: float, phrase: str, stems: str, chosen: tuple[float, str, str]) -> bool:
    """Whether a phrase is a longer form of a chosen one, with nearly the same score."""
    needed = _LONGER_WINS_AT if " " in phrase else _LONGER_NAME_WINS_AT
    return stems.count("  ") > chosen[2].count("  ") and score >= needed * chosen[0]


def _list_headings(spans: Sequence[ChunkSpan]) -> list[str]:
    """The headings of a document, its title first."""
    return list(dict.fromkeys(title for span in spans for title in (*span.heading, *span.names)))


def _weigh_phrases(text: str, headings: Sequence[str]) -> dict[str, float]:
    """Words, bigrams and trigrams of prose with their weights, in their surface forms."""
    tokens = _TOKEN.findall(text)
    title = set(_ngrams(_TOKEN.findall("\n".join(headings[:1]))))
    heading_tokens = _TOKEN.findall("\n".join(headings))
    parts = set(_ngrams(heading_tokens))
    forms = Counter(tokens)
    counts = _count_phrases(tokens, forms, parts)
    forms.update(heading_tokens)
    weights = {
        phrase: _weight(phrase, count, 2 if phrase in title else 1 if phrase in parts else 0)
        * (_PLAIN_FACTOR if len(phrase) == 1 and phrase not in parts and phrase[0] in forms else 1.0)
        for phrase, count in counts.items()
    }
    best = heapq.nsmallest(_SHORTLIST, weights, key=lambda phrase: (-weights[phrase], phrase))
    surface = _surface_forms(forms, {word for phrase in best for word in phrase})
    return {" ".join(surface.get(word, word) for word in phrase): weights[phrase] for phrase in best}


def _weight(phrase: tuple[str, ...], count: int, prominence: int) -> float:
    """The weight of a phrase: grows with count, length and headings; lower for sentence fragments."""
    weight = count / (count + _HALF_WEIGHT_AT) * _LENGTH_BONUS[len(phrase)] * _PROMINENCE_BONUS[prominence]
    if not prominence and _FRAGMENT.search(" ".join(phrase)):
        weight *= _FRAGMENT_FACTOR
    return weight


def _count_phrases(
    tokens: Sequence[str], forms: Counter[str], parts: Set[tuple[str, ...]]
) -> dict[tuple[str, ...], int]:
    """Counts of phrases: those in headings, those that occur twice, and in short texts all."""
    words: dict[str, int] = {}
    for token, count in forms.items():
        word = _content_word(token)
        words[word] = words.get(word, 0) + count
    min_count = 1 if len(tokens) < _FEW_TOKENS else 2
    kept = {token: word if words[word := _content_word(token)] >= min_count else "" for token in forms}
    counts: Counter[tuple[str, ...]] = Counter(_bigrams_and_trigrams(list(map(kept.__getitem__, tokens))))
    counts.update({(word,): words[word] for word in set(kept.values()) if word})
    found = {phrase: count for phrase, count in counts.items() if count >= min_count}
    return found | {phrase: counts.get(phrase, 1) for phrase in parts}


def _ngrams(tokens: Iterable[str]) -> list[tuple[str, ...]]:
    """Content words, bigrams and trigrams, with repetitions."""
    words = [_content_word(token) for token in tokens]
    return [*((word,) for word in words if word), *_bigrams_and_trigrams(words)]


def _bigrams_and_trigrams(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Two or three adjacent content words."""
    found: list[tuple[str, ...]] = [pair for pair in pairwise(words) if pair[0] and pair[1]]
    found += [each for each in zip(words, words[1:], words[2:], strict=False) if each[1] and each[0] and each[2]]
    return found


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _content_word(token: str) -> str:
    """The lower case of a token if it is a content word, else an empty text."""
    word = token.lower()
    is_content = 2 < len(word) < _MAX_WORD_LENGTH and word not in _UNINFORMATIVE and _WORD.fullmatch(word)
    return word if is_content and not _DATA.fullmatch(word) else ""


def _surface_forms(forms: Counter[str], wanted: set[str]) -> dict[str, str]:
    """The most frequent form of each word; lower case unless nearly all occurrences differ."""
    found: dict[str, tuple[int, str]] = {}
    totals: Counter[str] = Counter()
    for form, count in forms.items():
        word = _content_word(form)
        if word in wanted:
            totals[word] += count
            found[word] = max(found.get(word, (0, "")), (count, form))
    return {word: word if forms[word] * 8 >= totals[word] else form for word, (_, form) in found.items()}


def _add_identifiers(weights: dict[str, float], text: str, spans: Sequence[ChunkSpan]) -> None:
    """Adds identifiers of source code; those defined here weigh more than those used."""
    defined = dict.fromkeys(name for span in spans for name in (*span.heading, *span.names))
    counts = Counter(_IDENTIFIER.findall(text))
    for name in defined:
        counts[name] = max(counts[name], 1)
    for name, count in counts.items():
        if (count > 1 or name in defined) and 3 < len(name) < _MAX_WORD_LENGTH and name.lower() not in _UNINFORMATIVE:
            bonus = _DEFINED_FACTOR if name in defined else 1.0
            bonus *= _PRIVATE_FACTOR if name.startswith("_") else 1.0
            weights[name] = max(weights.get(name, 0.0), count / (count + _HALF_WEIGHT_AT) * bonus)

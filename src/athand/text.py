"""Text analysis: tokenizing, stemming, synonyms, typo correction, highlighting.

One pipeline (NFKC, casefold, accents stripped, identifiers split) with two ends: `terms` for indexing, `tokenize` for
queries. Both engines store our terms verbatim, so they index the same words.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Literal

import Stemmer

MOST_EDITS = 2  # of a mistyped word
PREFIX_LENGTH = 3
_CACHED_WORDS = 1 << 16
# Longer runs of letters are data (base64, hashes), not words; they are cut, not dropped.
_LONGEST_WORD = 64
_EXCERPT = 240
_MARKED = 2000
_PIECE = 1024

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before being below between
    both but by can cannot could couldn d did didn do does doesn doing don down during each else ever every few for from
    further get gets getting got had hadn has hasn have haven having he help her here hers herself hi him himself
    his how however i if im in into is isn it its itself ive just kind know let like ll looking m make many may maybe me
    might mine more most much must my myself need needs no nor not now of off on once one only or other our ours
    ourselves out over own please provide quite rather re really s same shall she should show so some someone something
    such t tell than thank thanks that the their theirs them themselves then there these they thing things this those
    through to too under until up upon us use using ve very want wanted wants was wasn way we were weren what when where
    whether which while who whom whose why will with within without won would wouldn yes yet you your yours yourself
    """.split()
)
FLOW_STOP_WORDS = STOP_WORDS | {"flow", "test", "should", "mm", "mcp"}

_SYNONYM_GROUPS = (
    ("send", "transfer", "pay"),
    ("receive", "deposit"),
    ("approve", "confirm", "accept", "allow"),
    ("reject", "deny", "cancel", "decline"),
    ("unlock", "login", "signin"),
    ("connect", "link", "authorize"),
    ("swap", "exchange", "trade"),
    ("sign", "signature"),
)

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
CJK_RUN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_PART = re.compile(r"[0-9]+|[^\W0-9_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_PIECES = re.compile(rf"(?s).{{1,{_PIECE}}}(?=\s|\Z)|.{{1,{_PIECE}}}")
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

_stem = Stemmer.Stemmer("english", _CACHED_WORDS)


def text_hash(text: str) -> bytes:
    """SHA-256 of a text, the key of its cached vector."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def fold(text: str) -> str:
    """Lower case without accents; combining marks of other scripts stay."""
    return text.casefold() if text.isascii() else _strip_accents(_normalize("NFKC", text).casefold())


def stem(word: str) -> str:
    """The stem of a folded word."""
    stemmed: str = _stem.stemWord(word)
    return stemmed


def stems(words: Iterable[str]) -> list[str]:
    """The stems of folded words."""
    stemmed: list[str] = _stem.stemWords(list(words))
    return stemmed


def split_identifier(name: str) -> list[str]:
    """The words inside an identifier: kebab, snake, camel, Pascal, digits and acronyms."""
    return [fold(part) for word in _words(name) for part in _parts(word)]


def terms(text: str) -> list[str]:
    """The index terms of a text: stems, every occurrence, CJK as characters and bigrams."""
    return [term for term, _ in terms_and_words(text)]


def terms_and_words(text: str) -> list[tuple[str, str]]:
    """Each index term with its folded word, which corrections show instead of the stem."""
    found: list[tuple[str, str]] = []
    for word in _words(text):
        found.extend(_terms_of(word))
    return found


def analyze(text: str) -> tuple[str, dict[str, str]]:
    """The joined terms of a text, and for each term a word as it was written: all that an index stores."""
    words = _words(text)
    pairs = {term: word for distinct in dict.fromkeys(words) for term, word in _terms_of(distinct)}
    return "".join(map(_join_terms_of, words)), pairs


def needles(terms: Iterable[str]) -> list[str]:
    """Each term as it stands in joined terms, to be counted or looked for there."""
    return [f" {term} " for term in terms]


def join_terms(words: Iterable[str]) -> str:
    """One string in which every term has spaces of its own on both sides, so that `str.count` counts it exactly."""
    return "".join(f" {word} " for word in words)


def tokenize(query: str, stop_words: Collection[str] = STOP_WORDS) -> list[str]:
    """The distinct words of a query in order, without stop words and single characters unless nothing else is left."""
    words = list(dict.fromkeys(word for raw in _words(query) for word in _query_words(raw)))
    telling = [word for word in words if len(word) > 1 and word not in stop_words]
    return telling or words


def synonym_table(groups: Iterable[Sequence[str]] = _SYNONYM_GROUPS) -> dict[str, tuple[str, ...]]:
    """Maps every word of a group to the others."""
    table: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for word in group:
            others = tuple(other for other in group if other != word)
            table[word] = tuple(dict.fromkeys(table.get(word, ()) + others))
    return table


def expand_synonyms(words: Iterable[str], table: Mapping[str, Sequence[str]]) -> list[str]:
    """The words, each followed by its synonyms, without repetition."""
    return list(dict.fromkeys(form for word in words for form in (word, *table.get(word, ()))))


def allowed_edits(word: str) -> int:
    """The allowed edit distance: 0 for very short words, 1 up to five letters, 2 beyond."""
    return 0 if len(word) < PREFIX_LENGTH else 1 if len(word) <= 5 else MOST_EDITS


def replace_words(text: str, others: Mapping[str, str]) -> str:
    """The text with other words in the place of some, which are given folded."""
    return _WORD.sub(lambda word: others.get(fold(word[0]), word[0]), text)


def are_near(one: str, other: str) -> bool:
    """Whether the edit distance of two words is at most 1."""
    from rapidfuzz.distance import OSA

    return OSA.distance(one, other, score_cutoff=1) <= 1


def nearest_words(words: Sequence[str], vocabulary: Sequence[str], edits: Sequence[int]) -> list[tuple[int, list[str]]]:
    """For each misspelt word, the least edit distance to the vocabulary, and the words at it; none beyond its edits.

    Optimal string alignment: swapped neighbours count as one edit.
    """
    if not words or not vocabulary:
        return [(most + 1, []) for most in edits]
    import numpy as np
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import cdist

    distances = cdist(words, vocabulary, scorer=OSA.distance, score_cutoff=max(edits), dtype=np.uint8)
    found = []
    for word, row, least, most in zip(words, distances, distances.min(axis=1).tolist(), edits, strict=True):
        near = [vocabulary[at] for at in np.flatnonzero(row == least).tolist()] if least <= most else []
        # Most typos keep the first letter.
        found.append((least, [match for match in near if match[0] == word[0]] or near))
    return found


def highlight(text: str, wanted: Set[str], before: str = "<mark>", after: str = "</mark>") -> str:
    """The text with every word marked that has one of the wanted terms."""
    return _WORD.sub(lambda word: f"{before}{word[0]}{after}" if _has_term(word[0], wanted) else word[0], text)


def find_marks(text: str, wanted: Set[str], most: int = _MARKED) -> tuple[tuple[int, int], ...]:
    """Where the words are that have one of the wanted terms: begin and end of each, in the first `most` characters."""
    words = _WORD.finditer(text, 0, most)
    return tuple(word.span() for word in words if _has_term(word[0], wanted))


def excerpts_of(texts: Iterable[str], wanted: Set[str], most: int = 3) -> list[tuple[str, ...]]:
    """The excerpts of each text."""
    return [tuple(excerpts(text, wanted, most)) for text in texts]


def excerpts(text: str, wanted: Set[str], most: int = 3) -> list[str]:
    """The first sentences with a wanted term, highlighted; long ones are cut around their first match."""
    found: list[str] = []
    for sentence in map(str.strip, _SENTENCE_END.split(text)):
        marked = highlight(sentence, wanted)
        if marked != sentence:
            found.append(
                marked if len(sentence) <= _EXCERPT else highlight(_cut_around(sentence, marked.find("<mark>")), wanted)
            )
        if len(found) == most:
            break
    return found


def _has_term(word: str, wanted: Set[str]) -> bool:
    """Whether a word has one of these index terms."""
    return not wanted.isdisjoint(_index_terms(word))


@lru_cache(maxsize=_CACHED_WORDS)
def _index_terms(word: str) -> tuple[str, ...]:
    return tuple(terms(word[:_EXCERPT]))


def _cut_around(sentence: str, around: int) -> str:
    """A sentence shortened to an excerpt around a position."""
    if len(sentence) <= _EXCERPT:
        return sentence
    start = max(0, min(around - _EXCERPT // 3, len(sentence) - _EXCERPT))
    return (
        ("…" if start else "") + sentence[start : start + _EXCERPT] + ("…" if start + _EXCERPT < len(sentence) else "")
    )


def _words(text: str) -> list[str]:
    """Runs of letters, digits and combining marks, as written."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    plain = _strip_accents(_normalize("NFKC", text))
    return "".join(char if _is_word_character(char) else " " for char in plain).split()


def _strip_accents(text: str) -> str:
    return _normalize("NFKC", _ACCENTS.sub("", _normalize("NFD", text)))


def _normalize(form: Literal["NFD", "NFKC"], text: str) -> str:
    """Unicode normalization in pieces that end between words: Python takes quadratic time for runs of marks."""
    if len(text) <= _PIECE:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, piece) for piece in _PIECES.findall(text))


@lru_cache(maxsize=_CACHED_WORDS)
def _is_word_character(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"


def _parts(word: str) -> list[str]:
    """An identifier's words; marks stay with their letters because only ASCII humps and digits split."""
    if not word.isascii():
        return [part for piece in re.split(r"([0-9]+)", word) for part in _HUMP.split(piece) if part]
    return [hump for part in _PART.findall(word) for hump in _HUMP.split(part)]


def _forms(word: str) -> list[str]:
    """The folded word and, where it has several, its parts."""
    whole = fold(word)[:_LONGEST_WORD]
    parts = [fold(part)[:_LONGEST_WORD] for part in _parts(word)]
    return [whole, *parts] if len(parts) > 1 else [whole]


@lru_cache(maxsize=_CACHED_WORDS)
def _terms_of(word: str) -> tuple[tuple[str, str], ...]:
    if not word.isascii() and CJK_RUN.search(word):
        return tuple((part, part) for part in _cjk(word, singles=True))
    forms = _forms(word)
    return tuple(zip(_stem.stemWords(forms), forms, strict=True))


@lru_cache(maxsize=_CACHED_WORDS)
def _join_terms_of(word: str) -> str:
    return join_terms(term for term, _ in _terms_of(word))


def _query_words(word: str) -> list[str]:
    if not word.isascii() and CJK_RUN.search(word):
        return list(_cjk(word, singles=False))
    return _forms(word)


def _cjk(word: str, *, singles: bool) -> Iterator[str]:
    """The characters and bigrams of CJK runs; other parts stay whole."""
    folded = fold(word)
    end = 0
    for run in CJK_RUN.finditer(folded):
        yield from _split_parts(folded[end : run.start()])
        characters = run.group()
        if singles or len(characters) == 1:
            yield from characters
        yield from (characters[at : at + 2] for at in range(len(characters) - 1))
        end = run.end()
    yield from _split_parts(folded[end:])


def _split_parts(text: str) -> Iterator[str]:
    return (part[:_LONGEST_WORD] for part in _PART.findall(text))

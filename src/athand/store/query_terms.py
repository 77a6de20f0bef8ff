"""Expands the words of a query to index terms, for both engines: stems, prefixes, synonyms, typo corrections."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from athand.bounded_cache import BoundedCache
from athand.english import is_english
from athand.text import MOST_EDITS, PREFIX_LENGTH, allowed_edits, nearest_words, stems
from athand.types import Query, QueryWord, Variant

# The worth of a variant, relative to the word itself (benchmarks/tune.py).
SYNONYM_WORTH = 0.7
TYPO_WORTH = {1: 0.7, 2: 0.4}  # by the number of edits
PREFIX_WORTH = 0.3
PREFIX_EXPANSIONS = 4
# Only the first words of a query count, up to this many: more add noise and time, not meaning.
LONGEST_QUERY = 64
_CACHED_LEXICONS = 8
_LONGEST_ENDING = 3  # of a word after its stem: -ing


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Every word of some spaces with its stem, at one state of the index."""

    state: tuple[int, int]
    stems: Mapping[str, str]
    by_length: Mapping[int, Sequence[str]]

    @classmethod
    def from_stems(cls, state: tuple[int, int], stems: Mapping[str, str]) -> "Lexicon":
        """Groups the words by length, for typo correction."""
        by_length: dict[int, list[str]] = defaultdict(list)
        for word in stems:
            by_length[len(word)].append(word)
        return cls(state, stems, dict(by_length))

    def of_length(self, shortest: int, longest: int) -> list[str]:
        """The words of these lengths, as they were written."""
        return [word for length in range(shortest, longest + 1) for word in self.by_length.get(length, ())]

    def stems_of(self, words: Sequence[str]) -> list[str]:
        """The terms under which these words are indexed."""
        return list(map(self.stems.__getitem__, words))


class LexiconCache:
    """Caches the words of the latest scopes: correcting a typo needs every word, and reading them is slow."""

    def __init__(self) -> None:
        self._lexicons: BoundedCache[Hashable, Lexicon] = BoundedCache(_CACHED_LEXICONS)

    def get(self, scope: Hashable, state: tuple[int, int], read: Callable[[], Mapping[str, str]]) -> Lexicon:
        """The words of a scope, read again (word → stem) if the state of the index is another one."""
        lexicon = self._lexicons.get(scope)
        if lexicon is None or lexicon.state != state:
            lexicon = Lexicon.from_stems(state, read())
            self._lexicons.put(scope, lexicon)
        return lexicon


class Vocabulary(Protocol):
    """The terms of the searched spaces and their document frequencies."""

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Document frequencies of the terms that occur."""

    def with_prefixes(self, prefixes: Sequence[str], limit: int) -> dict[str, dict[str, int]]:
        """The most frequent terms that begin with each of these."""

    @property
    def lexicon(self) -> Lexicon:
        """Every word of the spaces with its term."""


def resolve_query(query: Query, vocabulary: Vocabulary) -> tuple[tuple[QueryWord, ...], dict[str, str]]:
    """Each word of the query with its variants, and the typo corrections that were made."""
    words = query.words[:LONGEST_QUERY]
    if not words:
        return (), {}
    synonyms = {word: stems(others) for word, others in query.synonyms.items() if word in words}
    term_of = dict(zip(words, stems(words), strict=True))
    wanted = {*term_of.values(), *(term for terms in synonyms.values() for term in terms)}
    known = vocabulary.frequencies(sorted(wanted))
    variants = {word: _direct_variants(term_of[word], synonyms.get(word, ()), known) for word in words}
    if query.literal:
        return tuple(QueryWord(word, tuple(variants[word].values())) for word in words), {}
    longer = vocabulary.with_prefixes([word for word in words if len(word) >= PREFIX_LENGTH], PREFIX_EXPANSIONS)
    variants = {word: variants[word] | _prefix_variants(term_of[word], longer.get(word, {})) for word in words}
    corrections = _correct_typos([word for word in words if not variants[word]], vocabulary)
    variants |= {word: {variant.term: variant} for word, (_, variant) in corrections.items()}
    resolved = tuple(QueryWord(word, tuple(variants[word].values())) for word in words)
    return resolved, {word: meant for word, (meant, _) in corrections.items()}


def _direct_variants(term: str, synonyms: Sequence[str], known: dict[str, int]) -> dict[str, Variant]:
    worth = {other: SYNONYM_WORTH for other in synonyms} | {term: 1.0}
    return {each: Variant(each, worth[each], known[each]) for each in worth if known.get(each)}


def _prefix_variants(own: str, longer: Mapping[str, int]) -> dict[str, Variant]:
    return {term: Variant(term, PREFIX_WORTH, count) for term, count in longer.items() if term != own}


def _correct_typos(unknown: Sequence[str], vocabulary: Vocabulary) -> dict[str, tuple[str, Variant]]:
    """Unknown word → the most frequent nearest known word, and the variant to search for.

    English words are no typos, though no passage has them: `bread` is not meant to be `read`.
    """
    mistyped = [word for word in unknown if allowed_edits(word) and word.isalpha() and not is_english(word)]
    if not mistyped:
        return {}
    meant = _nearest_terms(mistyped, vocabulary)
    counts = vocabulary.frequencies([term for _, found in meant.values() for term in found.values()])
    corrections = {}
    for word, (edits, found) in meant.items():
        if found:
            best = max(found, key=lambda each: (counts[found[each]], each))
            corrections[word] = (best, Variant(found[best], TYPO_WORTH[edits], counts[found[best]]))
    return corrections


def _nearest_terms(words: Sequence[str], vocabulary: Vocabulary) -> dict[str, tuple[int, dict[str, str]]]:
    """Each word → its edit distance and the nearest words with their terms; without one, the nearest stems."""
    edits = [allowed_edits(word) for word in words]
    lengths = [(len(word) - most, len(word) + most) for word, most in zip(words, edits, strict=True)]
    lexicon = vocabulary.lexicon
    written = lexicon.of_length(min(low for low, _ in lengths), max(high for _, high in lengths))
    near = dict(zip(words, nearest_words(words, written, edits), strict=True))
    rest = [word for word in words if not near[word][1]]
    forms = _nearest_stems(rest, lexicon) if rest else []
    as_words = {
        word: (least, dict(zip(found, lexicon.stems_of(found), strict=True))) for word, (least, found) in near.items()
    }
    as_stems = {
        word: (least, dict(zip(found, found, strict=True))) for word, (least, found) in zip(rest, forms, strict=True)
    }
    return as_words | as_stems


def _nearest_stems(words: Sequence[str], lexicon: Lexicon) -> list[tuple[int, list[str]]]:
    """For each word its edit distance, or that of its stem, to the nearest stems: `deply` is near that of `deploys`."""
    short = stems(words)
    lengths = [len(word) for word in (*words, *short)]
    longer = lexicon.of_length(min(lengths) - MOST_EDITS, max(lengths) + MOST_EDITS + _LONGEST_ENDING)
    known = list(dict.fromkeys(lexicon.stems_of(longer)))
    forms = (*words, *short)
    found = nearest_words(forms, known, list(map(allowed_edits, forms)))
    pairs = zip(found[: len(words)], found[len(words) :], strict=True)
    return [min(pair, key=lambda each: (not each[1], each[0])) for pair in pairs]

"""Detects texts that say the same, exactly or nearly. A wrongly merged memory is a lost fact, so doubt means no.

Near-duplicates have the same words in the same order, apart from words that carry no fact ("the", "also"),
contractions, a first capital, a plural s and outer punctuation. So another number, unit, negation, tense, name, path or
order is another fact, and no list of opposites is needed.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice

from athand.text import terms

# Two sets of words of one size with an overlap of 0.8 share 8/9 of their words: an angle of 27°, on average 9.7 of 64
# bits, and 18 lies three standard deviations (2.9) above. Unrelated texts differ in 32 ± 4.
CLOSE_BITS = 18
LEAST_OVERLAP = 0.8
# In a text of fewer words, each one may change the meaning.
SHORT_WORDS = 8
# The SimHash of a long text is that of its beginning; all other comparisons read the whole text.
SIMHASH_CHARACTERS = 10_000

# Words that can be added, removed or exchanged without changing what is said: "is" can, "was" cannot.
_FILLERS = frozenset(
    """
    a actually also am an are basically be certainly clearly currently definitely do does indeed is now obviously of our
    please really simply that the then therefore thus very
    """.split()
)
# Behind these a filler has a meaning: "not really", "not clearly".
_NEGATIONS = frozenset("cannot never no nor not without".split())

_CONTRACTION = re.compile(r"(?:\bcan't|\bwon't|n't|'re|'ve|'ll|'m|\b(?:it|that|there|here|he|she)'s)\b", re.IGNORECASE)
_SPELLED_OUT = {"can't": "cannot", "won't": "will not", "n't": " not"}
_SPELLED_OUT |= {"'re": " are", "'ve": " have", "'ll": " will", "'m": " am"}
_STRAIGHT_QUOTES = str.maketrans("‘’“”", "''\"\"")  # noqa: RUF001
_OPENING = "\"'`("
_CLOSING = "\"'`).,;:!"
# 6' is not 6", and 5! is not 5.
_CLOSING_A_NUMBER = ").,;:"

_LETTER = re.compile(r"[^\W_]")
_LAST_FULL_STOP = re.compile(r"(?<=\w)\.\Z")
# Sorting combining marks takes the square of their number, so a long word is normalized in pieces.
_PIECE = 256
_CACHED_TERMS = 1 << 16


def normalize(text: str) -> str:
    """The text without differences of case, white space and a last full stop, for exact comparison.

    The full stop does count after anything but a letter or digit: `git add .` is not `git add`.
    """
    folded = _normalize_unicode(_normalize_unicode(text).casefold())
    return _LAST_FULL_STOP.sub("", " ".join(folded.split()))


# An add calls each of these two or three times.
@lru_cache(maxsize=8)
def fingerprint(text: str) -> str:
    """A hash that is equal for texts that are exactly the same, and for no others."""
    return hashlib.sha256(normalize(text).encode("utf-8", "surrogatepass")).hexdigest()


def simhash(text: str) -> int:
    """A SimHash of 64 bits: the more terms two texts share, the more bits; the same in every process."""
    import numpy as np

    found = set(terms(_normalize_unicode(text[:SIMHASH_CHARACTERS])))
    if not found:
        return 0
    bits = np.unpackbits(np.frombuffer(b"".join(map(_bits, found)), np.uint8).reshape(len(found), -1), axis=1)
    majority = bits.sum(axis=0, dtype=np.int64) * 2 > len(found)
    return int.from_bytes(np.packbits(majority).tobytes(), "big")


def is_near_duplicate(one: str, other: str) -> bool:
    """Whether two texts say the same in nearly the same words; short texts never do, only exactly."""
    return _are_near_duplicates(_Words(one), _Words(other))


@lru_cache(maxsize=8)
def near_duplicate_key(text: str) -> str:
    """A hash that is equal for all texts that may be near-duplicates of each other; empty for a short text."""
    words = _Words(text)
    if words.is_short():
        return ""
    return hashlib.sha256(" ".join(words.key_words()).encode("utf-8", "surrogatepass")).hexdigest()


class _Words:
    """A text as words; each property is computed on first use."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> list[str]:
        """The words as written, without quotes, brackets and sentence marks around them."""
        written = _normalize_unicode(self.text).translate(_STRAIGHT_QUOTES).split()
        return [
            word
            for each in written
            for word in ((each,) if each.isalpha() else _expand_contractions(_strip_punctuation(each)))
        ]

    @cached_property
    def content_words(self) -> list[str]:
        """The words without fillers."""
        pairs = zip(self.words, ["", *self.words], strict=False)
        return [word for word, before in pairs if word.lower() not in _FILLERS or _has_meaning_after(before, word)]

    @cached_property
    def distinct(self) -> set[str]:
        return {word.casefold() for word in self.words}

    @cached_property
    def simhash(self) -> int:
        return simhash(self.text)

    def is_short(self) -> bool:
        with_letters = filter(_LETTER.search, self.words)
        return sum(1 for _ in islice(with_letters, SHORT_WORDS)) < SHORT_WORDS

    def key_words(self) -> tuple[str, ...]:
        """The content words in singular and lower case: equal for all texts that may be near-duplicates."""
        return tuple(_singular(word.lower()) if _is_plain_word(word) else word for word in self.content_words)


def _are_near_duplicates(one: _Words, other: _Words) -> bool:
    # At most a fifth of the words may differ, so texts of very different lengths need not be compared.
    if 2 * min(len(one.text), len(other.text)) < max(len(one.text), len(other.text)):
        return False
    return (
        _say_the_same(one.content_words, other.content_words)
        and _overlap(one.distinct, other.distinct) >= LEAST_OVERLAP
        and not (one.is_short() or other.is_short())
        and (one.simhash ^ other.simhash).bit_count() <= CLOSE_BITS
    )


def _say_the_same(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(one) == len(other) and all(map(_is_same_word, one, other))


def _is_same_word(one: str, other: str) -> bool:
    """Whether two words mean the same; only lower case words may differ in a plural s: William is not Williams."""
    if one == other:
        return True
    if not (_is_plain_word(one) and _is_plain_word(other)):
        return False
    if one.islower() and other.islower():
        return _singular(one) == _singular(other)
    return one.lower() == other.lower()


def _is_plain_word(word: str) -> bool:
    """Whether a word has letters only, at most the first a capital; others may be identifiers, units or acronyms."""
    return word.isalpha() and (word.islower() or word.istitle())


def _has_meaning_after(before: str, filler: str) -> bool:
    """Whether a filler has a meaning here: behind a negation, as an acronym, or an A within a text: plan A."""
    is_word = filler.islower() or (filler.istitle() and (len(filler) > 1 or not before))
    return not is_word or before.lower() in _NEGATIONS


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


def _strip_punctuation(word: str) -> str:
    """The word without quotes, brackets and marks around it; `..`, `->` and the dots of a path stay."""
    opened = word.lstrip(_OPENING)
    bare = opened.rstrip(_CLOSING)
    if not bare or bare[-1] == "/":
        return word
    return opened.rstrip(_CLOSING_A_NUMBER) if bare[-1].isdigit() else bare


def _expand_contractions(word: str) -> Sequence[str]:
    return _CONTRACTION.sub(_expand_contraction, word).split() if "'" in word else (word,)


def _expand_contraction(contraction: re.Match[str]) -> str:
    written = contraction.group()
    return _SPELLED_OUT.get(written.lower(), f"{written[:-2]} is")


def _normalize_unicode(text: str) -> str:
    """The text in Unicode's form NFC, with single spaces."""
    words = text.split()
    spaced = " ".join(words)
    if spaced.isascii():
        return spaced
    if max(map(len, words)) <= _PIECE:
        return unicodedata.normalize("NFC", spaced)
    return "".join(unicodedata.normalize("NFC", piece) for word in words for piece in _pieces(word))


def _pieces(word: str) -> Iterator[str]:
    yield from (word[start : start + _PIECE] for start in range(0, len(word), _PIECE))
    yield " "


@lru_cache(maxsize=_CACHED_TERMS)
def _bits(term: str) -> bytes:
    return hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()

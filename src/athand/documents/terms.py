"""Exact terms: whether case matters, where they stand, and what they are worth. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

BOOST = 1.5  # per distinct term that is there

_CODE = re.compile(r"_|::|->|\(\)")
_JOINED = re.compile(r"\w+(?:[./]\w+)+")


@dataclass(frozen=True, slots=True)
class Found:
    """How one chunk has the exact terms: which, how often as whole words, and how often at all."""

    terms: tuple[str, ...]
    whole: int
    occurrences: int


def is_case_sensitive(term: str) -> bool:
    """Whether a term is code: it has a hump, an underscore or other punctuation of code; words and acronyms are not."""
    has_hump = any(one.islower() and next_.isupper() for one, next_ in pairwise(term))
    if has_hump or _CODE.search(term):
        return True
    return any(map(_is_dotted_code, _JOINED.findall(term)))


def _is_dotted_code(joined: str) -> bool:
    """`Foo.bar` and `src/App.tsx` are code; `node.js`, `CI/CD` and `Input/Output` are not."""
    parts = re.split(r"[./]", joined)
    capitalised = [part[:1].isupper() and part[1:].islower() for part in parts]
    return any(capitalised) and ("." in joined or not all(capitalised))


def find(content: str, terms: Sequence[str]) -> Found:
    """Which of the distinct terms a text has, literally."""
    folded = content.casefold()
    present, whole, occurrences = [], 0, 0
    for term in terms:
        exactly, needle = _needle(term)
        text = content if exactly else folded
        count = text.count(needle)
        if count:
            present.append(term)
            occurrences += count
            whole += _whole_words(text, needle)
    return Found(tuple(present), whole, occurrences)


@lru_cache(maxsize=1024)
def _needle(term: str) -> tuple[bool, str]:
    """Whether case matters, and what to look for."""
    exactly = is_case_sensitive(term)
    return exactly, term if exactly else term.casefold()


def _whole_words(text: str, needle: str) -> int:
    """How often a needle is not a part of a longer word."""
    found, at, length = 0, text.find(needle), len(needle)
    while at >= 0:
        end = at + length
        goes_on = _are_one_word(text[at - 1 : at], needle[0]) or _are_one_word(needle[-1], text[end : end + 1])
        found += not goes_on
        at = text.find(needle, end)
    return found


def _are_one_word(one: str, other: str) -> bool:
    """Whether two characters side by side belong to the same word; there may be none at an end of the text."""
    return (one.isalnum() or one == "_") and (other.isalnum() or other == "_")


def boost(present: int) -> float:
    """What exact terms multiply a semantic score by."""
    return float(BOOST**present)


def alone(present: int) -> float:
    """The score of exact terms without any concept."""
    return float(1 - BOOST**-present)

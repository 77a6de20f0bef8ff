"""Redaction of documents: only key blocks, and values that look like credentials; names, types, calls and words stay.

Memories lose whatever is assigned to a password. Source code speaks of passwords in nearly every line about them, so
here a value must be what nobody writes but a machine: random letters and digits.
"""

import re
from collections.abc import Callable
from urllib.parse import unquote

from athand.redaction import redact, redact_key_blocks

# Kinds that a key or a place gives away, so that the value itself may be a word; the others are known by their form.
_JUDGED = frozenset({"password", "secret", "authorization", "seed phrase"})
_LONGEST_ADDRESS = 200  # characters before the password of a connection string
_OPENS_ADDRESS = re.compile(r"://[^\s/\"'<>]*:$")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MIN_WORD = 4  # letters; random text seldom has as many in a row that could be a word
_NO_WORD = re.compile(r"(?i)[^\W\daeiouy_]{5}|^[^aeiouy]+$")
_MAX_WORDS = 0.5  # share of the characters that may belong to words
_MAX_PIECE = 3.5  # mean length of the pieces of one case or of digits: of random text, about 2
_MIN_DIFFERENT = 6  # characters
# Least lengths: with signs that no name has; in quotes; of what could be a name in code.
_MIN_WITH_SIGNS, _MIN_QUOTED, _MIN_BARE = 8, 12, 16
_SIGNS = re.compile(r"[!@#$%^&*+=?~/]")
_CHOSEN = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.+[!@#$^&*?~])[\w!@#$^&*?~.-]{8,}")  # Winter2024!
# Templates, formats, expressions, lists.
_CODE = re.compile(r"\s|,|\[.*\]|\(.*\)|\{.*[}]|<.*>|\[redacted|%[sdr]\b|\$[{(]|\\[wdsbS.]|\(\?|://|::|->|\.\.|^/|\($")
_SAMPLE = re.compile(r"(?i)pass|pwd|secret|token|user|test|example|sample|demo|dummy|foo|bar|word|admin|guest|root")
_MIN_OF_ADDRESS = 5  # characters of the password of a connection string

Redact = Callable[[str], str]
# What the setting `documents_redact` may be. No line break is lost, so that line numbers stay.
MODES: dict[str, Redact] = {
    "values": lambda text: redact(redact_key_blocks(text, "\n"), _is_credential),
    "blocks": lambda text: redact_key_blocks(text, "\n"),
    "off": lambda text: text,
}


def _is_credential(kind: str, text: str, start: int, stop: int) -> bool:
    """Whether what was found between two offsets looks like a credential."""
    if kind not in _JUDGED:
        return True
    value = unquote(text[start:stop])
    if _OPENS_ADDRESS.search(text, max(0, start - _LONGEST_ADDRESS), start):
        return _is_address_password(value)
    is_quoted = text[start - 1 : start] in ("'", '"', "`") and text[stop : stop + 1] == text[start - 1]
    return kind != "seed phrase" and (looks_random(value, is_quoted=is_quoted) or bool(_CHOSEN.fullmatch(value)))


def looks_random(value: str, *, is_quoted: bool) -> bool:
    """Whether a value has letters and digits in an order that no word, name, path or expression has."""
    least = _MIN_WITH_SIGNS if _SIGNS.search(value) else _MIN_QUOTED if is_quoted else _MIN_BARE
    if len(value) < least or len(set(value)) < _MIN_DIFFERENT or _CODE.search(value):
        return False
    pieces = _PIECE.findall(value)
    has_both = any(map(str.isdigit, pieces)) and not all(map(str.isdigit, pieces))
    return has_both and sum(map(len, pieces)) < _MAX_PIECE * len(pieces) and _word_share(value) <= _MAX_WORDS


def _word_share(value: str) -> float:
    """The share of characters in runs of letters that could be words."""
    runs = _LETTERS.findall(value)
    return sum(len(run) for run in runs if len(run) >= _MIN_WORD and not _NO_WORD.search(run)) / len(value)


def _is_address_password(value: str) -> bool:
    """Whether the password of a connection string is a real one: `guest`, `user:password` and templates are not."""
    if len(value) < _MIN_OF_ADDRESS or _CODE.search(value) or _SAMPLE.search(value):
        return False
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))

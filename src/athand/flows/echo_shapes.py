"""Finds typed secrets in disguise: reversed, separated character by character, as hexadecimal digits or base64."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from unicodedata import normalize
from urllib.parse import quote

MIN_ENCODED = 6  # characters of a value whose encoded form cannot be there by chance
_MIN_DIGITS = 12  # of a number whose reverse cannot be there by chance
_CERTAIN_PREFIX = 24  # characters that identify a long form, also where a page truncates it
_MAX_ENCODED = 1000  # characters; after them everything up to the end of the text is masked too
_MIN_PIECES, _MAX_PIECE = 3, 4  # pieces of a separated value; characters of one, on average
_HEX_JOINTS = ("", "x", "0x", "u00")  # what is between two bytes: %70%61, \x70\x61, 0x70 0x61, \u0070\u0061
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_ASCII_SIGNS = {code: None for code in range(128) if not chr(code).isalnum()}
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]"
)


def to_plain(text: str) -> str:
    """The text without invisible characters, and with full-width and other variants of characters as usual ones."""
    return text if text.isascii() else normalize("NFKC", _INVISIBLE.sub("", text))


class Disguises:
    """The disguised forms of values; every search compares letters and digits only, ignoring case and accents."""

    def __init__(self, certain: Iterable[str], numbers: Iterable[str], words: Iterable[str]) -> None:
        certain, numbers, words = ([each[:_MAX_ENCODED] for each in values] for values in (certain, numbers, words))
        plain = [*certain, *numbers]
        reversible = [*certain, *(number for number in numbers if len(number) >= _MIN_DIGITS)]
        encoded = {form for value in (*plain, *words) for form in _encode(value)}
        encoded |= {_skeleton(value)[::-1] for value in reversible}
        separated = {_skeleton(value): _MAX_PIECE for value in plain} | {_skeleton(value): 1 for value in words}
        # Form -> how many characters a piece of it may have on average; any number in an encoded form.
        self._forms = {form: size for form, size in separated.items() if len(form) >= MIN_ENCODED}
        self._forms |= {form: 0 for form in encoded if len(form) >= MIN_ENCODED}
        starts = {form[:_CERTAIN_PREFIX] for form in self._forms}
        self._may_have = re.compile("|".join(starts) or "(?!)")
        self._shortest = min(map(len, starts), default=0)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Where disguised values begin and end, in order."""
        if len(text) < self._shortest or not self._may_have.search(_skeleton(text)):
            return
        characters = [(letter, at) for at, each in enumerate(text) for letter in _one_skeleton(each)]
        letters, places = "".join(letter for letter, _ in characters), [at for _, at in characters]
        spans: list[tuple[int, int]] = []
        for form, size in self._forms.items():
            found = ((places[start], places[stop - 1] + 1) for start, stop in _find(form, letters))
            spans += [span for span in found if size == 0 or _is_separated(text[slice(*span)], size)]
        end = 0
        for start, stop in sorted(spans):
            if stop > end:
                yield max(start, end), stop
                end = stop


def _find(form: str, letters: str) -> Iterator[tuple[int, int]]:
    """Where a form begins and ends in letters; one that was cut ends where the letters differ."""
    at = letters.find(form[:_CERTAIN_PREFIX])
    while at >= 0:
        end = at + _common_length(form, letters[at : at + len(form)])
        yield at, end if len(form) < _MAX_ENCODED else len(letters)
        at = letters.find(form[:_CERTAIN_PREFIX], end)


def _common_length(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _is_separated(text: str, size: int) -> bool:
    """Whether a text is cut into pieces of so few characters that a person would not write it so."""
    pieces = [piece for piece in _NOT_ALPHANUMERIC.split(text) if piece]
    return len(pieces) >= _MIN_PIECES and sum(map(len, pieces)) <= size * len(pieces)


def _skeleton(text: str) -> str:
    """The letters and digits of a text, without case, accents and variants."""
    if text.isascii():
        return text.lower().translate(_ASCII_SIGNS)
    return _NOT_ALPHANUMERIC.sub("", normalize("NFKD", text).casefold())


_one_skeleton = lru_cache(maxsize=4096)(_skeleton)


def _encode(value: str) -> Iterator[str]:
    """The forms of a value as hexadecimal digits and as base64."""
    if len(value) < MIN_ENCODED:
        return
    data = value.encode(errors="replace")
    yield from (_skeleton(joint.join(f"{byte:02x}" for byte in data)) for joint in _HEX_JOINTS)
    for shift in range(3):  # in base64 a value looks different by its place in what is encoded
        whole = b64encode(bytes(shift) + data).decode()
        own = whole[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]
        yield from (_skeleton(own), _skeleton(quote(own, safe="")))

"""Deceptive Unicode: invisible characters and lookalike letters."""

import re
import unicodedata
from functools import lru_cache

# Invisible, though their category does not say so: fillers, a blank Braille cell, and variation selectors.
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_NOT_SEEN = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
_SEEN = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)  # number signs, which are visible
_SPECIAL = re.compile(f"[^\\w\n !-~]|[{_BLANKS}]")  # prefilter: rare characters, each of which is then checked
_BLANK = re.compile(f"[{_BLANKS}]")
_NAMES = {"\0": "NULL", "\t": "TAB", "\n": "LINE FEED", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE", "\x7f": "DELETE"}
_LOOKALIKE_SCRIPTS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "LISU", "COPTIC", "COMBINING")


# Letters of other alphabets that look like Latin ones.
_LATIN = str.maketrans(
    "аеорсухіјѕԁԛԝһАВЕЅІЈКМНОРСТУХοιΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոհ",  # noqa: RUF001
    "aeopcyxijsdqwhABESIJKMHOPCTYXoiABEZHIKMNOPTYXounh",
)
_WORD = re.compile(r"[^\W\d_]{2,}")


@lru_cache(maxsize=1 << 14)
def is_invisible(char: str) -> bool:
    """Whether a character is not displayed; line ends and tabs do not count."""
    if char in "\n\t\r" or char in _SEEN:
        return False
    kind = unicodedata.category(char)
    return kind in _NOT_SEEN or _BLANK.match(char) is not None or (kind == "Cn" and _is_noncharacter(ord(char)))


def find_invisible(text: str) -> list[tuple[int, str]]:
    """Positions and characters that are invisible."""
    if text.isascii() and text.isprintable():
        return []
    return [(found.start(), found[0]) for found in _SPECIAL.finditer(text) if is_invisible(found[0])]


def strip_invisible(text: str) -> str:
    """The text without invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return _SPECIAL.sub(lambda found: "" if is_invisible(found[0]) else found[0], text)


def describe_character(char: str) -> str:
    """A character as code point and name: `<U+200B ZERO WIDTH SPACE>`."""
    known = _NAMES.get(char) or unicodedata.name(char, "") or _category_name(char)
    return f"<U+{ord(char):04X} {known}>"


def escape_invisible(text: str, also: frozenset[str] = frozenset()) -> str:
    """The text with invisible characters, unusual spaces and those in `also` replaced by their names."""
    if text.isascii() and text.isprintable() and not text.endswith(" "):
        return text
    shown = "".join(describe_character(char) if char in also else char for char in text) if also else text
    shown = _SPECIAL.sub(lambda found: describe_character(found[0]) if _is_odd(found[0]) else found[0], shown)
    return re.sub(r"(?<! )( ++)$", lambda found: f"<{len(found[1])} SPACES>", shown, flags=re.MULTILINE)


@lru_cache(maxsize=1 << 14)
def is_lookalike(char: str) -> bool:
    """Whether a non-ASCII character may be mistaken for an ASCII letter, or combines with one."""
    if char.isascii():
        return False
    name = unicodedata.name(char, "")
    return name.startswith(_LOOKALIKE_SCRIPTS) or unicodedata.normalize("NFKC", char).isascii()


def to_latin(text: str) -> str:
    """Replace lookalikes by Latin letters."""
    return text if text.isascii() else text.translate(_LATIN)


def find_mixed_words(text: str) -> list[str]:
    """Words that mix Latin letters with lookalikes."""
    if text.isascii():
        return []
    return [word for word in _WORD.findall(text) if not word.isascii() and _is_mixed(word)]


def _is_mixed(word: str) -> bool:
    others = [char for char in word if not char.isascii()]
    return len(others) < len(word) and all(ord(char) in _LATIN or _is_styled(char) for char in others)


def _is_styled(char: str) -> bool:
    return unicodedata.name(char, "").startswith(("FULLWIDTH LATIN", "MATHEMATICAL"))


def _is_odd(char: str) -> bool:
    return is_invisible(char) or char in "\t\r" or (char != " " and unicodedata.category(char) == "Zs")


def _is_noncharacter(number: int) -> bool:
    """Whether a code point is never assigned; other unassigned ones may be newer emoji."""
    return 0xE0000 <= number < 0xE1000 or 0xFDD0 <= number < 0xFDF0 or number & 0xFFFE == 0xFFFE


def _category_name(char: str) -> str:
    kinds = {"Cc": "CONTROL", "Cs": "LONE SURROGATE", "Co": "PRIVATE USE"}
    return kinds.get(unicodedata.category(char), "NOT A CHARACTER")

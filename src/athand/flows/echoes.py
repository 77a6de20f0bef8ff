"""What was typed, however a page writes it: found wherever it is echoed. Pure."""

import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "[redacted: typed]"
ADDRESS = re.compile(r"[A-Za-z][\w+.-]{0,20}://|[/?#]")
LONGEST_TINY = 3
_LABEL = r"\[redacted: [^\]]*\]"
_NEVER = "(?!)"
# Where a word is the name of something rather than an echo.
_STRUCTURE = frozenset(
    "ref a11yRef role tag testId selector htmlName inputType autocomplete type tool screen after_screen tags flow_tags "
    "branch app_version".split()
)
_LONGEST_WORD, _LONGEST_NUMBER = 8, 7
_LONGEST_GROUPED = 40  # numbers of cards and accounts, which pages write in groups
_CERTAIN = 24  # characters by which a long value is known, also where it was cut
_LONGEST_KNOWN = 1000  # of what is longer, everything behind is removed too


class Echoes:
    """Values however a page writes them: certain ones wherever they are, words and numbers where they stand alone."""

    def __init__(self, values: Iterable[str]) -> None:
        weak = sorted(filter(_is_weak, values))
        numbers = [_digits(value) for value in values if not _is_weak(value) and _is_number(value)]
        certain = [value for value in values if not _is_weak(value) and not _is_number(value)]
        self._forms = [form for value in certain for form in _forms(value)]
        is_phrase = sum(len(value) > LONGEST_TINY and value.isalpha() for value in weak) > 2
        tiny = [value for value in weak if len(value) <= LONGEST_TINY or (is_phrase and value.isalpha())]
        whole = _either(rf"(?<!\w){_cased(value)}(?!\w)" for value in weak if value not in tiny)
        alone = _either(map(_cased, tiny))
        phrase = rf"(?<!\w)(?i:{alone})(?:\W+(?:\d+\W+)?(?i:{alone}))+(?!\w)" if is_phrase else _NEVER
        grouped = _either(r"(?<!\d)" + r"[\s-]?".join(digits) + r"(?!\d)" for digits in numbers)
        anywhere = rf"{_LABEL}|{grouped}|(?<==)(?:{_either(map(_cased, weak))})(?=[&#;]|\Z)"
        starts = {form.split(" ")[0][:LONGEST_TINY].casefold() for form in (*self._forms, *weak)}
        starts |= {digits[0] for digits in numbers}
        self._may_have = re.compile(_either(map(re.escape, starts)))
        self._certain = re.compile(rf"{_LABEL}|(?i:{_either(_spaced(form[:_CERTAIN]) for form in self._forms)})")
        self._in_name = re.compile(anywhere)
        self._in_text = re.compile(rf"{anywhere}|{whole}|{phrase}|(?<=[\"'])(?:{alone})(?=[\"'])")
        self._whole = re.compile(rf"\s*(?:\d{{1,2}}[.):]?\s+)?(?:{alone})\s*")

    def remove(self, text: str, key: str) -> str:
        """The text without them; `key` says where it stands."""
        if not self._may_have.search(text.casefold()):
            return text
        text = self._without_certain(text)
        if key in _STRUCTURE or ADDRESS.match(text):
            return self._in_name.sub(_masked, text)
        return MASK if self._whole.fullmatch(text) else self._in_text.sub(_masked, text)

    def _without_certain(self, text: str) -> str:
        """Long ones were perhaps cut by whoever showed them: as much goes as is there."""
        kept, end = [], 0
        while found := self._certain.search(text, end):
            is_label = found[0].startswith("[redacted: ")
            kept += [text[end : found.start()], found[0] if is_label else MASK]
            reached = [_reach(text, found.start(), form) for form in self._forms if not is_label]
            end = max(found.end(), *reached) if reached else found.end()
        return "".join([*kept, text[end:]])


def _reach(text: str, at: int, form: str) -> int:
    """How far a text goes on like this form, case aside; what was too long to be known reaches to the end."""
    for character in form:
        if character == " " and text[at : at + 1].isspace():
            at += len(text[at:]) - len(text[at:].lstrip())
        elif character.casefold() == text[at : at + 1].casefold():
            at += 1
        else:
            return at
    return at if len(form) < _LONGEST_KNOWN else len(text)


def _masked(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("[redacted: ") else MASK


def _either(patterns: Iterable[str]) -> str:
    return "|".join(patterns) or _NEVER


def _is_weak(value: str) -> bool:
    """Whether a value may well be a word or a number that is there anyway."""
    is_word = value.isascii() and value.isalpha() and len(value) <= _LONGEST_WORD
    return len(value) <= LONGEST_TINY or is_word or (value.isdecimal() and len(value) <= _LONGEST_NUMBER)


def _cased(value: str) -> str:
    return f"(?:{_either(map(re.escape, sorted({value, value.lower(), value.upper()})))})"


def _digits(value: str) -> str:
    return re.sub(r"[\s-]", "", value)


def _is_number(value: str) -> bool:
    return _digits(value).isdecimal() and len(value) <= _LONGEST_GROUPED


def _forms(value: str) -> list[str]:
    """How pages and addresses write a text: as it is, in other case, and escaped for URL, JSON and HTML."""
    start = value[:_LONGEST_KNOWN]
    forms: list[str] = []
    for text in (start, start.upper(), start.lower()):
        forms += [text, quote_plus(text, errors="replace")]
        forms += [quote(text, safe, errors="replace") for safe in ("", "/", "!#$&'()*+,/:;=?@~")]
        forms += [json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)]
        in_html = [html.escape(text, quote=is_quoted) for is_quoted in (True, False)]
        forms += [*in_html, *(each.replace("&#x27;", "&#39;") for each in in_html)]
    unlike = {form.lower() if form.isascii() else form: form for form in forms}  # case aside, as they are looked for
    return sorted(unlike.values(), key=len, reverse=True)


def _spaced(text: str) -> str:
    return re.escape(text).replace(r"\ ", r"\s+")

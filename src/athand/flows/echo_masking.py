"""Masks typed secrets wherever a page or URL echoes them, in any usual encoding; kept in memory only, by session."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from threading import Lock
from typing import Any
from urllib.parse import quote, quote_plus

from athand.flows.echo_shapes import MIN_ENCODED, Disguises, to_plain
from athand.flows.secrets import MASK, MAX_TINY, URL_START, map_texts

_LABEL = r"\[redacted: [^\]]*\]"
_NEVER = "(?!)"
# Keys whose values are names of the page: a short word in them is no echo.
_STRUCTURAL_KEYS = frozenset(
    "ref a11yRef role tag testId selector htmlName inputType autocomplete type tool screen after_screen tags flow_tags "
    "branch app_version".split()
)
_MAX_WORD, _MAX_NUMBER = 8, 7  # characters of words and numbers that may be there by chance
_MAX_GROUPED = 40  # characters of card and account numbers, which pages write in groups
_CERTAIN_PREFIX = 24  # characters that identify a long value, also where a page truncates it
_MAX_COMPARED = 1000  # characters; after them everything up to the end of the text is masked too
_MAX_CACHED, _MAX_CACHED_TEXTS = 200, 4096  # characters of a text whose result is cached; how many are
_MIN_PHRASE_WORDS = 12  # of a recovery phrase
_CHARACTER_KEY = re.compile(r"(?:Shift\+)?(?:Key|Digit|Numpad)?(.)", re.DOTALL)
_NAMED_KEY = re.compile(
    r"(?:Shift\+)?(?:Space|Minus|Equal|Bracket\w+|(?:Intl)?Backslash|Semicolon|Quote|Backquote|Comma|Period|Slash|Numpad\w+)"
)


class TypedSecrets:
    """The values typed into secret fields, by session."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: dict[str, frozenset[str]] = {}
        self._maskers: dict[str, EchoMasker] = {}
        self._pressed: dict[str, str] = {}

    def values_of(self, session_id: str) -> frozenset[str]:
        """The secrets of a session."""
        return self._values.get(session_id, frozenset())

    def forget(self, session_id: str) -> None:
        """Drops the secrets of a session."""
        with self._lock:
            for values in (self._values, self._maskers, self._pressed):
                values.pop(session_id, None)

    def add_key(self, session_id: str, key: str) -> None:
        """Adds a key pressed in a secret field; keys in sequence make one value."""
        found = _CHARACTER_KEY.fullmatch(key)
        with self._lock:
            before = self._pressed.get(session_id, "")
            pressed = self._pressed[session_id] = before + found[1] if found else ""
            if found and before in self._values.get(session_id, ()):
                self._values[session_id] -= {before}
        if found is None and not _NAMED_KEY.fullmatch(key):
            self.add(session_id, key)
        if len(pressed) > MAX_TINY:
            self.add(session_id, pressed)

    def add(self, session_id: str, value: str) -> None:
        """Adds a value: from now on it is masked in the session; so are the words of a recovery phrase."""
        words = value.split()
        new = {" ".join(words), *(words if len(words) >= _MIN_PHRASE_WORDS else ())} - {"", MASK}
        with self._lock:
            known = self._values.get(session_id, frozenset())
            if not new <= known:
                self._values[session_id] = known | new
                self._maskers[session_id] = EchoMasker(known | new)

    def share(self, session_id: str, other_id: str) -> None:
        """Adds the secrets of one session to another that sees the same pages."""
        for value in self.values_of(session_id):
            self.add(other_id, value)

    def mask(self, session_id: str, value: Any) -> Any:
        """A JSON-like value with the echoes of the session's secrets masked."""
        masker = self._maskers.get(session_id)
        return value if masker is None else map_texts(value, masker.mask)


class EchoMasker:
    """Masks values in texts: unmistakable ones anywhere, short words and numbers only where they stand alone."""

    def __init__(self, values: Iterable[str]) -> None:
        weak = sorted(filter(_is_weak, values))
        as_typed = [value for value in values if not _is_weak(value) and _is_number(value)]
        numbers = list(map(_digits, as_typed))
        certain = [value for value in values if not _is_weak(value) and not _is_number(value)]
        self._forms = [form for value in certain for form in _encodings(value)]
        is_phrase = sum(len(value) > MAX_TINY and value.isalpha() for value in weak) > 2
        tiny = [value for value in weak if len(value) <= MAX_TINY or (is_phrase and value.isalpha())]
        words = [] if is_phrase else [value for value in weak if value.isalpha() and len(value) >= MIN_ENCODED]
        backwards = [word[::-1] for word in words]
        alike = [*(value for value in weak if value not in tiny), *backwards]
        whole = _any_of(rf"(?<!\w){_any_case(value)}(?!\w)" for value in alike)
        alone = _any_of(map(_any_case, tiny))
        phrase = rf"(?<!\w)(?i:{alone})(?:\W+(?:\d+\W+)?(?i:{alone}))+(?!\w)" if is_phrase else _NEVER
        grouped = _any_of(r"(?<!\d)" + r"[\s-]?".join(digits) + r"(?!\d)" for digits in numbers)
        anywhere = rf"{_LABEL}|{grouped}|(?<==)(?:{_any_of(map(_any_case, weak))})(?=[&#;]|\Z)"
        starts = {form.split(" ")[0][:MAX_TINY].casefold() for form in (*self._forms, *weak, *backwards)}
        starts |= {digits[0] for digits in numbers}
        self._may_have = re.compile(_any_of(map(re.escape, starts)))
        self._certain = re.compile(
            rf"{_LABEL}|(?i:{_any_of(_flexible_spaces(form[:_CERTAIN_PREFIX]) for form in self._forms)})"
        )
        self._in_name = re.compile(anywhere)
        self._in_text = re.compile(rf"{anywhere}|{whole}|{phrase}|(?<=[\"'])(?:{alone})(?=[\"'])")
        self._whole = re.compile(rf"\s*(?:\d{{1,2}}[.):]?\s+)?(?:{alone})\s*")
        self._disguises = Disguises(certain, [*numbers, *as_typed], words)
        self._mask_cached = lru_cache(maxsize=_MAX_CACHED_TEXTS)(self._mask)  # pages repeat their texts

    def mask(self, text: str, key: str) -> str:
        """The text with the values masked; `key` is the JSON key it was found under."""
        return self._mask_cached(text, key) if len(text) <= _MAX_CACHED else self._mask(text, key)

    def _mask(self, text: str, key: str) -> str:
        plain = to_plain(text)
        if plain != text:
            masked = self._mask_other_shapes(self._mask_echoes(plain, key))
            if masked != plain:
                return masked
        return self._mask_other_shapes(self._mask_echoes(text, key))

    def _mask_other_shapes(self, text: str) -> str:
        kept, end = [], 0
        for start, stop in self._disguises.find(text):
            kept += [text[end:start], MASK]
            end = stop
        return "".join([*kept, text[end:]]) if kept else text

    def _mask_echoes(self, text: str, key: str) -> str:
        """The text with the values masked where they are written as they are, or escaped."""
        if not self._may_have.search(text.casefold()):
            return text
        text = self._mask_certain(text)
        if key in _STRUCTURAL_KEYS or URL_START.match(text):
            return self._in_name.sub(_to_mask, text)
        return MASK if self._whole.fullmatch(text) else self._in_text.sub(_to_mask, text)

    def _mask_certain(self, text: str) -> str:
        """Masks the unmistakable values; of a truncated one, as much as is there."""
        kept, end = [], 0
        while found := self._certain.search(text, end):
            is_label = found[0].startswith("[redacted: ")
            kept += [text[end : found.start()], found[0] if is_label else MASK]
            reached = [_match_end(text, found.start(), form) for form in self._forms if not is_label]
            end = max(found.end(), *reached) if reached else found.end()
        return "".join([*kept, text[end:]])


def _match_end(text: str, at: int, form: str) -> int:
    """The end of the longest match of a form from a position on, ignoring case; the end of the text for long values."""
    for character in form:
        if character == " " and text[at : at + 1].isspace():
            at += len(text[at:]) - len(text[at:].lstrip())
        elif character.casefold() == text[at : at + 1].casefold():
            at += 1
        else:
            return at
    return at if len(form) < _MAX_COMPARED else len(text)


def _to_mask(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("[redacted: ") else MASK


def _any_of(patterns: Iterable[str]) -> str:
    return "|".join(patterns) or _NEVER


def _is_weak(value: str) -> bool:
    """Whether a value is so short or common that it may be there by chance."""
    is_word = value.isascii() and value.isalpha() and len(value) <= _MAX_WORD
    return len(value) <= MAX_TINY or is_word or (value.isdecimal() and len(value) <= _MAX_NUMBER)


def _any_case(value: str) -> str:
    return f"(?:{_any_of(map(re.escape, sorted({value, value.lower(), value.upper()})))})"


def _digits(value: str) -> str:
    return re.sub(r"[\s-]", "", value)


def _is_number(value: str) -> bool:
    return _digits(value).isdecimal() and len(value) <= _MAX_GROUPED


def _encodings(value: str) -> list[str]:
    """A text as pages and URLs write it: plain, in upper and lower case, escaped for URL, JSON and HTML."""
    import html

    start = value[:_MAX_COMPARED]
    forms: list[str] = []
    for text in (start, start.upper(), start.lower()):
        forms += [text, quote_plus(text, errors="replace")]
        forms += [quote(text, safe, errors="replace") for safe in ("", "/", "!#$&'()*+,/:;=?@~")]
        forms += [json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)]
        in_html = [html.escape(text, quote=is_quoted) for is_quoted in (True, False)]
        forms += [*in_html, *(each.replace("&#x27;", "&#39;") for each in in_html)]
    distinct = {form.lower() if form.isascii() else form: form for form in forms}  # the search ignores case
    return sorted(distinct.values(), key=len, reverse=True)


def _flexible_spaces(text: str) -> str:
    return re.escape(text).replace(r"\ ", r"\s+")

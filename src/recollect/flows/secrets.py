"""What must not be kept of a session: what was typed into secret fields, its echoes too, and secrets by their shape."""

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from recollect import redaction
from recollect.flows.model import Observation, Target
from recollect.flows.profiles import Profile
from recollect.text import split_identifier

MASK = "[redacted: typed]"
_MASK_IN_ADDRESS = "[redacted: secret]"
_LABEL = r"\[redacted: [^\]]*\]"
_NEVER = "(?!)"

_SECRET_AUTOCOMPLETE = {"current-password", "new-password", "one-time-code", "cc-number", "cc-csc"}
_FIELDS = ("textbox", "combobox", "spinbutton")
_NO_FIELDS = "link button searchbox checkbox radio switch tab menuitem option heading img slider".split()
_NO_SECRET_TYPES = ("search", "email", "checkbox", "radio", "submit", "button", "date", "file", "color", "range")
_TOLD_BY = ("htmlName", "testId", "selector", "name")
# Read in words: identifiers are split, case and accents are gone.
_SECRET_WORDS = re.compile(
    r"password|passwort|passphrase|passcode|kennwort|contrasena|mot de passe|wachtwoord|passord|losenord|adgangskode|"
    r"salasana|парол|密码|密碼|口令|パスワード|暗証|비밀번호|كلمة المرور|סיסמ|"
    r"\b(?:senha|sifre|hasło|haslo|heslo|jelszo|parola|pwd|passwd|pin|pins|otp|totp|cvv|cvc|csc|ssn|mnemonic|secret|"
    r"(?:seed|recovery|secret|backup) ?(?:phrase|words?)|(?:private|secret|api|access|recovery|encryption) ?key|"
    r"(?:access|api|auth|bearer|refresh) ?token|(?:security|secret) ?answer|(?:credit |debit )?card ?(?:number|no)|"
    r"(?:security|verification|auth(?:entication|enticator)?|sms|login|backup|recovery|access|one ?time|2 ?fa|mfa)"
    r" ?code)\b|(?:^|\b(?:user|login|name) )pass$"
)
_ABOUT_SECRETS = re.compile(
    r"\b(?:forgot|forgotten|lost|show|hide|toggle|remember)(?: (?:your|my|the))? (?:password|passcode|passphrase|pin)\b"
)
_SEARCHES = re.compile(r"\b(?:search|filter|find)\b")

# Where a word is the name of something rather than an echo.
_STRUCTURE = frozenset("ref a11yRef role tag testId selector htmlName inputType autocomplete type tool screen".split())
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]{0,20}://|[/?#]")
_LONGEST_WORD, _LONGEST_NUMBER, _LONGEST_TINY = 8, 7, 3
_LONGEST_GROUPED = 40  # numbers of cards and accounts, which pages write in groups
_SEED_WORDS = 12  # the fewest of a recovery phrase
_CERTAIN = 24  # characters by which a long value is known, also where it was cut
_LONGEST_KNOWN = 1000  # of what is longer, everything behind is removed too

_LONGEST_PARAMETER = 100
_USERINFO = re.compile(r"([A-Za-z][\w+.-]{0,20}://)[^/?#\s\"'<>]*@")
_PARAMETER = re.compile(rf"(?<=[?&#;])([^=&#?;\s]{{1,{_LONGEST_PARAMETER}}})=((?!\[redacted:)[^&#;\s\"'<>]+)")
_IN_TEXT = re.compile(r"[A-Za-z][\w+.-]{1,20}://[^\s\"'<>]+")
_ALWAYS_SECRET = set(
    "password passwd passphrase passcode pwd pass secret pin otp totp jwt signature sig credential credentials "
    "assertion apikey samlresponse samlrequest".split()
)
_MAYBE_SECRET = set("token key code auth authorization session sessionid sid ticket state nonce hash access".split())
_OPAQUE = re.compile(r"(?!0x[0-9a-fA-F]{40}$)(?=.*\d|.*[a-z][A-Z])[\w.~%+/=-]{8,}")

# Short words and numbers that do not speak of secrets: nothing that redaction would find.
_HARMLESS = re.compile(r"(?:[A-Za-z]{0,15}+[0-9]{0,4}+(?:[^A-Za-z0-9<@=\\%]++|\Z))*+")
_TELLING = re.compile("pass|pwd|secret|token|credential|auth|key|phrase|bearer|curl|mysql")


def is_secret(target: Target, before: Observation | None, given: Mapping[str, Any], profile: Profile) -> bool:
    """Whether what is typed there must not be kept: the caller says so, or the field does, by any of its names."""
    if given.get("secret") is True:
        return True
    named = [target, *(_meant(target, before) if before else ())]
    if any(_is_secret_field(field, profile.secret_fields) for field in named):
        return True
    if before is None or any(field.get("role") for field in named):
        return False
    # Nobody can say which field it was: it may be any of them.
    possible = [node for node in before.a11y if node.get("role") in _FIELDS]
    return bool(possible) and all(_is_secret_field(field, profile.secret_fields) for field in possible)


def _meant(target: Target, before: Observation) -> Iterator[Mapping[str, Any]]:
    """What was seen of a target, by any way it is named; without a target, what has the focus."""
    for node in (*before.a11y, *before.test_ids):
        by_name = "name" in target and (node.get("role"), node.get("name")) == (target.get("role"), target["name"])
        by_ref = "a11yRef" in target and node.get("ref") == target["a11yRef"]
        by_test_id = "testId" in target and node.get("testId") == target["testId"]
        if by_name or by_ref or by_test_id or (not target and node.get("focused")):
            yield node


def _is_secret_field(field: Mapping[str, Any], extra: Sequence[str]) -> bool:
    """Whether a target, or a node of the page, is a field for secrets."""
    autocomplete = str(field.get("autocomplete") or "").lower().split()
    if field.get("protected") is True or not _SECRET_AUTOCOMPLETE.isdisjoint(autocomplete):
        return True
    kind = str(field.get("inputType") or "").lower()
    if kind in _NO_SECRET_TYPES or field.get("role") in _NO_FIELDS:
        return False
    return kind == "password" or any(_names_secret(str(field[key]), tuple(extra)) for key in _TOLD_BY if field.get(key))


@lru_cache(maxsize=4096)
def _names_secret(name: str, extra: tuple[str, ...]) -> bool:
    words = " ".join(split_identifier(name[:500]))
    if _SEARCHES.search(words):
        return False
    own = (" ".join(split_identifier(each)) for each in extra)
    return bool(_SECRET_WORDS.search(_ABOUT_SECRETS.sub(" ", words))) or any(
        f" {each} " in f" {words} " for each in own if each
    )


class Typed:
    """What was typed into secret fields, by session; in memory only."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: dict[str, frozenset[str]] = {}
        self._echoes: dict[str, _Echoes] = {}

    def remember(self, session_id: str, value: str) -> None:
        """From now on this value is removed from what is recorded in the session."""
        words = value.split()
        new = {" ".join(words), *(words if len(words) >= _SEED_WORDS else ())} - {"", MASK}
        with self._lock:
            known = self._values.get(session_id, frozenset())
            if not new <= known:
                self._values[session_id] = known | new
                self._echoes[session_id] = _Echoes(known | new)

    def without(self, session_id: str, anything: Any) -> Any:
        """The same, with a mask in the place of every remembered value, however it is written."""
        echoes = self._echoes.get(session_id)
        return anything if echoes is None else _deep(anything, cache(echoes.remove))


def cleaned(value: Any, secret_fields: Sequence[str] = ()) -> Any:
    """The same without secrets that show by their shape, in all its texts, and without values of secret fields."""

    def change(text: str, _: str) -> str:
        if _HARMLESS.fullmatch(text) and not _TELLING.search(text.lower()):
            return text
        text = clean_url(text) if _ADDRESS.match(text) else _IN_TEXT.sub(lambda address: clean_url(address[0]), text)
        return redaction.clean(text)

    return _deep(value, cache(change), secret_fields)


def clean_url(url: str) -> str:
    """The address without user and password, and without the values of parameters that hold secrets."""
    return _PARAMETER.sub(_without_value, _USERINFO.sub(r"\1", url))


def _without_value(parameter: re.Match[str]) -> str:
    name, value = parameter.groups()
    inner = unquote(unquote(value))  # an address to go on to may be in it
    is_inside = inner != value and (
        _USERINFO.search(inner) or any(_holds_secret(*each) for each in _PARAMETER.findall(inner))
    )
    return f"{name}={_MASK_IN_ADDRESS}" if is_inside or _holds_secret(name, value) else parameter[0]


def _holds_secret(name: str, value: str) -> bool:
    words = {name.lower(), *split_identifier(unquote(name))}
    return bool(words & _ALWAYS_SECRET or (words & _MAYBE_SECRET and _OPAQUE.fullmatch(value)))


def _deep(value: Any, change: Callable[[str, str], str], secret_fields: Sequence[str] = (), key: str = "") -> Any:
    """A JSON-like value with every text in it changed; a secret field's own value is masked."""
    if isinstance(value, str):
        return change(value, key)
    if isinstance(value, Mapping):
        if value.get("value") and _is_secret_field(value, secret_fields):
            value = {**value, "value": MASK}
        return {
            name: change(each, name) if isinstance(each, str) else _deep(each, change, secret_fields, name)
            for name, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        changed = [
            change(each, key) if isinstance(each, str) else _deep(each, change, secret_fields, key) for each in value
        ]
        return tuple(changed) if isinstance(value, tuple) else changed
    return value


class _Echoes:
    """Values however a page writes them: certain ones wherever they are, words and numbers where they stand alone."""

    def __init__(self, values: Iterable[str]) -> None:
        weak = sorted(filter(_is_weak, values))
        numbers = [_digits(value) for value in values if not _is_weak(value) and _is_number(value)]
        certain = [value for value in values if not _is_weak(value) and not _is_number(value)]
        self._forms = [form for value in certain for form in _forms(value)]
        is_phrase = sum(len(value) > _LONGEST_TINY and value.isalpha() for value in weak) > 2
        tiny = [value for value in weak if len(value) <= _LONGEST_TINY or (is_phrase and value.isalpha())]
        whole = _either(rf"(?<!\w){_cased(value)}(?!\w)" for value in weak if value not in tiny)
        alone = _either(map(_cased, tiny))
        phrase = rf"(?<!\w)(?i:{alone})(?:\W+(?:\d+\W+)?(?i:{alone}))+(?!\w)" if is_phrase else _NEVER
        grouped = _either(r"(?<!\d)" + r"[\s-]?".join(digits) + r"(?!\d)" for digits in numbers)
        anywhere = rf"{_LABEL}|{grouped}|(?<==)(?:{_either(map(_cased, weak))})(?=[&#;]|\Z)"
        starts = {form.split(" ")[0][:_LONGEST_TINY].casefold() for form in (*self._forms, *weak)}
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
        if key in _STRUCTURE or _ADDRESS.match(text):
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
    return len(value) <= _LONGEST_TINY or is_word or (value.isdecimal() and len(value) <= _LONGEST_NUMBER)


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

"""Finds secrets in steps: secret fields by their names and types, secrets in texts and URLs by their form. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from athand import redaction
from athand.flows.model import Observation, Target
from athand.flows.profiles import Profile
from athand.text import split_identifier

MASK = "[redacted: typed]"
URL_START = re.compile(r"[A-Za-z][\w+.-]{0,20}://|[/?#]")
MAX_TINY = 3  # characters of a value that is too short to be searched for in texts
_MASK_IN_URL = "[redacted: secret]"
_MASKED = "[redacted: "

_SECRET_AUTOCOMPLETE = {"current-password", "new-password", "one-time-code", "cc-number", "cc-csc"}
_FIELD_ROLES = ("textbox", "combobox", "spinbutton")
_NON_FIELD_ROLES = "link button searchbox checkbox radio switch tab menuitem option heading img slider".split()
_INPUT_TAGS = ("input", "textarea")  # elements whose text was entered by the user
_PUBLIC_INPUT_TYPES = ("search", "email", "checkbox", "radio", "submit", "button", "date", "file", "color", "range")
_NAME_KEYS = ("htmlName", "testId", "selector", "name")
# Matched against words: identifiers are split, case and accents are removed.
_SECRET_WORDS = re.compile(
    r"password|passwort|passphrase|passcode|kennwort|contrasena|mot de passe|wachtwoord|passord|losenord|adgangskode|"
    r"salasana|парол|密码|密碼|口令|パスワード|暗証|비밀번호|كلمة المرور|סיסמ|"
    r"\b(?:senha|sifre|hasło|haslo|heslo|jelszo|parola|pw|pwd|passwd|pin|pins|otp|totp|cvv|cvc|csc|ssn|mnemonic|secret|"
    r"(?:seed|recovery|secret|backup) ?(?:phrase|words?)|(?:private|secret|api|access|recovery|encryption) ?key|"
    r"(?:access|api|auth|bearer|refresh) ?token|(?:security|secret) ?answer|(?:credit |debit )?card ?(?:number|no)|"
    r"(?:security|verification|auth(?:entication|enticator)?|sms|login|backup|recovery|access|one ?time|2 ?fa|mfa)"
    r" ?code)\b|(?:^|\b(?:user|login|name) )pass$"
)
_SECRET_CONTROLS = re.compile(
    r"\b(?:forgot|forgotten|lost|show|hide|toggle|remember)(?: (?:your|my|the))? (?:password|passcode|passphrase|pin)\b"
)
_SEARCH_WORDS = re.compile(r"\b(?:search|filter|find)\b")

_MIN_KEY_LENGTH = 16  # characters of a generated key
_KEY_WORDS = frozenset(("token", "key"))

# Keys that enter no character.
_CONTROL_KEY = re.compile(
    r"(?:\w+\+)*(?:Enter|Tab|Escape|Backspace|Delete|Insert|Home|End|Page\w+|Arrow\w+|F\d+|CapsLock|Shift|Control|Alt|"
    r"Meta|ControlOrMeta)|(?:\w+\+)*(?:Control|Alt|Meta|ControlOrMeta)\+.+"
)

_MAX_PARAMETER_NAME = 100
_USERINFO = re.compile(r"([A-Za-z][\w+.-]{0,20}://)[^/?#\s\"'<>]*@")
_PARAMETER = re.compile(rf"(?<=[?&#;])([^=&#?;\s]{{1,{_MAX_PARAMETER_NAME}}})=((?!\[redacted:)[^&#;\s\"'<>]+)")
_URL_IN_TEXT = re.compile(r"[A-Za-z][\w+.-]{1,20}://[^\s\"'<>]+")
_SECRET_PARAMETERS = set(
    "password passwd passphrase passcode pwd pass secret pin otp totp jwt signature sig credential credentials "
    "assertion apikey samlresponse samlrequest".split()
)
_OPAQUE_PARAMETERS = set(
    "token key code auth authorization session sessionid sid ticket state nonce hash access".split()
)
_OPAQUE = re.compile(r"(?!0x[0-9a-fA-F]{40}$)(?=.*\d|.*[a-z][A-Z])[\w.~%+/=-]{8,}")

# Fast path: short words and numbers, in which redaction finds nothing.
_HARMLESS = re.compile(r"(?:[A-Za-z]{0,15}+[0-9]{0,4}+(?:[^A-Za-z0-9<@=\\%]++|\Z))*+")
_MIN_TOKEN = 12  # characters without a space
_MAX_CACHED = 200  # characters of a text whose result is cached
_SECRET_HINT = re.compile("pass|pwd|secret|token|credential|auth|key|phrase|bearer|curl|mysql")


def is_secret(target: Target, before: Observation | None, given: Mapping[str, Any], profile: Profile) -> bool:
    """Whether text typed into a target is secret: the caller says so, or its field is one for secrets."""
    if given.get("secret") is True:
        return True
    named = [target, *(_matching_elements(target, before) if before else ())]
    texts = [text for name in ("text", "value") if isinstance(text := given.get(name), str)]
    if any(_is_secret_field(field, profile.secret_fields) or _holds_key(field, texts) for field in named):
        return True
    if before is None or any(field.get("role") for field in named):
        return False
    # The field is unknown: it may be any of them.
    possible = [node for node in before.a11y if node.get("role") in _FIELD_ROLES]
    return bool(possible) and all(_is_secret_field(field, profile.secret_fields) for field in possible)


def _matching_elements(target: Target, before: Observation) -> Iterator[Mapping[str, Any]]:
    """The elements that any part of a target matches; without a target, the focused one."""
    for node in (*before.a11y, *before.test_ids):
        by_name = "name" in target and (node.get("role"), node.get("name")) == (target.get("role"), target["name"])
        by_ref = "a11yRef" in target and node.get("ref") == target["a11yRef"]
        by_test_id = "testId" in target and node.get("testId") == target["testId"]
        if by_name or by_ref or by_test_id or (not target and node.get("focused")):
            yield node


def _is_secret_field(field: Mapping[str, Any], extra: Sequence[str]) -> bool:
    """Whether a target or element is a field for secrets."""
    autocomplete = str(field.get("autocomplete") or "").lower().split()
    if field.get("protected") is True or not _SECRET_AUTOCOMPLETE.isdisjoint(autocomplete):
        return True
    kind = str(field.get("inputType") or "").lower()
    if kind in _PUBLIC_INPUT_TYPES or field.get("role") in _NON_FIELD_ROLES:
        return False
    return kind == "password" or any(
        is_secret_name(str(field[key]), tuple(extra)) for key in _NAME_KEYS if field.get(key)
    )


def _holds_key(field: Mapping[str, Any], texts: Iterable[str]) -> bool:
    """Whether a field for tokens or keys, which may also be public ones, holds a generated one."""
    if field.get("role") in _NON_FIELD_ROLES or not any(
        len(text) >= _MIN_KEY_LENGTH and _OPAQUE.fullmatch(text) for text in texts
    ):
        return False
    return any(
        not _KEY_WORDS.isdisjoint(split_identifier(str(field[key])[:500])) for key in _NAME_KEYS if field.get(key)
    )


def is_target_visible(target: Target, before: Observation | None) -> bool:
    """Whether the element of a target is in the observation."""
    return before is not None and any(True for _ in _matching_elements(target, before))


@lru_cache(maxsize=4096)
def is_secret_name(name: str, extra: tuple[str, ...] = ()) -> bool:
    """Whether a field or parameter with this name holds a secret."""
    words = " ".join(split_identifier(name[:500]))
    if _SEARCH_WORDS.search(words):
        return False
    own = (" ".join(split_identifier(each)) for each in extra)
    return bool(_SECRET_WORDS.search(_SECRET_CONTROLS.sub(" ", words))) or any(
        f" {each} " in f" {words} " for each in own if each
    )


def is_control_key(key: str) -> bool:
    """Whether a key enters no character, such as Enter or Control+v."""
    return _CONTROL_KEY.fullmatch(key) is not None


def secret_field_values(seen: Observation, profile: Profile) -> Iterator[str]:
    """The values that the secret fields of a page show; values shown as dots are left out."""
    for node in (*seen.a11y, *seen.test_ids):
        texts = [str(node[key]) for key in _secret_value_keys(node, profile.secret_fields)]
        yield from (text for text in texts if len(set(text)) > 1 and len(text) > MAX_TINY and _MASKED not in text)


def _secret_value_keys(field: Mapping[str, Any], extra: Sequence[str]) -> list[str]:
    """The keys of a field that hold its secret value; none if it is no field for secrets."""
    keys = [key for key in ("value", "text") if field.get(key) and (key == "value" or field.get("tag") in _INPUT_TAGS)]
    is_secret_field = keys and (_is_secret_field(field, extra) or _holds_key(field, (str(field[key]) for key in keys)))
    return keys if is_secret_field else []


def clean_value(value: Any, secret_fields: Sequence[str] = ()) -> Any:
    """A JSON-like value with secrets redacted: in texts by their form, in secret fields by their name."""
    return map_texts(
        value, lambda text, _: _clean_cached(text) if len(text) <= _MAX_CACHED else _clean_text(text), secret_fields
    )


def _clean_text(text: str) -> str:
    """A text with URLs cleaned and secrets redacted by their form."""
    is_plain = all(len(run) < _MIN_TOKEN or run.isalpha() for run in text.split())
    if is_plain and _HARMLESS.fullmatch(text) and not _SECRET_HINT.search(text.lower()):
        return text
    text = clean_url(text) if URL_START.match(text) else _URL_IN_TEXT.sub(lambda address: clean_url(address[0]), text)
    return redaction.clean(text)


_clean_cached = lru_cache(maxsize=1 << 14)(_clean_text)  # pages repeat their texts


def clean_url(url: str) -> str:
    """A URL without user and password, and with the values of secret parameters masked."""
    return _PARAMETER.sub(_mask_parameter, _USERINFO.sub(r"\1", url))


def _mask_parameter(parameter: re.Match[str]) -> str:
    name, value = parameter.groups()
    inner = unquote(unquote(value))  # it may be a URL to redirect to
    is_inside = inner != value and (
        _USERINFO.search(inner) or any(_is_secret_parameter(*each) for each in _PARAMETER.findall(inner))
    )
    return f"{name}={_MASK_IN_URL}" if is_inside or _is_secret_parameter(name, value) else parameter[0]


def _is_secret_parameter(name: str, value: str) -> bool:
    words = {name.lower(), *split_identifier(unquote(name))}
    return bool(words & _SECRET_PARAMETERS or (words & _OPAQUE_PARAMETERS and _OPAQUE.fullmatch(value)))


def _clean_key(name: str) -> str:
    return name if len(name) < _MIN_TOKEN else _clean_cached(name)


def map_texts(value: Any, change: Callable[[str, str], str], secret_fields: Sequence[str] = (), key: str = "") -> Any:
    """A JSON-like value with `change(text, key)` applied to its texts, and the values of secret fields masked."""
    if isinstance(value, str):
        return change(value, key)
    if isinstance(value, Mapping):
        own = tuple(secret_fields)
        value = {**value, **dict.fromkeys(_secret_value_keys(value, own), MASK)}
        value |= {
            name: MASK for name, each in value.items() if isinstance(each, str) and each and is_secret_name(name, own)
        }
        return {
            _clean_key(name): change(each, name)
            if isinstance(each, str)
            else map_texts(each, change, secret_fields, name)
            for name, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        changed = [
            change(each, key) if isinstance(each, str) else map_texts(each, change, secret_fields, key)
            for each in value
        ]
        return tuple(changed) if isinstance(value, tuple) else changed
    return value

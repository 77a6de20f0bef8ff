"""What must not be kept of a session: what was typed into secret fields, its echoes too, and secrets by their shape."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Any
from urllib.parse import unquote

from athand import redaction
from athand.flows.echoes import ADDRESS, LONGEST_TINY, Echoes
from athand.flows.echoes import MASK as MASK
from athand.flows.model import Observation, Target
from athand.flows.profiles import Profile
from athand.text import split_identifier

_MASK_IN_ADDRESS = "[redacted: secret]"
_MASKED = "[redacted: "

_SECRET_AUTOCOMPLETE = {"current-password", "new-password", "one-time-code", "cc-number", "cc-csc"}
_FIELDS = ("textbox", "combobox", "spinbutton")
_NO_FIELDS = "link button searchbox checkbox radio switch tab menuitem option heading img slider".split()
_WRITTEN_IN = ("input", "textarea")  # elements whose text is what somebody wrote
_NO_SECRET_TYPES = ("search", "email", "checkbox", "radio", "submit", "button", "date", "file", "color", "range")
_TOLD_BY = ("htmlName", "testId", "selector", "name")
# Read in words: identifiers are split, case and accents are gone.
_SECRET_WORDS = re.compile(
    r"password|passwort|passphrase|passcode|kennwort|contrasena|mot de passe|wachtwoord|passord|losenord|adgangskode|"
    r"salasana|парол|密码|密碼|口令|パスワード|暗証|비밀번호|كلمة المرور|סיסמ|"
    r"\b(?:senha|sifre|hasło|haslo|heslo|jelszo|parola|pw|pwd|passwd|pin|pins|otp|totp|cvv|cvc|csc|ssn|mnemonic|secret|"
    r"(?:seed|recovery|secret|backup) ?(?:phrase|words?)|(?:private|secret|api|access|recovery|encryption) ?key|"
    r"(?:access|api|auth|bearer|refresh) ?token|(?:security|secret) ?answer|(?:credit |debit )?card ?(?:number|no)|"
    r"(?:security|verification|auth(?:entication|enticator)?|sms|login|backup|recovery|access|one ?time|2 ?fa|mfa)"
    r" ?code)\b|(?:^|\b(?:user|login|name) )pass$"
)
_ABOUT_SECRETS = re.compile(
    r"\b(?:forgot|forgotten|lost|show|hide|toggle|remember)(?: (?:your|my|the))? (?:password|passcode|passphrase|pin)\b"
)
_SEARCHES = re.compile(r"\b(?:search|filter|find)\b")

_SEED_WORDS = 12  # the fewest of a recovery phrase
_MADE = 16  # the fewest characters of a key that a machine made
_KEYS = frozenset(("token", "key"))

# Keys that write nothing.
_STEERING = re.compile(
    r"(?:\w+\+)*(?:Enter|Tab|Escape|Backspace|Delete|Insert|Home|End|Page\w+|Arrow\w+|F\d+|CapsLock|Shift|Control|Alt|"
    r"Meta|ControlOrMeta)|(?:\w+\+)*(?:Control|Alt|Meta|ControlOrMeta)\+.+"
)
_WRITING = re.compile(r"(?:Shift\+)?(?:Key|Digit|Numpad)?(.)", re.DOTALL)
_NAMED_KEY = re.compile(
    r"(?:Shift\+)?(?:Space|Minus|Equal|Bracket\w+|(?:Intl)?Backslash|Semicolon|Quote|Backquote|Comma|Period|Slash|Numpad\w+)"
)

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
_SHORTEST_TOKEN = 12  # characters without a space in them
_OFTEN_SEEN = 200
_TELLING = re.compile("pass|pwd|secret|token|credential|auth|key|phrase|bearer|curl|mysql")


def is_secret(target: Target, before: Observation | None, given: Mapping[str, Any], profile: Profile) -> bool:
    """Whether what is typed there must not be kept: the caller says so, or the field does, by any of its names."""
    if given.get("secret") is True:
        return True
    named = [target, *(_meant(target, before) if before else ())]
    texts = [text for name in ("text", "value") if isinstance(text := given.get(name), str)]
    if any(_is_secret_field(field, profile.secret_fields) or _has_key(field, texts) for field in named):
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
    return kind == "password" or any(names_secret(str(field[key]), tuple(extra)) for key in _TOLD_BY if field.get(key))


def _has_key(field: Mapping[str, Any], texts: Iterable[str]) -> bool:
    """Whether a field for a token or a key, of which there are public ones too, has one that no person would write."""
    if field.get("role") in _NO_FIELDS or not any(len(text) >= _MADE and _OPAQUE.fullmatch(text) for text in texts):
        return False
    return any(not _KEYS.isdisjoint(split_identifier(str(field[key])[:500])) for key in _TOLD_BY if field.get(key))


def is_seen(target: Target, before: Observation | None) -> bool:
    """Whether it can be told which field was meant."""
    return before is not None and any(True for _ in _meant(target, before))


@lru_cache(maxsize=4096)
def names_secret(name: str, extra: tuple[str, ...] = ()) -> bool:
    """Whether what has this name is a secret."""
    words = " ".join(split_identifier(name[:500]))
    if _SEARCHES.search(words):
        return False
    own = (" ".join(split_identifier(each)) for each in extra)
    return bool(_SECRET_WORDS.search(_ABOUT_SECRETS.sub(" ", words))) or any(
        f" {each} " in f" {words} " for each in own if each
    )


def steers(key: str) -> bool:
    """Whether a key such as Enter or Control+v writes nothing."""
    return _STEERING.fullmatch(key) is not None


def written(seen: Observation, profile: Profile) -> Iterator[str]:
    """What the secret fields of a page hold, where it shows; dots in the place of characters do not count."""
    for node in (*seen.a11y, *seen.test_ids):
        texts = [str(node[key]) for key in _written(node, profile.secret_fields)]
        yield from (text for text in texts if len(set(text)) > 1 and len(text) > LONGEST_TINY and _MASKED not in text)


def _written(field: Mapping[str, Any], extra: Sequence[str]) -> list[str]:
    """The keys under which a field, if it is one for secrets, has what is written in it."""
    keys = [key for key in ("value", "text") if field.get(key) and (key == "value" or field.get("tag") in _WRITTEN_IN)]
    is_secret_field = keys and (_is_secret_field(field, extra) or _has_key(field, (str(field[key]) for key in keys)))
    return keys if is_secret_field else []


class Typed:
    """What was typed into secret fields, by session; in memory only."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: dict[str, frozenset[str]] = {}
        self._echoes: dict[str, Echoes] = {}
        self._pressed: dict[str, str] = {}

    def known(self, session_id: str) -> frozenset[str]:
        """All that is removed from what is recorded in the session."""
        return self._values.get(session_id, frozenset())

    def forget(self, session_id: str) -> None:
        """The session is no more."""
        with self._lock:
            for kept in (self._values, self._echoes, self._pressed):
                kept.pop(session_id, None)

    def press(self, session_id: str, key: str) -> None:
        """A key was pressed in a secret field: what is written key by key is one value."""
        found = _WRITING.fullmatch(key)
        with self._lock:
            before = self._pressed.get(session_id, "")
            pressed = self._pressed[session_id] = before + found[1] if found else ""
            if found and before in self._values.get(session_id, ()):
                self._values[session_id] -= {before}
        if found is None and not _NAMED_KEY.fullmatch(key):
            self.remember(session_id, key)
        if len(pressed) > LONGEST_TINY:
            self.remember(session_id, pressed)

    def remember(self, session_id: str, value: str) -> None:
        """From now on this value is removed from what is recorded in the session."""
        words = value.split()
        new = {" ".join(words), *(words if len(words) >= _SEED_WORDS else ())} - {"", MASK}
        with self._lock:
            known = self._values.get(session_id, frozenset())
            if not new <= known:
                self._values[session_id] = known | new
                self._echoes[session_id] = Echoes(known | new)

    def share(self, session_id: str, other_id: str) -> None:
        """What is secret in one session is so in another: both see the same pages."""
        for value in self.known(session_id):
            self.remember(other_id, value)

    def without(self, session_id: str, anything: Any) -> Any:
        """The same, with a mask in the place of every remembered value, however it is written."""
        echoes = self._echoes.get(session_id)
        return anything if echoes is None else _deep(anything, cache(echoes.remove))


def cleaned(value: Any, secret_fields: Sequence[str] = ()) -> Any:
    """The same without secrets that show by their shape, in all its texts, and without values of secret fields."""
    return _deep(value, lambda text, _: _short(text) if len(text) <= _OFTEN_SEEN else _clean(text), secret_fields)


def _clean(text: str) -> str:
    """A text without secrets that show by their shape."""
    is_plain = all(len(run) < _SHORTEST_TOKEN or run.isalpha() for run in text.split())
    if is_plain and _HARMLESS.fullmatch(text) and not _TELLING.search(text.lower()):
        return text
    text = clean_url(text) if ADDRESS.match(text) else _IN_TEXT.sub(lambda address: clean_url(address[0]), text)
    return redaction.clean(text)


_short = lru_cache(maxsize=1 << 14)(_clean)  # pages say the same again and again


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
    """A JSON-like value with every text in it changed; a secret's own value, and a secret field's, is masked."""
    if isinstance(value, str):
        return change(value, key)
    if isinstance(value, Mapping):
        own = tuple(secret_fields)
        value = {**value, **dict.fromkeys(_written(value, own), MASK)}
        value |= {
            name: MASK for name, each in value.items() if isinstance(each, str) and each and names_secret(name, own)
        }
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

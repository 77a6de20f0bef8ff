"""What can be said to a browser in one line of `athand flows record`: in words, or as JSON."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from athand.errors import InvalidInput

HELP = """\
 describe                     what is on the page, and what earlier sessions did there
 click TARGET
 type TARGET "TEXT"           over what is there; then: append, submit (presses Enter), secret (not kept)
 type TARGET                  asks for the text without showing or keeping it
 press KEY [TARGET]           such as Enter, or Control+a
 select TARGET VALUE          or label="TEXT"
 goto URL
 wait TARGET [hidden]         or text="TEXT", url=PART, screen=NAME; timeout=SECONDS
 screenshot [NAME] [full]
 tabs                         the tabs and where the browser is
 tab N                        go on in another one; or title=PART, url=PART
 close-tab [N]
 help, quit

 TARGET is a test id, a ref (e3) of the last describe, testid=ID, selector="CSS", or role=ROLE name="NAME".
"""


@dataclass(frozen=True, slots=True)
class _Form:
    """What a line may say: the tool, what its bare words are in order, and the flags that may follow them."""

    tool: str
    places: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, Any]] = field(default_factory=dict)


_FORMS = {
    "describe": _Form("describe_screen"),
    "click": _Form("click", ("target",)),
    "type": _Form(
        "type",
        ("target", "text"),
        {"append": ("clear", False), "submit": ("submit", True), "secret": ("secret", True)},
    ),
    "press": _Form("press", ("key", "target")),
    "select": _Form("select", ("target", "value")),
    "goto": _Form("navigate", ("url",)),
    "wait": _Form("wait_for", ("awaited",), {"hidden": ("state", "hidden")}),
    "screenshot": _Form("screenshot", ("name",), {"full": ("full_page", True)}),
    "tabs": _Form("get_state"),
    "tab": _Form("switch_tab", ("index",)),
    "close-tab": _Form("close_tab", ("index",)),
}
_TARGET = ("test_id", "ref", "selector", "role", "name")
# What may be said by name instead of a bare word.
_FILLED_BY = {
    "target": _TARGET,
    "awaited": (*_TARGET, "text", "url", "screen"),
    "value": ("value", "label"),
    "index": ("index", "url", "title"),
}
_NEEDED = ("key", "value", "url")
_WAITING = ("target", "awaited", "url")  # with these a line may say how long
_NAMES = {"testid": "test_id", "timeout": "timeout_s"}
_REF = re.compile(r"e\d+")


def read_words(line: str) -> dict[str, Any]:
    """The tool and its arguments that a line of words means."""
    word, *rest = _split(line)
    form = _FORMS.get(word)
    if form is None:
        raise InvalidInput(f"No command {word!r}. Known: {', '.join(_FORMS)}, help, quit.")
    said, bare = _sorted(form, rest)
    places = [place for place in form.places if said.keys().isdisjoint(_filled_by(place))]
    for each in bare:
        name, value = _placed(places.pop(0), each) if places else _flag(form, each)
        said[name] = value
    if missing := [place for place in places if place in _NEEDED]:
        raise InvalidInput(f"{word}: the {missing[0]} is missing. `help` shows how it is said.")
    return {"tool": form.tool, **said}


def read_json(line: str) -> dict[str, Any]:
    """The tool and its arguments as an object says them."""
    try:
        step = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"This line is not JSON: {error}.") from error
    if not isinstance(step, dict):
        raise InvalidInput('A line is one JSON object such as {"tool": "click", "testId": "send"}.')
    return step


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InvalidInput(f"This line cannot be read: {error}. Put texts in quotes.") from error


def _filled_by(place: str) -> tuple[str, ...]:
    return _FILLED_BY.get(place, (place,))


def _sorted(form: _Form, words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The arguments that are named, and the bare words."""
    names = {name for place in form.places for name in _filled_by(place)}
    names |= {"timeout_s"} if {*form.places} & {*_WAITING} else set()
    said: dict[str, Any] = {}
    bare = []
    for word in words:
        key, equals, value = word.partition("=")
        name = _NAMES.get(key, key)
        if equals and name in names:
            said[name] = _number(key, value, float) if name == "timeout_s" else value
        else:
            bare.append(word)
    return said, bare


def _placed(place: str, word: str) -> tuple[str, Any]:
    """A bare word by what stands there."""
    if place in ("target", "awaited"):
        return ("ref" if _REF.fullmatch(word) else "test_id"), word
    return place, _number(place, word, int) if place == "index" else word


def _number(name: str, word: str, kind: type) -> Any:
    try:
        return kind(word)
    except ValueError as error:
        raise InvalidInput(f"{name} must be a number, not {word!r}.") from error


def _flag(form: _Form, word: str) -> tuple[str, Any]:
    if word not in form.flags:
        known = f" Known here: {', '.join(form.flags)}." if form.flags else ""
        raise InvalidInput(f"{word!r} is one word too many.{known} Put texts in quotes.")
    return form.flags[word]

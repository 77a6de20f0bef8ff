"""The language of `athand flows record`: parses a line of words, or of JSON, into a browser tool and its arguments."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from athand.errors import InvalidInput

HELP = """\
 describe                     show what is on the page, and what earlier sessions did there
 click TARGET
 type TARGET "TEXT"           replace the text of a field; then: append, submit (press Enter), secret (do not store)
 type TARGET                  ask for the text; it is neither shown nor stored
 press KEY [TARGET]           such as Enter, or Control+a
 select TARGET VALUE          or label="TEXT"
 hover TARGET
 goto URL
 back                         the page before in this tab; forward: the one after
 wait TARGET [hidden]         or text="TEXT", url=PART, screen=NAME; timeout=SECONDS
 screenshot [NAME] [full]
 tabs                         show the tabs and the address
 tab N                        switch to a tab; or title=PART, url=PART
 close-tab [N]
 help, quit

 TARGET is a test id, a ref (e3) of the last describe, testid=ID, selector="CSS", or role=ROLE name="NAME".
"""


@dataclass(frozen=True, slots=True)
class _Syntax:
    """A command: its tool, its positional arguments in order, and the flags that may follow them."""

    tool: str
    positions: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, Any]] = field(default_factory=dict)


_COMMANDS = {
    "describe": _Syntax("describe_screen"),
    "click": _Syntax("click", ("target",)),
    "hover": _Syntax("hover", ("target",)),
    "back": _Syntax("back"),
    "forward": _Syntax("forward"),
    "type": _Syntax(
        "type",
        ("target", "text"),
        {"append": ("clear", False), "submit": ("submit", True), "secret": ("secret", True)},
    ),
    "press": _Syntax("press", ("key", "target")),
    "select": _Syntax("select", ("target", "value")),
    "goto": _Syntax("navigate", ("url",)),
    "wait": _Syntax("wait_for", ("awaited",), {"hidden": ("state", "hidden")}),
    "screenshot": _Syntax("screenshot", ("name",), {"full": ("full_page", True)}),
    "tabs": _Syntax("get_state"),
    "tab": _Syntax("switch_tab", ("index",)),
    "close-tab": _Syntax("close_tab", ("index",)),
}
_TARGET = ("test_id", "ref", "selector", "role", "name")
# The named arguments that may take the place of a positional one.
_ALTERNATIVES = {
    "target": _TARGET,
    "awaited": (*_TARGET, "text", "url", "screen"),
    "value": ("value", "label"),
    "index": ("index", "url", "title"),
}
_REQUIRED = ("key", "value", "url")
_CAN_TIME_OUT = ("target", "awaited", "url")
_ALIASES = {"testid": "test_id", "timeout": "timeout_s"}
_REF = re.compile(r"e\d+")


def parse_words(line: str) -> dict[str, Any]:
    """The tool and its arguments for a line of words: `type e3 "0.1 ETH" submit`."""
    command, *rest = _split_words(line)
    syntax = _COMMANDS.get(command)
    if syntax is None:
        raise InvalidInput(f"No command {command!r}. Known: {', '.join(_COMMANDS)}, help, quit.")
    arguments, words = _split_arguments(syntax, rest)
    open_positions = [each for each in syntax.positions if arguments.keys().isdisjoint(_alternatives(each))]
    for word in words:
        name, value = _parse_position(open_positions.pop(0), word) if open_positions else _parse_flag(syntax, word)
        arguments[name] = value
    if missing := [each for each in open_positions if each in _REQUIRED]:
        raise InvalidInput(f"{command}: the {missing[0]} is missing. `help` shows what each command takes.")
    return {"tool": syntax.tool, **arguments}


def parse_json(line: str) -> dict[str, Any]:
    """The tool and its arguments for a line of JSON: `{"tool": "click", "testId": "send"}`."""
    try:
        step = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"This line is not JSON: {error}.") from error
    if not isinstance(step, dict):
        raise InvalidInput('A line is one JSON object such as {"tool": "click", "testId": "send"}.')
    return step


def _split_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InvalidInput(f"This line cannot be read: {error}. Put texts in quotes.") from error


def _alternatives(position: str) -> tuple[str, ...]:
    return _ALTERNATIVES.get(position, (position,))


def _split_arguments(syntax: _Syntax, words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The named arguments, such as `role=button`, and the other words."""
    names = {name for position in syntax.positions for name in _alternatives(position)}
    names |= {"timeout_s"} if {*syntax.positions} & {*_CAN_TIME_OUT} else set()
    arguments: dict[str, Any] = {}
    others = []
    for word in words:
        key, equals, value = word.partition("=")
        name = _ALIASES.get(key, key)
        if equals and name in names:
            arguments[name] = _parse_number(key, value, float) if name == "timeout_s" else value
        else:
            others.append(word)
    return arguments, others


def _parse_position(position: str, word: str) -> tuple[str, Any]:
    """The argument that a word at this position means."""
    if position in ("target", "awaited"):
        return ("ref" if _REF.fullmatch(word) else "test_id"), word
    return position, _parse_number(position, word, int) if position == "index" else word


def _parse_number(name: str, word: str, kind: type) -> Any:
    try:
        return kind(word)
    except ValueError as error:
        raise InvalidInput(f"{name} must be a number, not {word!r}.") from error


def _parse_flag(syntax: _Syntax, word: str) -> tuple[str, Any]:
    if word not in syntax.flags:
        known = f" Known here: {', '.join(syntax.flags)}." if syntax.flags else ""
        raise InvalidInput(f"{word!r} is one word too many.{known} Put texts in quotes.")
    return syntax.flags[word]

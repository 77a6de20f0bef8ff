"""How servers of a configuration look: what they start or reach, without the secrets in it."""

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.text import Text

from athand.adapters.cli.render import plain_table, print_table
from athand.adapters.cli.render_tools import seen
from athand.redaction import redact

HIDDEN = "•••"
_VARIABLES = re.compile(r"(?:Bearer |Basic )?\$\{[^{}]*\}")
_URLS = ("url", "httpUrl", "serverUrl")


def print_launches(console: Console, servers: Mapping[str, Mapping[str, Any]]) -> None:
    """Each server with its command line or address, and the names of what it is given."""
    table = plain_table("server", "what", flexible="what", header=False)
    table.columns[1].overflow = "fold"
    for name, given in servers.items():
        table.add_row(Text(f"  {seen(name)}", "cyan"), Text(seen(_line(given))))
        if names := _given_names(given):
            table.add_row("", Text(seen(names), "dim"))
    print_table(console, table)


def without_secrets(given: Mapping[str, Any]) -> dict[str, Any]:
    """A server's settings as they can be shown: values that may be secret are not."""
    shown = dict(given)
    for key in ("env", "headers"):
        if isinstance(given.get(key), Mapping):
            shown[key] = {name: _hidden(value) for name, value in given[key].items()}
    for key in _URLS:
        if isinstance(given.get(key), str):
            shown[key] = _address(given[key])
    if isinstance(given.get("args"), list):
        shown["args"] = _words(given["args"])
    return shown


def _words(args: Sequence[object]) -> list[str]:
    """The words of a command line; one is a secret by itself, or by the word before it."""
    shown = []
    for before, word in itertools.pairwise(["", *map(str, args)]):
        together = redact(f"{before} {word}")
        shown.append(together[len(before) + 1 :] if together.startswith(f"{before} ") else redact(word))
    return shown


def _line(given: Mapping[str, Any]) -> str:
    """The command line, or the address."""
    if command := given.get("command"):
        args = given.get("args")
        words = [str(command), *(_words(args) if isinstance(args, list) else [])]
        where = f"  (in {given['cwd']})" if given.get("cwd") else ""
        return " ".join(map(_word, words)) + where
    address = next((given[key] for key in _URLS if given.get(key)), "")
    return _address(str(address)) or "nothing that can be started"


def _word(word: str) -> str:
    """A word of a command line as one would type it; variables stay readable."""
    return word if _VARIABLES.fullmatch(word) or word.startswith("[redacted") else shlex.quote(word)


def _address(url: str) -> str:
    """An address without the parts that may hold a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    asked = f"?{HIDDEN}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{redact(parts.path)}{asked}" if parts.scheme else url


def _hidden(value: object) -> object:
    return value if isinstance(value, str) and _VARIABLES.fullmatch(value) else HIDDEN


def _given_names(given: Mapping[str, Any]) -> str:
    """The names of variables and headers, without their values."""
    named = {"with": given.get("env"), "with the headers": given.get("headers")}
    pieces = [f"{how} {', '.join(map(str, each))}" for how, each in named.items() if isinstance(each, Mapping) and each]
    return "; ".join(pieces)

"""Scanner for tool poisoning: hidden text, instructions to the model, references to other tools, invalid schemas.

Flags are warnings and block nothing by themselves. The rules are general: they find common attacks, not all of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from athand.text_length import shorten
from athand.tools.json_schema import lint_schema
from athand.tools.model import Definition, Flag
from athand.tools.poisoning.decode import decode_parts
from athand.tools.poisoning.neighbours import Neighbours, are_alike, find_mentions
from athand.tools.poisoning.phrases import (
    PhraseMatch,
    find_dangers,
    find_encoded_dangers,
    find_oddities,
    normalize_text,
)
from athand.tools.poisoning.unicode import describe_character, escape_invisible, find_invisible, find_mixed_words

LONGEST = 50_000  # characters of one text that are scanned
_TOGETHER = 20_000  # characters of texts that are looked at together first
_MOST, _MOST_TEXTS = 100_000, 20_000  # characters and texts of one tool
_LONG = 20_000
_LONGEST_NAME = 128
_LONGEST_DETAIL = 120
_MOST_FLAGS = 50
_DECIDING = re.compile("approv|review|submit|request|confirm|deploy|install|schedul|invit|publish|permission")

_TOPICS = (
    "ssh",
    "aws",
    "kube",
    "docker",
    "git",
    "npm",
    "pypi",
    "env",
    "gnupg",
    "netrc",
    "cookie",
    "wallet",
    "keychain",
)
_SENDING = re.compile(
    r"send|upload|post|sync|copy|push|publish|deploy|ftp|scp|transfer|hook|mail|export|backup|share|notif"
)
_UGLY = re.compile(r"exfil|attack|advers|evil|secret|silent|quiet|collector")

_HARMLESS = frozenset("\x0b\x0c\x85\u2028\u2029")
_JOINING = "\u0590-\u1fff\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff"
_EMOJI = "\u00a9\u00ae\u2000-\u32ff\ufe0f\U0001f000-\U0001faff"
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_FINE = re.compile(
    "\U0001f3f4(?:\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|"
    "\U000e0077\U000e006c\U000e0073))\U000e007f"  # flags of England, Scotland, Wales
    f"|(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])|(?<=[0-9#*{_EMOJI}])[\ufe0e\ufe0f](?![\ufe00-\ufe0f])"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    "|(?<=[\u3400-\u9fff\U00020000-\U0003ffff])[\ufe00-\ufe02\U000e0100-\U000e01ef](?![\ufe00-\ufe0f\U000e0100-\U000e01ef])"
    r"|(?<=\w)" + "\u00ad" + r"(?=\w)|\A" + "\ufeff"
)
_MARKS_OF_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069")
_ESCAPES = re.compile("\x1b[\\[\\]()PX^_]|\x9b")
_COMMENTS = (
    (re.compile("<!--"), re.compile("-->")),
    (re.compile(r"\[//\]: ?# ?[(\"']"), re.compile("[)\"']")),
)
_UNSEEN_STYLE = re.compile(r"display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0(?![.\d])")
_PADDING = re.compile("[ \t\u00a0\u3000]{100}|(?:[ \t]{0,20}\r?\n){25}")


_NOBODY = Neighbours()


def scan_definition(definition: Definition, server: str, neighbours: Neighbours = _NOBODY) -> tuple[Flag, ...]:
    """All flags of a tool."""
    texts = _limit_texts(_texts(definition))
    purpose = normalize_text(f"{server} {definition.name}")
    own_tools = neighbours.own | {definition.name.casefold()}
    found = list(islice(_scan_texts(texts, purpose, own_tools), _MOST_FLAGS))
    found += islice(_scan_neighbours(definition, server, neighbours), _MOST_FLAGS)
    found += _scan_shape(definition)
    if len(texts) == _MOST_TEXTS or sum(len(text) for _, text in texts) > _MOST:
        found.insert(0, Flag("too long", texts[-1][0], "what follows was not looked at"))
    return tuple(dict.fromkeys(found))[:_MOST_FLAGS]


def _texts(definition: Definition) -> Iterator[tuple[str, str]]:
    """Every text of a definition with its field."""
    yield "name", definition.name
    yield "title", definition.title or ""
    yield "description", definition.description
    for field in ("input_schema", "output_schema", "annotations"):
        yield from _iter_texts(getattr(definition, field), field)


def _limit_texts(texts: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    found, room = [], _MOST
    for field, text in islice(texts, _MOST_TEXTS):
        found.append((field, text))
        room -= len(text)
        if room < 0:
            break
    return found


def _iter_texts(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Every string in a JSON value, including keys."""
    waiting = [(field, value)]
    while waiting:
        place, here = waiting.pop()
        if isinstance(here, str):
            yield place, here
        elif isinstance(here, Mapping):
            yield from ((place, key) for key in here)
            waiting += [(f"{place}.{escape_invisible(key[:40])}", below) for key, below in here.items()]
        elif isinstance(here, list):
            waiting += [(place, below) for below in here]


def _scan_texts(texts: Sequence[tuple[str, str]], purpose: str, own_tools: Set[str]) -> Iterator[Flag]:
    """Flags of texts: looked at together, which is ten times faster, and halved where there is something."""
    together = " . ".join(text for _, text in texts)
    if len(texts) == 1:
        yield from _scan_text(*texts[0], purpose, own_tools)
    elif len(together) > _TOGETHER or any(_scan_text("", together, "", own_tools)):
        middle = len(texts) // 2
        yield from _scan_texts(texts[:middle], purpose, own_tools)
        yield from _scan_texts(texts[middle:], purpose, own_tools)


def _scan_text(field: str, text: str, purpose: str, own_tools: Set[str]) -> Iterator[Flag]:
    if len(text) > LONGEST:
        yield Flag("too long", field, f"{len(text):,} characters; only the first {LONGEST:,} were looked at")
    text = text[:LONGEST]
    yield from _scan_characters(field, text)
    yield from _scan_markup(field, text)
    clear = normalize_text(text)
    for found in find_dangers(clear, own_tools):
        rule = found.rule if found.is_meant else f"quotes: {found.rule}"
        is_dangerous = found.is_meant and not _is_expected_of(found, purpose)
        yield Flag(rule, field, _to_detail(found.words), is_dangerous)
    for found in find_oddities(clear):
        yield Flag(found.rule, field, _to_detail(found.words), is_dangerous=False)
    for hidden in decode_parts(text):
        for found in find_encoded_dangers(normalize_text(hidden)):
            yield Flag(f"encoded: {found.rule}", field, _to_detail(found.words))


def _is_expected_of(found: PhraseMatch, purpose: str) -> bool:
    """Whether the names of tool and server explain the match: `ssh_connect` may mention `~/.ssh`."""
    if found.rule == "asks for secrets":
        return any(topic in purpose and topic in found.words for topic in _TOPICS)
    if found.rule == "changes later":
        return _DECIDING.search(purpose) is not None
    is_sending = found.rule == "sends data elsewhere" and not _UGLY.search(found.words)
    return is_sending and _SENDING.search(purpose) is not None


def _scan_characters(field: str, text: str) -> Iterator[Flag]:
    """Invisible characters, mixed scripts and terminal escapes."""
    seen = text if text.isascii() else _FINE.sub("", text)
    hidden = [char for _, char in find_invisible(seen) if char not in _HARMLESS]
    if _RIGHT_TO_LEFT.search(text):
        hidden = [char for char in hidden if char not in _MARKS_OF_DIRECTION]
    if hidden:
        names = ", ".join(describe_character(char) for char in list(dict.fromkeys(hidden))[:4])
        yield Flag("invisible characters", field, f"{len(hidden)} of them: {names}")
    if mixed := find_mixed_words(text):
        shown = "".join(char if char.isascii() else describe_character(char) for char in mixed[0][:40])
        yield Flag("letters that look like others", field, _to_detail(shown))
    if _ESCAPES.search(text):
        yield Flag("terminal escapes", field, "it can change what a terminal shows")


def _scan_markup(field: str, text: str) -> Iterator[Flag]:
    """Hidden comments, invisible styles and long padding."""
    for comment in _comments(text):
        words = comment.split()
        yield Flag("hidden comment", field, _to_detail(" ".join(words)), is_dangerous=len(words) > 3)
    if style := _UNSEEN_STYLE.search(text.lower()):
        yield Flag("hidden by style", field, style[0])
    if _PADDING.search(text.strip()):
        yield Flag("text after a long gap", field, "there is text far below or beside what one sees")


def _comments(text: str) -> Iterator[str]:
    """The content of comments; each kind is found in one pass, so that many openings take linear time."""
    for opening, closing in _COMMENTS:
        begin = opening.search(text)
        while begin and (end := closing.search(text, begin.end())):
            yield text[begin.end() : end.start()]
            begin = opening.search(text, end.end())


def _scan_neighbours(definition: Definition, server: str, neighbours: Neighbours) -> Iterator[Flag]:
    """Instructions about tools of other servers, and duplicates of their tools."""
    clear = normalize_text(definition.description[:LONGEST])
    for name in find_mentions(clear, server, neighbours):
        yield Flag("speaks for other tools", "description", f"it gives orders about {escape_invisible(name)}")
    _, twin = neighbours.tools.get(definition.name.casefold(), ("", ""))
    if clear and twin and are_alike(clear, normalize_text(twin[:LONGEST])):
        yield Flag("twin of another tool", "name", "another server has a tool of this name and description", False)


def _scan_shape(definition: Definition) -> Iterator[Flag]:
    """Missing or very long texts and invalid schemas; none of them is dangerous."""
    if not definition.description.strip():
        yield Flag("no description", "description", "nothing says what it does", is_dangerous=False)
    if len(definition.description) > _LONG:
        yield Flag("very long", "description", f"{len(definition.description):,} characters", is_dangerous=False)
    if len(definition.name) > _LONGEST_NAME:
        yield Flag("very long", "name", f"{len(definition.name)} characters", is_dangerous=False)
    for field, schema in (("input_schema", definition.input_schema), ("output_schema", definition.output_schema)):
        for place, flaw in islice(lint_schema(schema or {}, field), 3):
            yield Flag("broken schema", place, _to_detail(flaw), is_dangerous=False)


def _to_detail(text: str) -> str:
    """A text as the detail of a flag: visible, on one line, short."""
    return shorten(escape_invisible(text).replace("\n", " "), _LONGEST_DETAIL)

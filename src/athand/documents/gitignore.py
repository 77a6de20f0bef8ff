"""Ignore rules of `.gitignore` and `.athandignore` files, at every depth.

The rules are git's own and match bytes, as git does. A rule is tested against the path itself, not against its parents,
since the walk does not enter ignored directories. Matching takes linear time for every pattern.
"""

import os
import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

IGNORE_FILES = (".gitignore", ".athandignore")
_ALWAYS_IGNORED = frozenset(
    """
    .git .hg .svn .bzr .jj node_modules bower_components __pycache__ .venv .tox .nox .eggs .mypy_cache .ruff_cache
    .pytest_cache .import_linter_cache .hypothesis .ipynb_checkpoints .cache .gradle .terraform .next .nuxt .svelte-kit
    .parcel-cache .turbo .yarn .idea .Trash lost+found $RECYCLE.BIN
    """.split()
)
_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\v\f\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
_MAX_RULES = 5_000  # per directory
_ANY_DEPTH = "**"
# In brackets: characters or named classes. A `]` right after the opening bracket is a literal.
_KIND = r"\[:[^\]]{0,10}:\]"
_INSIDE = rf"(?:{_KIND}|\\.|[^\\])(?:{_KIND}|\\.|[^\\\]])*+"
_TOKEN = rf"\*+|\\.|\[[!^]?{_INSIDE}\]|[^\[\\*]"
_TOKENS, _WELL_FORMED = re.compile(_TOKEN, re.DOTALL), re.compile(f"(?:{_TOKEN})*+", re.DOTALL)
_CHOSEN = re.compile(r"\[:(?P<known>[^\]]{0,10}):\]|(?P<first>\\.|[^\\])(?:-(?P<last>\\.|[^\\]))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of a directory, linked to those of its parent directories."""

    parent: "IgnoreRules | None" = None
    directory: str = ""
    own: "_RuleSet | None" = None

    def ignores(self, path: str) -> bool:
        """Whether a path (ending in a slash if it is a directory) is ignored; the deepest matching rule decides."""
        rules: IgnoreRules | None = self
        while rules is not None:
            decision = rules.own.decide(path[len(rules.directory) :]) if rules.own else None
            if decision is not None:
                return decision
            rules = rules.parent
        return False

    def extend_with(self, directory: str, texts: Iterable[str]) -> "IgnoreRules":
        """These rules with those of a subdirectory."""
        own = _parse_rules("\n".join(texts))
        return IgnoreRules(self, directory, own) if own.rules else self


def is_always_ignored(name: str) -> bool:
    """Whether a directory of this name is skipped without any rule: version control, dependencies, caches."""
    return name in _ALWAYS_IGNORED


@dataclass(frozen=True, slots=True)
class _IgnoreRule:
    """One line; `names` are patterns for the components of a path, `**` matches any number of them."""

    ignores: bool
    only_directories: bool
    names: tuple[str, ...]

    def matches(self, names: tuple[str, ...], *, is_directory: bool) -> bool:
        if self.only_directories and not is_directory:
            return False
        reached = {0}  # numbers of components that may be matched so far
        for at, pattern in enumerate(self.names):
            if pattern != _ANY_DEPTH:
                reached = {used + 1 for used in reached if used < len(names) and _matches_name(pattern, names[used])}
            elif at == len(self.names) - 1:
                return any(used < len(names) for used in reached)
            elif reached:
                reached = set(range(min(reached), len(names) + 1))
        return len(names) in reached


@dataclass(frozen=True, slots=True)
class _RuleSet:
    """The rules of one directory, the last first; `hint` matches every final component that a rule may match."""

    rules: tuple[_IgnoreRule, ...]
    hint: re.Pattern[str]

    def decide(self, path: str) -> bool | None:
        """Whether the path is ignored; None when no rule matches."""
        names = tuple(os.fsencode(path.rstrip("/")).decode("latin-1").split("/"))
        if not self.hint.fullmatch(names[-1]):
            return None
        is_directory = path.endswith("/")
        return next((rule.ignores for rule in self.rules if rule.matches(names, is_directory=is_directory)), None)


@lru_cache(maxsize=256)
def _parse_rules(text: str) -> _RuleSet:
    lines = os.fsencode(text).decode("latin-1").split("\n")
    rules = tuple(rule for line in reversed(lines[:_MAX_RULES]) if (rule := _parse_rule(line.removesuffix("\r"))))
    last = {".*" if rule.names[-1] == _ANY_DEPTH else rule.names[-1] for rule in rules}
    return _RuleSet(rules, re.compile("|".join(sorted(last)), re.DOTALL))


def _parse_rule(line: str) -> _IgnoreRule | None:
    """The rule of a line; None for comments and lines that git ignores too."""
    if line.startswith("#"):
        return None
    negated, line = line.startswith("!"), _strip_trailing_spaces(line).removeprefix("!")
    only_directories, line = line.endswith("/"), line.removesuffix("/")
    names = _to_name_patterns(line.removeprefix("/")) if line else None
    if names is None:
        return None
    if "/" not in line:
        names = [_ANY_DEPTH, ".*" if names == [_ANY_DEPTH] else names[0]]
    return _IgnoreRule(not negated, only_directories, tuple(names))


def _strip_trailing_spaces(line: str) -> str:
    """The line without trailing spaces, but with an escaped one."""
    bare = line.rstrip(" ")
    escaped = (len(bare) - len(bare.rstrip("\\"))) % 2
    return line[: len(bare) + 1] if escaped else bare


def _to_name_patterns(pattern: str) -> list[str] | None:
    """A regular expression for each component of a pattern; None when nothing can match it."""
    if not _WELL_FORMED.fullmatch(pattern):  # an unclosed bracket, or a trailing backslash
        return None
    names: list[list[str]] = [[]]
    for piece in _TOKENS.findall(pattern):
        if piece in ("/", "\\/"):
            names.append([])
        else:
            names[-1].append(_to_regex(piece))
    found = [_ANY_DEPTH if name == [_ANY_DEPTH] else _join_name(name) for name in names]
    return [name for at, name in enumerate(found) if not at or not name == found[at - 1] == _ANY_DEPTH]


def _to_regex(piece: str) -> str:
    """The regular expression of a token: stars stay stars, anything else matches one character."""
    if piece.startswith("*"):
        return piece[:2]
    if piece.startswith("["):
        return _to_character_class(piece[1:-1])
    return "." if piece == "?" else re.escape(piece[-1])


def _join_name(pieces: list[str]) -> str:
    """Joins tokens to one expression; atomic groups match text between stars where it first occurs, once."""
    fixed = [""]
    for piece in pieces:
        if piece.startswith("*"):
            fixed.append("")
        else:
            fixed[-1] += piece
    first, *middle, last = fixed if len(fixed) > 1 else ["", *fixed]
    return f"{first}{''.join(f'(?>.*?{each})' for each in middle)}.*{last}" if len(fixed) > 1 else last


def _to_character_class(inside: str) -> str:
    """A bracket expression as a character class; a reversed range has only its first character."""
    negated = inside.startswith(("!", "^"))
    chosen: set[str] = set()
    for known, first, last in _CHOSEN.findall(inside[negated:]):
        begin, end = first[-1:], last[-1:] or first[-1:]
        chosen |= {begin, *map(chr, range(ord(begin), ord(end) + 1))} if begin else set(_CLASSES.get(known, ""))
    listed = re.escape("".join(sorted(chosen)))
    return f"[{'^' * negated}{listed}]" if listed else "." if negated else "(?!)"


@lru_cache(maxsize=1 << 12)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _matches_name(pattern: str, name: str) -> bool:
    return _compile(pattern).fullmatch(name) is not None

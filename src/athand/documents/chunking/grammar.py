"""Grammars for finding definitions: what to skip (comments, strings), which lines define, which lines end."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# Definitions inside a container (a class) count, those inside a function do not; a member counts in containers only.
CONTAINER, FUNCTION, LEAF, MEMBER = "container", "function", "leaf", "member"
NAME = r"[^\W\d][\w$]*"
CAPITALS = r"_*[A-Z][A-Z0-9_]+"

LINE_COMMENT = r"//[^\n]*"
HASH_COMMENT = r"\#[^\n]*"
DASH_COMMENT = r"--[^\n]*"
BLOCK_COMMENT = r"/\*(?s:.*?)(?:\*/|\Z)"
STRING = r'"(?:[^"\\\n]|\\.)*+"'
LONG_STRING = r'"""(?s:.*?)(?:(?<!\\)"""|\Z)'
QUOTED = r"'(?:[^'\\\n]|\\.)*+'"
CHARACTER = r"'(?:[^'\\\n]|\\[^\n]{1,8}?)'"

# Keywords that precede parentheses like a function name.
NOT_CALLED = (
    r"(?!(?:if|for|while|switch|catch|return|else|do|case|new|throw|function|with|await|typeof|using|lock|foreach|"
    r"super|this|delete|yield|goto|sizeof|synchronized|try|assert|in|of|not|and|or|when|unless|elif|import)\b)"
)
PARAMETERS = r"\((?>[^(){};]{1,400}|\{[^{};]{0,200}\}|\((?>[^(){};]{1,200}|\([^(){};]{0,100}\)){0,20}\)){0,40}+\)"
# Excludes assignments and method calls, the most frequent lines of a body.
NOT_ASSIGNED = r"(?!\w+(?:\.[\w.]*\(|->|[ \t]?[-+|&^*/%]?=(?!>)|\[\w*\][ \t]?=|\+\+|--))"
# Rejects most lines by their first character, before any rule is tried.
_MAY_DEFINE = r"(?![\s)}\]'\"=,;+|&?-])"
_FEW_BLANKS = (
    (r"[ \t]+", r"[ \t]{1,40}+"),
    (r"[ \t]*", r"[ \t]{0,40}+"),
    (r"\s*", r"\s{0,80}+"),
    (r"\s+", r"\s{1,80}+"),
)


@dataclass(frozen=True)
class DefinitionRule:
    """Patterns of a defining line: before the name, the name, and after it."""

    kind: str
    before: str
    name: str = NAME
    after: str = ""


@dataclass(frozen=True)
class Grammar:
    """The definitions of a language; lines that begin with one of `above` belong to the definition below them.

    `prefix` is optional before every definition. A line that begins with `closer` ends a definition and belongs to it
    unless `closes_before`.
    """

    skipped: Sequence[str]
    rules: Sequence[DefinitionRule]
    prefix: str = ""
    closer: str = r"[}\])]"
    above: tuple[str, ...] = ("//", "/*", "*", "@", "#[", "[")
    closes_before: bool = False
    flags: re.RegexFlag = re.NOFLAG

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of definition by name of a group in the pattern."""
        return {f"name{number}": rule.kind for number, rule in enumerate(self.rules)}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """One regular expression for definitions, closers and skipped parts, so that one pass is enough."""
        rules = "|".join(
            f"{rule.before}(?P<name{number}>{rule.name}){rule.after}" for number, rule in enumerate(self.rules)
        )
        defining = _bound_blanks(rf"{self.prefix}(?:{rules})")
        parts = [rf"\n(?P<indent>[ \t]*){_MAY_DEFINE}{defining}", rf"\n(?P<close>[ \t]*){self.closer}", *self.skipped]
        return re.compile("|".join(parts), self.flags)


def match_words(listed: str) -> str:
    """A pattern for any number of these words, each followed by blanks."""
    return rf"(?:(?:{'|'.join(listed.split())})[ \t]+)*+"


def _bound_blanks(rule: str) -> str:
    """A rule with bounded, possessive blanks, against quadratic backtracking on long runs of them."""
    for blanks, few in _FEW_BLANKS:
        rule = rule.replace(blanks, few)
    return rule

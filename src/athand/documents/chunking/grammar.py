"""What a family of languages looks like: comments and strings to skip, lines that define, and lines that end."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# A container's definitions count (a class), a function's do not, a leaf has none; a member counts in a container only.
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

# Words that stand before brackets like a name does, and are none.
NOT_CALLED = (
    r"(?!(?:if|for|while|switch|catch|return|else|do|case|new|throw|function|with|await|typeof|using|lock|foreach|"
    r"super|this|delete|yield|goto|sizeof|synchronized|try|assert|in|of|not|and|or|when|unless|elif|import)\b)"
)
PARAMETERS = r"\((?>[^(){};]{1,400}|\{[^{};]{0,200}\}|\((?>[^(){};]{1,200}|\([^(){};]{0,100}\)){0,20}\)){0,40}+\)"
# Most lines of a body assign or call something of something.
NOT_ASSIGNED = r"(?!\w+(?:\.[\w.]*\(|->|[ \t]?[-+|&^*/%]?=(?!>)|\[\w*\][ \t]?=|\+\+|--))"
# Most lines begin with something else: this looks at one character instead of trying every rule.
_MAY_DEFINE = r"(?![\s)}\]'\"=,;+|&?-])"
_FEW_BLANKS = (
    (r"[ \t]+", r"[ \t]{1,40}+"),
    (r"[ \t]*", r"[ \t]{0,40}+"),
    (r"\s*", r"\s{0,80}+"),
    (r"\s+", r"\s{1,80}+"),
)


@dataclass(frozen=True)
class Rule:
    """A line that defines something: what stands before its name, the name, and what must follow."""

    kind: str
    before: str
    name: str = NAME
    after: str = ""


@dataclass(frozen=True)
class Grammar:
    """How definitions of a language are found; `above` are beginnings of lines that belong to the one below them.

    `prefix` may stand before every definition. `closer` is what a line begins with that ends a definition; that line
    belongs to it unless `closes_before`.
    """

    skipped: Sequence[str]
    rules: Sequence[Rule]
    prefix: str = ""
    closer: str = r"[}\])]"
    above: tuple[str, ...] = ("//", "/*", "*", "@", "#[", "[")
    closes_before: bool = False
    flags: re.RegexFlag = re.NOFLAG

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of definition behind each group of the pattern."""
        return {f"name{number}": rule.kind for number, rule in enumerate(self.rules)}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """One pattern for all of it, so that a text is gone through once."""
        rules = "|".join(
            f"{rule.before}(?P<name{number}>{rule.name}){rule.after}" for number, rule in enumerate(self.rules)
        )
        defining = _bound_blanks(rf"{self.prefix}(?:{rules})")
        parts = [rf"\n(?P<indent>[ \t]*){_MAY_DEFINE}{defining}", rf"\n(?P<close>[ \t]*){self.closer}", *self.skipped]
        return re.compile("|".join(parts), self.flags)


def match_words(listed: str) -> str:
    """A pattern for any number of these words, each with blanks after it."""
    return rf"(?:(?:{'|'.join(listed.split())})[ \t]+)*+"


def _bound_blanks(rule: str) -> str:
    """A rule whose blanks are few and not given back: a long run of them would be tried in every combination."""
    for blanks, few in _FEW_BLANKS:
        rule = rule.replace(blanks, few)
    return rule

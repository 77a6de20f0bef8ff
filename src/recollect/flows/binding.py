"""Values that a goal names: where they stand in another goal, and what was done with them there, done with these."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest
from typing import overload

from recollect.flows.model import Target
from recollect.text import FLOW_STOP_WORDS, fold, synonym_table

_TOKEN = re.compile(
    r"""(?P<quoted>"[^"]+"|“[^”]+”|«[^»]+»|`[^`]+`|(?<!\w)'[^']+'(?!\w)|\u2018[^\u2019]+\u2019)"""
    r"|(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<number>(?<!\w)[-+]?\d+(?:[.,:/-]\d+)*(?!\w))"
    r"|(?P<word>\w+(?:['\u2019-]\w+)*)"
    r"|(?P<comma>,)"
)
_VALUES = ("quoted", "email", "number")
_JOINTS = frozenset(("and", "or", "then"))
_ALIKE = 0.5  # the share of words that two goals need in common, for the others to be values of the same thing
_LONGEST = 6  # words of a value without quotes
_SYNONYMS = synonym_table()
_CACHED = 4096


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a goal: what kind it is, how it is written, and what it is compared by."""

    kind: str
    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Slots:
    """The values of an old goal and those of a new one; the pairs stand for the same thing."""

    pairs: tuple[tuple[str, str], ...] = ()
    more_old: tuple[str, ...] = ()
    more_new: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[str, ...]:
        """All values of the new goal."""
        return (*(new for _, new in self.pairs), *self.more_new)

    @property
    def old(self) -> tuple[str, ...]:
        """All values of the old goal."""
        return (*(old for old, _ in self.pairs), *self.more_old)

    def bound(self, text: str) -> str:
        """A text of the old session with the values of the new goal in it."""
        folded = fold(text)
        inside = [(old, new) for old, new in self.pairs if old != new and fold(old) in folded]
        whole = next((new for old, new in inside if fold(old) == folded.strip()), None)
        return whole if whole is not None else _replaced(text, inside)


def values_in(goal: str) -> tuple[str, ...]:
    """The values that are seen to be values: what is quoted, e-mail addresses, numbers."""
    return tuple(token.text for token in _tokens(goal) if token.kind in _VALUES)


def words_in(goal: str) -> tuple[str, ...]:
    """The words of a goal that are no values."""
    return tuple(token.key for token in _tokens(goal) if token.kind == "word")


@lru_cache(maxsize=_CACHED)
def slots(old_goal: str, new_goal: str) -> Slots:
    """Which value of the old goal is which of the new one."""
    pairs: list[tuple[str, str]] = []
    more_old: list[str] = []
    more_new: list[str] = []
    old, new = _tokens(old_goal), _tokens(new_goal)
    for some_old, some_new in (*_of_kinds(old, new), *_of_words(old, new)):
        pairs += [each for each in zip(some_old, some_new, strict=False) if not any(map(_is_secret, each))]
        more_old += some_old[len(some_new) :]
        more_new += some_new[len(some_old) :]
    return Slots(tuple(dict.fromkeys(pairs)), tuple(more_old), tuple(more_new))


def _is_secret(value: str) -> bool:
    """Whether what was typed is not kept: nothing stands for it."""
    return "[redacted" in value


@overload
def bind(what: str, old_goal: str | None, new_goal: str | None) -> str: ...
@overload
def bind(what: Target, old_goal: str | None, new_goal: str | None) -> dict[str, str]: ...
def bind(what: str | Target, old_goal: str | None, new_goal: str | None) -> str | dict[str, str]:
    """A text, or a target, of a session with the old goal as it is for the new one.

    A target that the old goal called by its name is another element now: it keeps nothing but its role.
    """
    known = slots(old_goal, new_goal) if old_goal and new_goal else Slots()
    return known.bound(what) if isinstance(what, str) else bound_target(what, known)


def bound_target(target: Target, known: Slots) -> dict[str, str]:
    """A target with the name that the new goal has for it."""
    name = target.get("name", "")
    new = known.bound(name)
    return dict(target) if new == name else _renamed(target, new)


def _renamed(target: Target, name: str) -> dict[str, str]:
    return {**({"role": target["role"]} if "role" in target else {}), "name": name}


def _replaced(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    """A text with whole words replaced, all at once."""
    if not pairs:
        return text
    by_old: Mapping[str, str] = {fold(old): new for old, new in pairs}
    longest_first = sorted((re.escape(old) for old, _ in pairs), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda match: by_old.get(fold(match[0]), match[0]), text)


@lru_cache(maxsize=_CACHED)
def _tokens(goal: str) -> tuple[Token, ...]:
    return tuple(_to_token(match) for match in _TOKEN.finditer(goal))


def _to_token(match: re.Match[str]) -> Token:
    kind, text = str(match.lastgroup), match[0]
    if kind == "quoted":
        text = text[1:-1].strip()
    return Token(kind, text, fold(text) if kind == "word" else kind)


def _of_kinds(old: Sequence[Token], new: Sequence[Token]) -> Iterator[tuple[list[str], list[str]]]:
    """The values that can be seen to be such, of each kind; first those that follow the same word, then in order."""
    for kind in _VALUES:
        before, after = _following(old, kind), _following(new, kind)
        named = [word for word, _ in before if _is_once(word, before) and _is_once(word, after)]
        yield [dict(before)[word] for word in named], [dict(after)[word] for word in named]
        yield (
            [value for word, value in before if word not in named],
            [value for word, value in after if word not in named],
        )


def _following(tokens: Sequence[Token], kind: str) -> list[tuple[str, str]]:
    """The values of a kind, each with the word before it."""
    found, word = [], ""
    for token in tokens:
        if token.kind == kind:
            found.append((word, token.text))
        elif token.kind == "word":
            word = token.key
    return found


def _is_once(word: str, values: Sequence[tuple[str, str]]) -> bool:
    return word not in _JOINTS and [before for before, _ in values].count(word) == 1


def _of_words(old: Sequence[Token], new: Sequence[Token]) -> Iterator[tuple[list[str], list[str]]]:
    """Where two goals are the same but for some words, these are values."""
    matcher = SequenceMatcher(None, [token.key for token in old], [token.key for token in new], autojunk=False)
    if matcher.ratio() < _ALIKE:
        return
    for what, from_old, to_old, from_new, to_new in matcher.get_opcodes():
        before, after = old[from_old:to_old], new[from_new:to_new]
        if what == "replace" and _are_values(before) and _are_values(after) and not _mean_the_same(before, after):
            yield _items(before), _items(after)


def _are_values(tokens: Sequence[Token]) -> bool:
    words = [token for token in tokens if token.kind == "word"]
    is_telling = any(token.key not in FLOW_STOP_WORDS for token in words)
    return is_telling and not any(token.kind in _VALUES for token in tokens) and all(map(_is_short, _split(tokens)))


def _is_short(item: Sequence[Token]) -> bool:
    return len(item) <= _LONGEST


def _mean_the_same(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """Whether the words are only other words for the same, one by one."""
    both = zip_longest((token.key for token in before), (token.key for token in after), fillvalue="")
    return any(new in _SYNONYMS.get(old, ()) for old, new in both)


def _items(tokens: Sequence[Token]) -> list[str]:
    return [" ".join(token.text for token in item) for item in _split(tokens)]


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """The items of a list: between commas, `and` and `or`."""
    items: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "comma" or token.key in _JOINTS:
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if item]

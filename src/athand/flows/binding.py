"""Values that a goal names: where they stand in another goal, and what was done with them there, done with these."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest
from typing import overload
from urllib.parse import quote, quote_plus, unquote_plus

from athand.flows.model import Target
from athand.text import FLOW_STOP_WORDS, fold, synonym_table

_TOKEN = re.compile(
    r"""(?P<quoted>"[^"]+"|“[^”]+”|«[^»]+»|`[^`]+`|(?<!\w)'[^']+'(?!\w)|\u2018[^\u2019]+\u2019)"""
    r"|(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<number>(?<!\w)[-+]?\d+(?:[.,:/-]\d+)*(?!\w))"
    r"|(?P<word>\w+(?:['\u2019-]\w+)*)"
    r"|(?P<comma>,)"
)
_TEXT_IN_SELECTOR = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<=text=)[^"'>]+""")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,:/]\d+)*(?!\w)")
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
        pairs = _in_address(self.pairs) if "://" in text else self.pairs
        inside = [(old, new) for old, new in pairs if old != new and fold(old) in folded]
        whole = next((new for old, new in inside if fold(old) == folded.strip()), None)
        return whole if whole is not None else _replaced(text, inside)

    def is_stale(self, text: str) -> bool:
        """Whether a text is about something that only the old goal names; a number inside it may be any number."""
        plain = unquote_plus(text) if "://" in text else text
        return any(
            fold(old) == fold(plain.strip()) or (not _is_number(old) and names(plain, old)) for old in self._gone
        )

    def bound_selector(self, selector: str) -> str:
        """A selector with the values of the new goal in its texts; empty if it is about what only the old one names."""
        if not self.old or not selector:
            return selector
        bound = _TEXT_IN_SELECTOR.sub(lambda text: _requoted(text[0], self.bound(_plain(text[0]))), selector)
        texts, rest = _TEXT_IN_SELECTOR.findall(bound), _TEXT_IN_SELECTOR.sub("", bound)
        is_stale = any(self.is_stale(_plain(text)) for text in texts) or any(
            _is_called(rest, old) for old in self._gone
        )
        return "" if is_stale else bound

    @property
    def _gone(self) -> list[str]:
        """The values of the old goal that the new one does not have."""
        kept = set(map(fold, self.new))
        return [old for old in self.old if fold(old) not in kept]


def values_in(goal: str) -> tuple[str, ...]:
    """The values that are seen to be values: what is quoted, e-mail addresses, numbers."""
    return tuple(token.text for token in _tokens(goal) if token.kind in _VALUES)


def asks_for(goal: str | None, name: str) -> bool:
    """Whether a goal has a value that is in this name, so that nothing of another name is meant."""
    return any(names(name, value) for value in values_in(goal or ""))


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
    """A target as the new goal has it: of what was another element, only what the goal has changed is kept."""
    new = {"name": known.bound(target.get("name", "")), "selector": known.bound_selector(target.get("selector", ""))}
    changed = {part for part, value in new.items() if value != target.get(part, "")}
    kept = changed | ({"role"} if "name" in changed else set()) if changed else set(target)
    found = {**target, **new}
    return {part: found[part] for part in target if part in kept and found[part]}


def names(text: str, value: str) -> bool:
    """Whether a text has a value in it, as whole words."""
    return bool(value) and re.search(rf"(?<!\w){re.escape(fold(value))}(?!\w)", fold(text)) is not None


def numberless(name: str) -> str:
    """A name but for its numbers; empty where it has none, or nothing else."""
    rest, found = _NUMBER.subn("0", fold(name).strip())
    return rest if found and any(map(str.isalpha, rest)) else ""


def _in_address(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs as an address writes them."""
    return list(dict.fromkeys((form(old), form(new)) for form in (str, quote, quote_plus) for old, new in pairs))


def _plain(text: str) -> str:
    """A text of a selector without its quotes."""
    return re.sub(r"""\\(["'\\])""", r"\1", text[1:-1]) if text[:1] in ('"', "'") else text


def _requoted(text: str, new: str) -> str:
    """The new text, written as the old one was."""
    if new == _plain(text):
        return text
    return text[0] + re.sub(rf"[\\{text[0]}]", r"\\\g<0>", new) + text[0] if text[0] in ('"', "'") else new


def _is_called(selector: str, value: str) -> bool:
    """Whether a class, an id or the value of an attribute is called like this; a number is a place in a list."""
    found = re.search(rf"[.#=]{re.escape(fold(value))}(?![\w-])", fold(selector))
    return found is not None and not _is_number(value)


def _is_number(value: str) -> bool:
    return not any(map(str.isalpha, value))


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

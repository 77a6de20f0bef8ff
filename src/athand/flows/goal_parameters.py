"""Goal parameters: pairs the values of two goals, and puts the new ones into actions done for the old goal. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import overload
from urllib.parse import quote, quote_plus, unquote_plus

from athand.flows.actions import is_redacted
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
_CONJUNCTIONS = frozenset(("and", "or", "then"))
_MIN_RATIO = 0.5  # similarity of two goals from which differing words count as values
_MAX_WORDS = 6  # words of a value without quotes
_SYNONYMS = synonym_table()
_CACHE_SIZE = 4096


@dataclass(frozen=True, slots=True)
class GoalToken:
    """A token of a goal: its kind, its text, and the key it is compared by."""

    kind: str
    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Bindings:
    """The values of an old goal paired with those of a new one, and the values without a counterpart."""

    pairs: tuple[tuple[str, str], ...] = ()
    unpaired_old: tuple[str, ...] = ()
    unpaired_new: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[str, ...]:
        """All values of the new goal."""
        return (*(new for _, new in self.pairs), *self.unpaired_new)

    @property
    def old(self) -> tuple[str, ...]:
        """All values of the old goal."""
        return (*(old for old, _ in self.pairs), *self.unpaired_old)

    def apply(self, text: str) -> str:
        """A text of the old session with the values of the new goal."""
        folded = fold(text)
        pairs = _encode_for_urls(self.pairs) if "://" in text else self.pairs
        inside = [(old, new) for old, new in pairs if old != new and fold(old) in folded]
        whole = next((new for old, new in inside if fold(old) == folded.strip()), None)
        return whole if whole is not None else _replace_words(text, inside)

    def is_stale(self, text: str) -> bool:
        """Whether a text contains a value that only the old goal has; numbers count only as the whole text."""
        plain = unquote_plus(text) if "://" in text else text
        return any(
            fold(old) == fold(plain.strip()) or (not _is_number(old) and contains_value(plain, old))
            for old in self._dropped_values
        )

    def apply_to_selector(self, selector: str) -> str:
        """A selector with the values of the new goal in its texts; empty if it has one that only the old goal has."""
        if not self.old or not selector:
            return selector
        bound = _TEXT_IN_SELECTOR.sub(lambda text: _requote(text[0], self.apply(_strip_quotes(text[0]))), selector)
        texts, rest = _TEXT_IN_SELECTOR.findall(bound), _TEXT_IN_SELECTOR.sub("", bound)
        is_stale = any(self.is_stale(_strip_quotes(text)) for text in texts) or any(
            _names_value(rest, old) for old in self._dropped_values
        )
        return "" if is_stale else bound

    @property
    def _dropped_values(self) -> list[str]:
        """The values that only the old goal has."""
        kept = set(map(fold, self.new))
        return [old for old in self.old if fold(old) not in kept]


def values_in(goal: str) -> tuple[str, ...]:
    """The explicit values in a goal: quoted texts, e-mail addresses, numbers."""
    return tuple(token.text for token in _tokens(goal) if token.kind in _VALUES)


def has_value_in(goal: str | None, name: str) -> bool:
    """Whether a name contains a value of the goal, so that no other element can be meant."""
    return any(contains_value(name, value) for value in values_in(goal or ""))


def words_in(goal: str) -> tuple[str, ...]:
    """The words of a goal that are not values."""
    return tuple(token.key for token in _tokens(goal) if token.kind == "word")


@lru_cache(maxsize=_CACHE_SIZE)
def match_goals(old_goal: str, new_goal: str) -> Bindings:
    """Pairs the values of the old goal with those of the new one; a redacted value has no counterpart."""
    pairs: list[tuple[str, str]] = []
    unpaired_old: list[str] = []
    unpaired_new: list[str] = []
    old, new = _tokens(old_goal), _tokens(new_goal)
    for some_old, some_new in (*_match_explicit_values(old, new), *_match_replaced_words(old, new)):
        pairs += [each for each in zip(some_old, some_new, strict=False) if not any(map(is_redacted, each))]
        unpaired_old += some_old[len(some_new) :]
        unpaired_new += some_new[len(some_old) :]
    return Bindings(tuple(dict.fromkeys(pairs)), tuple(unpaired_old), tuple(unpaired_new))


@overload
def bind(what: str, old_goal: str | None, new_goal: str | None) -> str: ...
@overload
def bind(what: Target, old_goal: str | None, new_goal: str | None) -> dict[str, str]: ...
def bind(what: str | Target, old_goal: str | None, new_goal: str | None) -> str | dict[str, str]:
    """A text or target of a session with the old goal, with the values of the new goal.

    A target named by a value of the old goal is another element now: only its role is kept.
    """
    bindings = match_goals(old_goal, new_goal) if old_goal and new_goal else Bindings()
    return bindings.apply(what) if isinstance(what, str) else bind_target(what, bindings)


def bind_target(target: Target, bindings: Bindings) -> dict[str, str]:
    """A target with the values of the new goal; if any part changes, the unchanged ones are dropped."""
    new = {
        "name": bindings.apply(target.get("name", "")),
        "selector": bindings.apply_to_selector(target.get("selector", "")),
    }
    changed = {part for part, value in new.items() if value != target.get(part, "")}
    kept = changed | ({"role"} if "name" in changed else set()) if changed else set(target)
    found = {**target, **new}
    return {part: found[part] for part in target if part in kept and found[part]}


def contains_value(text: str, value: str) -> bool:
    """Whether a text contains a value as whole words, ignoring case."""
    return bool(value) and re.search(rf"(?<!\w){re.escape(fold(value))}(?!\w)", fold(text)) is not None


def mask_numbers(name: str) -> str:
    """A name with its numbers replaced by 0; empty if it has no number or no letter."""
    rest, found = _NUMBER.subn("0", fold(name).strip())
    return rest if found and any(map(str.isalpha, rest)) else ""


def _encode_for_urls(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs as they are, and as URLs write them."""
    return list(dict.fromkeys((form(old), form(new)) for form in (str, quote, quote_plus) for old, new in pairs))


def _strip_quotes(text: str) -> str:
    """A text of a selector without quotes and escapes."""
    return re.sub(r"""\\(["'\\])""", r"\1", text[1:-1]) if text[:1] in ('"', "'") else text


def _requote(text: str, new: str) -> str:
    """The new text, quoted like the old one."""
    if new == _strip_quotes(text):
        return text
    return text[0] + re.sub(rf"[\\{text[0]}]", r"\\\g<0>", new) + text[0] if text[0] in ('"', "'") else new


def _names_value(selector: str, value: str) -> bool:
    """Whether a class, an id or an attribute of a selector equals a value; a number is an index instead."""
    found = re.search(rf"[.#=]{re.escape(fold(value))}(?![\w-])", fold(selector))
    return found is not None and not _is_number(value)


def _is_number(value: str) -> bool:
    return not any(map(str.isalpha, value))


def _replace_words(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    """A text with whole words replaced in one pass."""
    if not pairs:
        return text
    by_old: Mapping[str, str] = {fold(old): new for old, new in pairs}
    longest_first = sorted((re.escape(old) for old, _ in pairs), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda match: by_old.get(fold(match[0]), match[0]), text)


@lru_cache(maxsize=_CACHE_SIZE)
def _tokens(goal: str) -> tuple[GoalToken, ...]:
    return tuple(_to_token(match) for match in _TOKEN.finditer(goal))


def _to_token(match: re.Match[str]) -> GoalToken:
    kind, text = str(match.lastgroup), match[0]
    if kind == "quoted":
        text = text[1:-1].strip()
    return GoalToken(kind, text, fold(text) if kind == "word" else kind)


def _match_explicit_values(old: Sequence[GoalToken], new: Sequence[GoalToken]) -> Iterator[tuple[list[str], list[str]]]:
    """Pairs the explicit values of each kind: first those after the same word, then in order."""
    for kind in _VALUES:
        before, after = _with_word_before(old, kind), _with_word_before(new, kind)
        named = [word for word, _ in before if _is_unique(word, before) and _is_unique(word, after)]
        yield [dict(before)[word] for word in named], [dict(after)[word] for word in named]
        yield (
            [value for word, value in before if word not in named],
            [value for word, value in after if word not in named],
        )


def _with_word_before(tokens: Sequence[GoalToken], kind: str) -> list[tuple[str, str]]:
    """The values of a kind, each after the word before it."""
    found, word = [], ""
    for token in tokens:
        if token.kind == kind:
            found.append((word, token.text))
        elif token.kind == "word":
            word = token.key
    return found


def _is_unique(word: str, values: Sequence[tuple[str, str]]) -> bool:
    return word not in _CONJUNCTIONS and [before for before, _ in values].count(word) == 1


def _match_replaced_words(old: Sequence[GoalToken], new: Sequence[GoalToken]) -> Iterator[tuple[list[str], list[str]]]:
    """Pairs words that differ between otherwise similar goals (diff of their tokens)."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, [token.key for token in old], [token.key for token in new], autojunk=False)
    if matcher.ratio() < _MIN_RATIO:
        return
    for what, from_old, to_old, from_new, to_new in matcher.get_opcodes():
        before, after = old[from_old:to_old], new[from_new:to_new]
        if what == "replace" and _are_values(before) and _are_values(after) and not _are_synonyms(before, after):
            yield _item_texts(before), _item_texts(after)


def _are_values(tokens: Sequence[GoalToken]) -> bool:
    words = [token for token in tokens if token.kind == "word"]
    has_content = any(token.key not in FLOW_STOP_WORDS for token in words)
    return (
        has_content and not any(token.kind in _VALUES for token in tokens) and all(map(_is_short, _split_items(tokens)))
    )


def _is_short(item: Sequence[GoalToken]) -> bool:
    return len(item) <= _MAX_WORDS


def _are_synonyms(before: Sequence[GoalToken], after: Sequence[GoalToken]) -> bool:
    """Whether any word is a synonym of the one at its position."""
    both = zip_longest((token.key for token in before), (token.key for token in after), fillvalue="")
    return any(new in _SYNONYMS.get(old, ()) for old, new in both)


def _item_texts(tokens: Sequence[GoalToken]) -> list[str]:
    return [" ".join(token.text for token in item) for item in _split_items(tokens)]


def _split_items(tokens: Sequence[GoalToken]) -> list[list[GoalToken]]:
    """The items between commas, `and`, `or` and `then`."""
    items: list[list[GoalToken]] = [[]]
    for token in tokens:
        if token.kind == "comma" or token.key in _CONJUNCTIONS:
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if item]

"""Similarity of the labels of two elements by their words: synonyms and misspellings count, opposites exclude it."""

from collections.abc import Collection, Sequence
from functools import lru_cache

from athand.text import are_near, split_identifier, stem, synonym_table

_SYNONYM, _MISSPELLED = 0.85, 0.8  # similarity of two words
_MIN_MISSPELLED = 5  # characters of a word that may be misspelled
# Words of labels with the same meaning.
_SYNONYMS = synonym_table(
    tuple(group.split())
    for group in (
        "delete remove erase trash discard",
        "save apply update store",
        "next continue proceed forward",
        "confirm approve accept allow agree ok okay yes submit",
        "reject deny decline refuse",
        "cancel abort dismiss close",
        "signin login logon unlock",
        "signup register enroll join",
        "signout logout logoff",
        "add create new insert",
        "edit modify change",
        "find search lookup query",
        "settings preferences options configuration",
        "cart basket bag",
        "send transfer pay",
        "buy purchase order checkout",
        "swap exchange trade",
        "mail email",
        "phone mobile telephone",
        "image picture photo",
        "user username account",
        "back return previous",
        "message note comment",
    )
)
# Words that make two elements different if each has one of them.
_OPPOSITES = tuple(
    (frozenset(ones.split()), frozenset(others.split()))
    for ones, others in (
        ("in signin login", "out up signout signup logout"),
        ("up", "down"),
        ("on", "off"),
        ("from", "to"),
        ("next forward continue", "previous back"),
        ("first", "last"),
        ("left", "right"),
        ("start", "stop end"),
        ("min", "max"),
        ("add create new", "remove delete old edit"),
        ("accept approve allow confirm agree ok yes", "reject deny decline refuse cancel no"),
        ("save", "cancel discard"),
        ("send", "receive"),
        ("buy", "sell"),
        ("show", "hide"),
        ("open", "close"),
        ("expand", "collapse"),
        ("enable", "disable"),
        ("lock", "unlock"),
        ("import upload", "export download"),
        ("follow", "unfollow"),
        ("subscribe", "unsubscribe"),
        ("mute", "unmute"),
        ("all", "none"),
    )
)
# Words for the kind of an element, which say nothing about its purpose.
_GENERIC = frozenset("btn button link field input icon box the a an your my this test id el element cta".split())


@lru_cache(maxsize=1 << 14)
def label_words(label: str) -> tuple[str, ...]:
    """The words of a name or a test id without generic ones, each once; `log in` is one word."""
    parts = split_identifier(label)
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1] + part in _SYNONYMS:
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(dict.fromkeys(word for word in joined if word not in _GENERIC)) or tuple(dict.fromkeys(joined))


def label_similarity(ones: Sequence[str], others: Sequence[str]) -> float:
    """Mean of the best match of each word on either side: 1 for the same words, 0 for none in common."""
    if not ones or not others:
        return 0.0
    matched = sum(_best_match(word, others) for word in ones) + sum(_best_match(word, ones) for word in others)
    return matched / (len(ones) + len(others))


def _best_match(word: str, words: Collection[str]) -> float:
    return max(_word_similarity(word, other) for other in words)


@lru_cache(maxsize=1 << 14)
def _word_similarity(one: str, other: str) -> float:
    if one == other or stem(one) == stem(other):
        return 1.0
    if other in _SYNONYMS.get(one, ()):
        return _SYNONYM
    long_enough = min(len(one), len(other)) >= _MIN_MISSPELLED and not (one + other).isdigit()
    return _MISSPELLED if long_enough and are_near(one, other) else 0.0


def are_opposites(ones: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a word that only one label has is the opposite of a word that only the other has."""
    only, only_others = set(ones) - set(others), set(others) - set(ones)
    return any(
        (only & left and only_others & right) or (only & right and only_others & left) for left, right in _OPPOSITES
    )

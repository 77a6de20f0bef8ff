"""Similarity of the labels of two elements by their words: synonyms and misspellings count, opposites exclude it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache

from athand.text import are_near, split_identifier, stem, synonym_table

_SYNONYM, _MISSPELLED = 0.85, 0.8  # similarity of two words
RARITY = 0.6  # how much less a word says that more elements of the page have
_SHORT_PLURAL = 4  # characters of a plural that the stemmer leaves as it is
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
        "quantity qty",
        "increase increment plus",
        "decrease decrement minus",
        "coupon discount voucher promo",
        "zip postcode postal",
        "open view show display",
        "run execute go",
        "address location",
        "picker selector chooser dropdown",
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
_GENERIC = frozenset(
    "btn button link field input icon box the a an your my this test testid data id el element cta".split()
)


# Words without a meaning of their own beside others.
_STOP_WORDS = frozenset(
    "a an and all any are as at be by can do for from how i in into is it me more my now of on or our please some that "
    "the their them these this those to up via what which with you your yourself".split()
)
_STOP_WEIGHT = 0.1
Weigh = Callable[[str], float]  # how much a word says, on [0, 1]


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


def make_weigh(labels: Iterable[Collection[str]]) -> Weigh:
    """Weights of words on a page of these labels: what is in many of them says little, stop words next to nothing."""
    counts = Counter(stemmed for words in labels for stemmed in set(map(_root, words)))

    def weigh(word: str) -> float:
        return _STOP_WEIGHT if word in _STOP_WORDS or len(word) == 1 else 1 / max(1, counts[_root(word)]) ** RARITY

    return weigh


def label_similarity(ones: Sequence[str], others: Sequence[str], weigh: Weigh = lambda _: 1.0) -> float:
    """Weighted mean of the best match of each word on either side: 1 for the same words, 0 for none in common."""
    ones, others = _join_as(ones, others), _join_as(others, ones)
    if not ones or not others:
        return 0.0
    pairs = [(weigh(word), best_match(word, others)) for word in ones]
    pairs += [(weigh(word), best_match(word, ones)) for word in others]
    return sum(weight * match for weight, match in pairs) / sum(weight for weight, _ in pairs)


def _join_as(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """The words, neighbours joined where the other label writes them as one: `auto detect` as `autodetect`."""
    joined: list[str] = []
    roots = set(map(_root, others))
    for word in words:
        if joined and _root(joined[-1] + word) in roots:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


@lru_cache(maxsize=1 << 14)
def _root(word: str) -> str:
    """The stem of a word; of one that is too short to be stemmed, such as `nfts`, the singular."""
    stemmed = stem(word)
    is_plural = stemmed == word and len(word) == _SHORT_PLURAL and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if is_plural else stemmed


def best_match(word: str, words: Collection[str]) -> float:
    """The similarity of a word to the most similar of others."""
    return max(_word_similarity(word, other) for other in words)


@lru_cache(maxsize=1 << 14)
def _word_similarity(one: str, other: str) -> float:
    if _root(one) == _root(other):
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

"""How words are written after passages were erased: as other passages write them, for both engines."""

from collections.abc import Callable, Collection, Sequence

from athand.store.contract import Passage, PassagesOf
from athand.text import terms_and_words

# Passages that are read at once, and how often: terms that are not among them are shown as their stem.
SPELLING_PASSAGES = 50
_ROUNDS = 20

FindItems = Callable[[Sequence[str]], Sequence[tuple[str, str]]]  # some items that have any of these terms


def find_spellings(terms: Collection[str], find_items: FindItems, read_passages: PassagesOf) -> dict[str, str]:
    """A word for each of these terms, as one of the passages that are left writes it."""
    found: dict[str, str] = {}
    missing = set(terms)
    for _ in range(_ROUNDS):
        items = find_items(sorted(missing)) if missing else ()
        written = dict(_written_terms(read_passages(items))) if items else {}
        new = {term: written[term] for term in missing & written.keys()}
        if not new:
            break
        found |= new
        missing -= new.keys()
    return found


def _written_terms(passages: Sequence[Passage]) -> list[tuple[str, str]]:
    return [pair for passage in passages for field in passage.fields for pair in terms_and_words(field)]

"""Which words are known English words: those that the tokenizer of the bundled model has whole."""

import json
from functools import cache
from pathlib import Path

TOKENIZER = Path(__file__).parent / "embed" / "athand_static_1" / "tokenizer.json"


def is_english(word: str) -> bool:
    """Whether a folded word is a known word, or the plural of one, and so no typo."""
    words = _words()
    return word in words or word.removesuffix("s") in words


@cache
def _words() -> frozenset[str]:
    """All 27,846 of them; "##" begins what is only a part of words."""
    tokens = json.loads(TOKENIZER.read_bytes())["model"]["vocab"]
    return frozenset(filter(str.isalpha, tokens))

"""The length of a text: cut to a number of characters, and estimated in tokens of a language model."""

_CHARACTERS_PER_TOKEN = 4  # of English text


def shorten(text: str, longest: int) -> str:
    """The text, or its beginning with an ellipsis: at most `longest` characters in all."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model counts, and rather too many: four ASCII characters, or one other."""
    ascii_characters = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-ascii_characters // _CHARACTERS_PER_TOKEN) + len(text) - ascii_characters

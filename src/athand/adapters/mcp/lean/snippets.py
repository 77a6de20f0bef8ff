"""The part of a text that answers: at most a few hundred characters around the words that matched (pure functions)."""

import re
from collections.abc import Sequence
from itertools import pairwise

LONGEST = 300
_CUT = "…"
_BLANKS = re.compile(r"[ \t]+")
_BLANK_LINES = re.compile(r"\s*\n\s*\n\s*")
_STARTS = re.compile(r"(?<=[.!?;:])\s+|\n+")  # after which a sentence or a line begins


def find_snippet(text: str, words: Sequence[str], longest: int = LONGEST) -> str:
    """The text if it is short, else the part of it that has most of the words, from where a sentence or line begins."""
    tidy = _BLANK_LINES.sub("\n", _BLANKS.sub(" ", text)).strip()
    if len(tidy) <= longest:
        return tidy
    room = longest - 2 * len(_CUT)
    first = _best_start(tidy, words, room)
    part = tidy[first : first + room]
    if first + room < len(tidy):
        part = _drop_broken_word(part) + _CUT
    return part if first == 0 else _CUT + part


def _best_start(text: str, words: Sequence[str], room: int) -> int:
    """The first of the starts of sentences and lines from which the most different words are within reach."""
    starts = [0, *(found.end() for found in _STARTS.finditer(text))]
    places = [(found.start(), found[0].lower()) for found in _find_words(text, words)]
    if not places:
        return 0
    within = {start: _words_within(places, start, room) for start in starts}
    most = max(starts, key=lambda start: (within[start], -start))
    return most if within[most] else _start_before(starts, places[0][0], room)


def _find_words(text: str, words: Sequence[str]) -> "list[re.Match[str]]":
    wanted = sorted({re.escape(word) for word in words if word.strip()}, key=len, reverse=True)
    return list(re.finditer("|".join(wanted), text, re.IGNORECASE)) if wanted else []


def _words_within(places: Sequence[tuple[int, str]], start: int, room: int) -> int:
    return len({word for place, word in places if start <= place and place + len(word) <= start + room})


def _start_before(starts: Sequence[int], place: int, room: int) -> int:
    """Where a sentence is longer than the snippet: a third of the snippet before the first word."""
    begin = next((start for start, end in pairwise([*starts, place + 1]) if start <= place < end), 0)
    return max(begin, place - room // 3)


def _drop_broken_word(part: str) -> str:
    return re.sub(r"\s+\S*$", "", part) or part

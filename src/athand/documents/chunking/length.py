"""The length of a stretch of text as chunks count it: a character of Chinese, Japanese or Korean counts as four."""

import numpy as np

from athand.text import CJK_RUN

_WIDE = 4  # Latin characters, which are about one token of a language model, as one of these is


class Lengths:
    """Lengths in one text, and the offsets that they lead to."""

    def __init__(self, text: str) -> None:
        runs = () if text.isascii() else tuple(match.span() for match in CJK_RUN.finditer(text))
        self._ends: np.ndarray | None = None  # the length of the text up to each offset
        if runs:
            widths = np.ones(len(text) + 1, np.int64)
            widths[0] = 0
            for start, end in runs:
                widths[start + 1 : end + 1] = _WIDE
            self._ends = np.cumsum(widths)

    def between(self, start: int, end: int) -> int:
        """The length from one offset to another."""
        return end - start if self._ends is None else int(self._ends[end] - self._ends[start])

    def after(self, start: int, length: int) -> int:
        """The last offset that is at most a length behind another; it may lie behind the end of a text."""
        if self._ends is None:
            return start + length
        return int(np.searchsorted(self._ends, self._ends[start] + length, side="right")) - 1

    def before(self, end: int, length: int) -> int:
        """The first offset that is at most a length before another; it may lie before the text."""
        if self._ends is None:
            return end - length
        return int(np.searchsorted(self._ends, self._ends[end] - length))

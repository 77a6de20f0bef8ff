"""Output in encodings that lack characters: our signs become similar ASCII ones, other characters their code."""

import codecs
import io
from typing import TextIO

_SIGNS = str.maketrans("█░·•●✓✗\u00d7→←\u203a—\u2013─━┬┴┼└├│“”\u2018\u2019″", '#.-**+xx><>----+++`||""\'\'"') | {
    ord("…"): "..."
}


class AsciiWriter(io.TextIOWrapper):
    """Writes ASCII only. It says UTF-8, of which ASCII is a part: click replaces streams that say ASCII."""

    def write(self, text: str, /) -> int:
        """Write the text, with every character that ASCII lacks replaced."""
        super().write(text.translate(_SIGNS).encode("ascii", "backslashreplace").decode("ascii"))
        return len(text)


def make_writable(stream: TextIO) -> TextIO:
    """The stream, such that every text can be written to it."""
    encoding = codecs.lookup(stream.encoding).name
    if not isinstance(stream, io.TextIOWrapper) or encoding.startswith("utf"):
        return stream
    if encoding == "ascii":
        return AsciiWriter(stream.detach(), encoding="utf-8", line_buffering=stream.line_buffering)
    stream.reconfigure(errors="backslashreplace")
    return stream


def lacks_characters(stream: TextIO) -> bool:
    """Whether some characters of a text would be replaced."""
    return isinstance(stream, AsciiWriter) or not codecs.lookup(stream.encoding).name.startswith("utf")

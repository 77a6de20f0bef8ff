"""HTML pages: headings, paragraphs, lists, tables and code, without what only browsers need."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from athand.documents.extract import Extract
from athand.documents.readers.markup import Token, tokens
from athand.documents.readers.plain import read_text
from athand.documents.readers.writing import Writer, written

_LEFT_OUT = ("script", "style", "template", "svg", "nav", "noscript", "iframe", "object", "canvas", "select", "button")
_RAW = ("script", "style", "iframe")
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form header "
    "hr html main p section summary table tbody thead tfoot caption ul ol li tr td th pre h1 h2 h3 h4 h5 h6".split()
)
_BREAKS_ROW = ("h1", "h2", "h3", "h4", "h5", "h6", "pre", "li", "table")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([a-zA-Z0-9_.:-]{2,40})""", re.IGNORECASE)
_CHARSETS = ("iso", "windows-", "cp", "koi8", "shift", "sjis", "x-sjis", "euc", "gb", "big5", "mac", "tis", "ks_c")
_DEEPEST_LIST = 10


def read_html(data: bytes) -> Extract:
    """The text of a page with its headings as places."""
    return read_markup(*page_source(data))


def read_markup(source: str, note: str = "") -> Extract:
    """The text of a page that is decoded already."""

    def fill(out: Writer) -> None:
        out.note = note
        _Page(out).read(source)

    return written(fill)


def page_source(data: bytes) -> tuple[str, str]:
    """A page decoded, by what it says of itself where that is possible; with a note when it had to be guessed."""
    declared = _CHARSET.search(data[:4096])
    if declared and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and b"\0" not in data:
        with suppress(LookupError, ValueError):  # unknown, or not true: then it is guessed
            return data.decode(_usual(declared[1].decode("ascii"))), ""
    extract = read_text(data)
    return extract.text, extract.note


def _usual(name: str) -> str:
    """The codec for a charset: browsers read Latin-1 as Windows-1252, and pages rely on it."""
    low = name.lower()
    if low in ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"):
        return "cp1252"
    if not low.startswith(_CHARSETS):
        raise LookupError(name)
    return low


class _Page:
    """What stands open while a page is read."""

    def __init__(self, out: Writer) -> None:
        self._out = out
        self._inline: list[str] = []
        self._cells: list[str] | None = None
        self._heading = 0
        self._item = ""
        self._lists = 0
        self._pre = 0
        self._title: list[str] | None = None

    def read(self, source: str) -> None:
        """Write the page."""
        for token in _visible(source):
            if not token.name:
                (self._inline if self._title is None else self._title).append(token.text)
            elif token.name == "title":
                self._at_title(token.closes)
            elif token.name == "br" and not token.closes:
                self._inline.append("\n" if self._pre else "\v")
            elif token.name in _BLOCKS:
                self._at_block(token)
        self._flush()
        self._end_row()

    def _at_title(self, closes: bool) -> None:
        if closes and self._title is not None:
            self._out.title = self._out.title or "".join(self._title)
        self._title = None if closes else []

    def _at_block(self, token: Token) -> None:
        name = token.name
        if name in ("td", "th", "tr"):
            self._at_cell(name, token.closes)
            return
        if self._cells is not None and name not in _BREAKS_ROW:
            self._inline.append(" ")
            return
        self._flush()
        if name in _BREAKS_ROW:
            self._end_row()
        handler = _HANDLERS.get(name)
        if handler:
            handler(self, token)

    def _at_cell(self, name: str, closes: bool) -> None:
        self._flush()
        if name == "tr":
            self._end_row()
        elif not closes:
            self._cells = [] if self._cells is None else self._cells
            self._cells.append("")

    def _at_heading(self, token: Token) -> None:
        self._heading = 0 if token.closes else int(token.name[1])

    def _at_paragraph(self, token: Token) -> None:
        self._heading = 0

    def _at_list(self, token: Token) -> None:
        self._heading, self._item = 0, ""
        self._lists = max(0, self._lists + (-1 if token.closes else 1))

    def _at_item(self, token: Token) -> None:
        self._heading = 0
        self._item = "" if token.closes else "  " * min(self._lists - 1, _DEEPEST_LIST) + "- "

    def _at_pre(self, token: Token) -> None:
        self._heading = 0
        self._pre = max(0, self._pre + (-1 if token.closes else 1))

    def _flush(self) -> None:
        """Write what was gathered since the last block began."""
        gathered, self._inline = "".join(self._inline), []
        text = gathered if self._pre else _collapsed(gathered)
        if not text.strip():
            return
        if self._cells is not None:
            self._cells[-1:] = [f"{self._cells[-1]} {text}"] if self._cells else [text]
        elif self._heading:
            self._out.heading(text, self._heading)
        elif self._item:
            self._out.block(self._item + text.strip("\n"), "item")
            self._item = " " * len(self._item)
        else:
            self._out.block(text)

    def _end_row(self) -> None:
        cells, self._cells = self._cells, None
        if cells:
            self._out.row(cells)


_HANDLERS: dict[str, Callable[[_Page, Token], None]] = {
    **{f"h{level}": _Page._at_heading for level in range(1, 7)},
    **dict.fromkeys(("ul", "ol"), _Page._at_list),
    "li": _Page._at_item,
    "pre": _Page._at_pre,
    "p": _Page._at_paragraph,
    "table": _Page._at_paragraph,
}


def _collapsed(text: str) -> str:
    """Text as a browser shows it: white space is one space, only `<br>` (a vertical tab here) is a new line."""
    return "\n".join(" ".join(line.split()) for line in text.split("\v")).strip()


def _visible(source: str) -> Iterator[Token]:
    """The tokens outside of what is left out; an element that is never closed is not left out after all."""
    left_out, again = set(_LEFT_OUT), 0
    while again >= 0:
        begin, again, hidden, depth = again, -1, "", 0
        for token in tokens(source, begin):
            if hidden and token.name == hidden:
                depth += -1 if token.closes else 1
                hidden = hidden if depth else ""
            elif not hidden and token.name in left_out:
                hidden, depth, again = ("", 0, -1) if token.closes else (token.name, 1, token.end)
            elif not hidden:
                yield token
        again = again if hidden and hidden not in _RAW else -1
        left_out.discard(hidden)

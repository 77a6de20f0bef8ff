"""HTML pages: a tolerant one-pass tokenizer, and text with headings, lists, tables and code, without scripts."""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from athand.documents.extract import Extract
from athand.documents.readers.plain_text import read_text
from athand.documents.readers.text_builder import TextBuilder, build_text

_OPENS = re.compile(r"""<([a-zA-Z][^\s/>]*+)((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
_OPENS_UNQUOTED = re.compile(r"<([a-zA-Z][^\s/>]*+)([^>]*+)>")
_CLOSES = re.compile(r"</([a-zA-Z][^\s/>]*+)([^>]*+)>")
_LONG_NUMBER = re.compile(r"&#0*(\d{8,}+)")
_LETTER = re.compile("[a-zA-Z]")
_CDATA = "<![CDATA["
_RAW_TEXT_ELEMENTS = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")


class HtmlToken(NamedTuple):
    """An opening or closing tag, or text (with an empty name); `end` is the offset after it."""

    name: str
    closes: bool
    text: str
    end: int


def tokenize_html(source: str, at: int = 0) -> Iterator[HtmlToken]:
    """Tags and text in linear time, however broken; without comments; a self-closing tag opens and closes."""
    opens = _OPENS
    while at < len(source):
        begin = source.find("<", at)
        begin = len(source) if begin < 0 else begin
        if begin > at:
            yield HtmlToken("", False, _unescape(source[at:begin]), begin)
        tag = _CLOSES.match(source, begin) or opens.match(source, begin)
        if not tag and opens is _OPENS and _LETTER.match(source, begin + 1):
            opens = _OPENS_UNQUOTED  # an unclosed quote: ignore quotes from here on, to stay linear
            tag = opens.match(source, begin)
        found = _tag_tokens(source, tag) if tag else _declaration_tokens(source, begin)
        yield from found
        at = found[-1].end


def _unescape(text: str) -> str:
    """Resolves character references; overlong numeric ones become U+FFFD."""
    return html.unescape(_LONG_NUMBER.sub("&#65533", text)) if "&" in text else text


def _tag_tokens(source: str, tag: re.Match[str]) -> list[HtmlToken]:
    """The tokens of a tag; the content of scripts and the like is skipped as raw text."""
    name, end = tag[1].lower(), tag.end()
    if tag.re is _CLOSES:
        return [HtmlToken(name, True, "", end)]
    if tag[2].endswith("/"):
        return [HtmlToken(name, False, "", end), HtmlToken(name, True, "", end)]
    if name not in _RAW_TEXT_ELEMENTS:
        return [HtmlToken(name, False, "", end)]
    close = _raw_text_end(source, name, end)
    text = _unescape(source[end:close]) if name in ("title", "textarea") else ""
    return [HtmlToken(name, False, "", end), HtmlToken("", False, text, close)]


def _raw_text_end(source: str, name: str, at: int) -> int:
    found = re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE).search(source, at)
    return found.start() if found else len(source)


def _declaration_tokens(source: str, begin: int) -> list[HtmlToken]:
    """The token of a comment, declaration or lone `<`, with the text it stands for."""
    for opening, closing in (("<!--", "-->"), (_CDATA, "]]>"), ("<!", ">"), ("<?", ">"), ("</", ">")):
        if source.startswith(opening, begin):
            close = source.find(closing, begin + len(opening))
            close = len(source) if close < 0 else close
            text = source[begin + len(opening) : close] if opening == _CDATA else ""
            return [HtmlToken("", False, text, close + len(closing))]
    if _LETTER.match(source, begin + 1):  # an unclosed tag: the rest is text
        return [HtmlToken("", False, _unescape(source[begin:]), len(source))]
    return [HtmlToken("", False, source[begin : begin + 1], begin + 1)]


_LEFT_OUT = ("script", "style", "template", "svg", "nav", "noscript", "iframe", "object", "canvas", "select", "button")
_UNPARSED_ELEMENTS = ("script", "style", "iframe")
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form header "
    "hr html main p section summary table tbody thead tfoot caption ul ol li tr td th pre h1 h2 h3 h4 h5 h6".split()
)
_ROW_BREAKS = ("h1", "h2", "h3", "h4", "h5", "h6", "pre", "li", "table")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([a-zA-Z0-9_.:-]{2,40})""", re.IGNORECASE)
_CHARSET_PREFIXES = (
    "iso",
    "windows-",
    "cp",
    "koi8",
    "shift",
    "sjis",
    "x-sjis",
    "euc",
    "gb",
    "big5",
    "mac",
    "tis",
    "ks_c",
)
_MAX_LIST_DEPTH = 10


def read_html(data: bytes) -> Extract:
    """The text of a page with heading markers."""
    return read_decoded_html(*decode_page(data))


def read_decoded_html(source: str, note: str = "") -> Extract:
    """The text of a decoded page."""

    def fill(out: TextBuilder) -> None:
        out.note = note
        _HtmlPage(out).read(source)

    return build_text(fill)


def decode_page(data: bytes) -> tuple[str, str]:
    """The source of a page, decoded by its `<meta charset>` if valid, else by detection; and a note about it."""
    declared = _CHARSET.search(data[:4096])
    if declared and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and b"\0" not in data:
        with suppress(LookupError, ValueError):  # unknown or wrong: detect it instead
            return data.decode(_codec_for(declared[1].decode("ascii"))), ""
    extract = read_text(data)
    return extract.text, extract.note


def _codec_for(name: str) -> str:
    """The codec of a charset; as in browsers, Latin-1 means Windows-1252."""
    low = name.lower()
    if low in ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"):
        return "cp1252"
    if not low.startswith(_CHARSET_PREFIXES):
        raise LookupError(name)
    return low


class _HtmlPage:
    """The state of a page being read: inline text, table row, heading, list and `pre` depth."""

    def __init__(self, out: TextBuilder) -> None:
        self._out = out
        self._inline: list[str] = []
        self._cells: list[str] | None = None
        self._heading = 0
        self._item = ""
        self._lists = 0
        self._pre = 0
        self._title: list[str] | None = None

    def read(self, source: str) -> None:
        """Reads the page into the text builder."""
        for token in _visible_tokens(source):
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

    def _at_block(self, token: HtmlToken) -> None:
        name = token.name
        if name in ("td", "th", "tr"):
            self._at_cell(name, token.closes)
            return
        if self._cells is not None and name not in _ROW_BREAKS:
            self._inline.append(" ")
            return
        self._flush()
        if name in _ROW_BREAKS:
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

    def _at_heading(self, token: HtmlToken) -> None:
        self._heading = 0 if token.closes else int(token.name[1])

    def _at_paragraph(self, token: HtmlToken) -> None:
        self._heading = 0

    def _at_list(self, token: HtmlToken) -> None:
        self._heading, self._item = 0, ""
        self._lists = max(0, self._lists + (-1 if token.closes else 1))

    def _at_item(self, token: HtmlToken) -> None:
        self._heading = 0
        self._item = "" if token.closes else "  " * min(self._lists - 1, _MAX_LIST_DEPTH) + "- "

    def _at_pre(self, token: HtmlToken) -> None:
        self._heading = 0
        self._pre = max(0, self._pre + (-1 if token.closes else 1))

    def _flush(self) -> None:
        """Adds the inline text since the last block began."""
        gathered, self._inline = "".join(self._inline), []
        text = gathered if self._pre else _collapse_whitespace(gathered)
        if not text.strip():
            return
        if self._cells is not None:
            self._cells[-1:] = [f"{self._cells[-1]} {text}"] if self._cells else [text]
        elif self._heading:
            self._out.add_heading(text, self._heading)
        elif self._item:
            self._out.add_block(self._item + text.strip("\n"), "item")
            self._item = " " * len(self._item)
        else:
            self._out.add_block(text)

    def _end_row(self) -> None:
        cells, self._cells = self._cells, None
        if cells:
            self._out.add_row(cells)


_HANDLERS: dict[str, Callable[[_HtmlPage, HtmlToken], None]] = {
    **{f"h{level}": _HtmlPage._at_heading for level in range(1, 7)},
    **dict.fromkeys(("ul", "ol"), _HtmlPage._at_list),
    "li": _HtmlPage._at_item,
    "pre": _HtmlPage._at_pre,
    "p": _HtmlPage._at_paragraph,
    "table": _HtmlPage._at_paragraph,
}


def _collapse_whitespace(text: str) -> str:
    """Collapses white space as browsers do; only `<br>` (a vertical tab here) is a new line."""
    return "\n".join(" ".join(line.split()) for line in text.split("\v")).strip()


def _visible_tokens(source: str) -> Iterator[HtmlToken]:
    """The tokens outside of hidden elements; an element that is never closed is shown after all."""
    left_out, again = set(_LEFT_OUT), 0
    while again >= 0:
        begin, again, hidden, depth = again, -1, "", 0
        for token in tokenize_html(source, begin):
            if hidden and token.name == hidden:
                depth += -1 if token.closes else 1
                hidden = hidden if depth else ""
            elif not hidden and token.name in left_out:
                hidden, depth, again = ("", 0, -1) if token.closes else (token.name, 1, token.end)
            elif not hidden:
                yield token
        again = again if hidden and hidden not in _UNPARSED_ELEMENTS else -1
        left_out.discard(hidden)

"""HTML cut into tags and text in one pass: every character is looked at a bounded number of times, however broken."""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

_OPENS = re.compile(r"""<([a-zA-Z][^\s/>]*+)((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
_OPENS_UNQUOTED = re.compile(r"<([a-zA-Z][^\s/>]*+)([^>]*+)>")
_CLOSES = re.compile(r"</([a-zA-Z][^\s/>]*+)([^>]*+)>")
_LONG_NUMBER = re.compile(r"&#0*(\d{8,}+)")
_LETTER = re.compile("[a-zA-Z]")
_CDATA = "<![CDATA["
_RAW = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")


class Token(NamedTuple):
    """A tag that opens or closes, or text, whose name is empty; and where the page goes on behind it."""

    name: str
    closes: bool
    text: str
    end: int


def tokens(source: str, at: int = 0) -> Iterator[Token]:
    """Tags and text in order; comments and declarations are left out, an empty element opens and closes."""
    opens = _OPENS
    while at < len(source):
        begin = source.find("<", at)
        begin = len(source) if begin < 0 else begin
        if begin > at:
            yield Token("", False, decoded(source[at:begin]), begin)
        tag = _CLOSES.match(source, begin) or opens.match(source, begin)
        if not tag and opens is _OPENS and _LETTER.match(source, begin + 1):
            opens = _OPENS_UNQUOTED  # a quote stays open: from here on they mean nothing, else every tag tries again
            tag = opens.match(source, begin)
        found = _tag(source, tag) if tag else _declaration(source, begin)
        yield from found
        at = found[-1].end


def decoded(text: str) -> str:
    """Text with its character references resolved; absurdly long numbers name no character."""
    return html.unescape(_LONG_NUMBER.sub("&#65533", text)) if "&" in text else text


def _tag(source: str, tag: re.Match[str]) -> list[Token]:
    """The tokens of a tag; what a script holds is no markup, so that is passed over at once."""
    name, end = tag[1].lower(), tag.end()
    if tag.re is _CLOSES:
        return [Token(name, True, "", end)]
    if tag[2].endswith("/"):
        return [Token(name, False, "", end), Token(name, True, "", end)]
    if name not in _RAW:
        return [Token(name, False, "", end)]
    close = _end_of_raw(source, name, end)
    text = decoded(source[end:close]) if name in ("title", "textarea") else ""
    return [Token(name, False, "", end), Token("", False, text, close)]


def _end_of_raw(source: str, name: str, at: int) -> int:
    found = re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE).search(source, at)
    return found.start() if found else len(source)


def _declaration(source: str, begin: int) -> list[Token]:
    """A comment, a declaration or a lone `<`: the text it stands for, and where it ends."""
    for opening, closing in (("<!--", "-->"), (_CDATA, "]]>"), ("<!", ">"), ("<?", ">"), ("</", ">")):
        if source.startswith(opening, begin):
            close = source.find(closing, begin + len(opening))
            close = len(source) if close < 0 else close
            text = source[begin + len(opening) : close] if opening == _CDATA else ""
            return [Token("", False, text, close + len(closing))]
    if _LETTER.match(source, begin + 1):  # no tag is closed any more
        return [Token("", False, decoded(source[begin:]), len(source))]
    return [Token("", False, source[begin : begin + 1], begin + 1)]

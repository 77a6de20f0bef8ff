"""PDF: the text of each page, and the bookmarks as headings."""

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import Any

from athand.documents.extract import Extract, Mark, Unreadable
from athand.documents.readers.writing import LONGEST_LABEL, Writer, written

_SPLIT_WORD = re.compile("[\ufffe\x02]\\s*\n?")
_MOST_BOOKMARKS = 5_000
_MOST_WORDS = 12
_REASONS = {
    4: "encrypted: it needs a password",
    5: "encrypted: in a way that is not supported",
}


def read_pdf(data: bytes) -> Extract:
    """The text of a PDF with its pages as places."""
    return written(lambda out: _document(data, out), "no text in it: perhaps scanned pages")


def _document(data: bytes, out: Writer) -> None:
    pypdfium2 = import_module("pypdfium2")
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(_REASONS.get(error.err_code or 0, "damaged: it is not a whole PDF")) from error
    try:
        _pages(document, out)
    finally:
        document.close()


def _pages(document: Any, out: Writer) -> None:
    out.title = document.get_metadata_value("Title")
    bookmarks, broken = _bookmarks(document), 0
    for at in range(len(document)):
        text = _page_text(document, at)
        broken += text is None
        if text and text.strip():
            out.mark("page", str(at + 1))
            out.include(Extract(text, tuple(_headings(text, bookmarks.get(at, [])))))
    if broken:
        out.note = f"{broken:,} of {len(document):,} pages could not be read"


def _page_text(document: Any, at: int) -> str | None:
    """The text of a page, words that were split at the end of a line whole again; None if the page is broken."""
    pypdfium2 = import_module("pypdfium2")
    try:
        page = document[at]
        text = page.get_textpage().get_text_bounded()
        page.close()
    except pypdfium2.PdfiumError:
        return None
    return _SPLIT_WORD.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _bookmarks(document: Any) -> dict[int, list[tuple[str, int]]]:
    """The titles of the outline with their levels, by the page that they point to."""
    found: dict[int, list[tuple[str, int]]] = {}
    for bookmark in islice(document.get_toc(), _MOST_BOOKMARKS):
        goal = bookmark.get_dest()
        page = goal.get_index() if goal else None
        title = " ".join(bookmark.get_title()[:LONGEST_LABEL].split())
        if page is not None and title:
            found.setdefault(page, []).append((title, bookmark.level + 1))
    return found


def _headings(text: str, bookmarks: list[tuple[str, int]]) -> Iterator[Mark]:
    """Where on a page the titles of its bookmarks stand; at its top if they do not."""
    for title, level in bookmarks:
        words = map(re.escape, title.split()[:_MOST_WORDS])
        found = re.search(r"\s+".join(words), text, re.IGNORECASE)
        yield Mark(found.start() if found else 0, "heading", title, level)

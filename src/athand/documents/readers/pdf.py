"""PDF files: the text of each page, with bookmarks as headings."""

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import Any

from athand.documents.extract import Extract, Marker, UnreadableFile
from athand.documents.readers.text_builder import MAX_LABEL_LENGTH, TextBuilder, build_text

_SPLIT_WORD = re.compile("[\ufffe\x02]\\s*\n?")
_MAX_BOOKMARKS = 5_000
_MAX_TITLE_WORDS = 12
_REASONS = {
    4: "encrypted: it needs a password",
    5: "encrypted: in a way that is not supported",
}


def read_pdf(data: bytes) -> Extract:
    """The text of a PDF with page and heading markers."""
    return build_text(lambda out: _add_document(data, out), "no text in it: perhaps scanned pages")


def _add_document(data: bytes, out: TextBuilder) -> None:
    pypdfium2 = import_module("pypdfium2")
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise UnreadableFile(_REASONS.get(error.err_code or 0, "damaged: it is not a whole PDF")) from error
    try:
        _add_pages(document, out)
    finally:
        document.close()


def _add_pages(document: Any, out: TextBuilder) -> None:
    out.title = document.get_metadata_value("Title")
    bookmarks, broken = _read_bookmarks(document), 0
    for at in range(len(document)):
        text = _read_page(document, at)
        broken += text is None
        if text and text.strip():
            out.add_marker("page", str(at + 1))
            out.include(Extract(text, tuple(_bookmark_markers(text, bookmarks.get(at, [])))))
    if broken:
        out.note = f"{broken:,} of {len(document):,} pages could not be read"


def _read_page(document: Any, at: int) -> str | None:
    """The text of a page with hyphenated words rejoined; None if the page is broken."""
    pypdfium2 = import_module("pypdfium2")
    try:
        page = document[at]
        text = page.get_textpage().get_text_bounded()
        page.close()
    except pypdfium2.PdfiumError:
        return None
    return _SPLIT_WORD.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _read_bookmarks(document: Any) -> dict[int, list[tuple[str, int]]]:
    """Titles and levels of the bookmarks, by page."""
    found: dict[int, list[tuple[str, int]]] = {}
    for bookmark in islice(document.get_toc(), _MAX_BOOKMARKS):
        destination = bookmark.get_dest()
        page = destination.get_index() if destination else None
        title = " ".join(bookmark.get_title()[:MAX_LABEL_LENGTH].split())
        if page is not None and title:
            found.setdefault(page, []).append((title, bookmark.level + 1))
    return found


def _bookmark_markers(text: str, bookmarks: list[tuple[str, int]]) -> Iterator[Marker]:
    """Heading markers where the bookmark titles occur on a page, else at its top."""
    for title, level in bookmarks:
        words = map(re.escape, title.split()[:_MAX_TITLE_WORDS])
        found = re.search(r"\s+".join(words), text, re.IGNORECASE)
        yield Marker(found.start() if found else 0, "heading", title, level)

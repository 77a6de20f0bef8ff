"""Electronic books: their chapters in the order of reading."""

from athand.documents.extract import Extract, Unreadable
from athand.documents.readers.html import page_source, read_markup
from athand.documents.readers.package import Package
from athand.documents.readers.relations import resolved
from athand.documents.readers.writing import Writer, written
from athand.documents.readers.xml import Node, elements, root

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document")
MOST_CHAPTERS = 10_000


def read_epub(data: bytes) -> Extract:
    """The text of a book with its chapters as places."""
    return written(lambda out: _book(Package(data), out))


def _book(package: Package, out: Writer) -> None:
    listing = resolved("", root(package.pieces(_CONTAINER), "rootfile").get("full-path"))
    book = root(package.pieces(listing), "package")
    title = book.find("title")
    out.title = title.text() if title else ""
    locked = _locked(package)
    for number, href in enumerate(_spine(book), 1):
        if number > MOST_CHAPTERS:
            out.note = f"only the first {MOST_CHAPTERS:,} chapters"
            return
        part = resolved(listing, href)
        if part in locked:
            raise Unreadable("encrypted: the book is protected against copying")
        if part in package:
            _chapter(package.read(part), number, out)


def _spine(book: Node) -> list[str]:
    """Where the chapters are; the table of contents, which repeats their names, is left out."""
    manifest = {node.get("id"): node for node in book.walk() if node.name == "item"}
    order = (manifest.get(node.get("idref")) for node in book.walk() if node.name == "itemref")
    pages = (node for node in order if node and node.get("media-type") in _PAGES)
    return [node.get("href") for node in pages if "nav" not in node.get("properties").split()]


def _locked(package: Package) -> set[str]:
    if _ENCRYPTION not in package:
        return set()
    found = elements(package.pieces(_ENCRYPTION), ("CipherReference",))
    return {resolved("", node.get("URI")) for node in found}


def _chapter(data: bytes, number: int, out: Writer) -> None:
    try:
        chapter = read_markup(*page_source(data))
    except Unreadable:
        return  # a page with a picture only
    heading = next((mark.label for mark in chapter.marks), "")
    out.mark("chapter", heading or chapter.title or str(number))
    out.include(chapter)

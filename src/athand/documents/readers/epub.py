"""EPUB books: their chapters in the order of the spine."""

from athand.documents.extract import Extract, UnreadableFile
from athand.documents.readers.html import decode_page, read_decoded_html
from athand.documents.readers.text_builder import TextBuilder, build_text
from athand.documents.readers.xml import Node, first_element, iterate_elements
from athand.documents.readers.zip_container import ZipContainer, resolve_target

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document")
MAX_CHAPTERS = 10_000


def read_epub(data: bytes) -> Extract:
    """The text of a book with chapter markers."""
    return build_text(lambda out: _add_book(ZipContainer(data), out))


def _add_book(container: ZipContainer, out: TextBuilder) -> None:
    listing = resolve_target("", first_element(container.read_pieces(_CONTAINER), "rootfile").get("full-path"))
    book = first_element(container.read_pieces(listing), "package")
    title = book.find("title")
    out.title = title.text() if title else ""
    encrypted = _encrypted_parts(container)
    for number, href in enumerate(_read_spine(book), 1):
        if number > MAX_CHAPTERS:
            out.note = f"only the first {MAX_CHAPTERS:,} chapters"
            return
        part = resolve_target(listing, href)
        if part in encrypted:
            raise UnreadableFile("encrypted: the book is protected against copying")
        if part in container:
            _add_chapter(container.read(part), number, out)


def _read_spine(book: Node) -> list[str]:
    """The paths of the chapters in reading order, without the table of contents."""
    manifest = {node.get("id"): node for node in book.iterate() if node.name == "item"}
    order = (manifest.get(node.get("idref")) for node in book.iterate() if node.name == "itemref")
    pages = (node for node in order if node and node.get("media-type") in _PAGES)
    return [node.get("href") for node in pages if "nav" not in node.get("properties").split()]


def _encrypted_parts(container: ZipContainer) -> set[str]:
    if _ENCRYPTION not in container:
        return set()
    found = iterate_elements(container.read_pieces(_ENCRYPTION), ("CipherReference",))
    return {resolve_target("", node.get("URI")) for node in found}


def _add_chapter(data: bytes, number: int, out: TextBuilder) -> None:
    try:
        chapter = read_decoded_html(*decode_page(data))
    except UnreadableFile:
        return  # a page without text, such as a cover
    heading = next((marker.label for marker in chapter.markers), "")
    out.add_marker("chapter", heading or chapter.title or str(number))
    out.include(chapter)

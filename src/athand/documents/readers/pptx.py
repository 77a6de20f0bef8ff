"""Presentations: what stands on each slide, its tables, and the speaker's notes."""

from collections.abc import Iterator

from athand.documents.extract import Extract, Unreadable
from athand.documents.readers.package import Package
from athand.documents.readers.relations import declared_title, main_part, relations
from athand.documents.readers.writing import Writer, written
from athand.documents.readers.xml import Node, elements, root

_TITLES = ("title", "ctrTitle")
_DECORATION = ("sldNum", "dt", "ftr", "hdr", "sldImg")
MOST_SLIDES = 10_000


def read_pptx(data: bytes) -> Extract:
    """The text of a presentation with its slides as places."""
    return written(lambda out: _presentation(Package(data), out))


def _presentation(package: Package, out: Writer) -> None:
    out.title = declared_title(package)
    for number, part in enumerate(_slides(package), 1):
        if number > MOST_SLIDES:
            out.note = f"only the first {MOST_SLIDES:,} slides"
            return
        out.mark("slide", str(number))
        _shapes(package, part, out)
        for related in relations(package, part).values():
            if related.kind == "notesSlide" and related.target in package:
                _notes(package, related.target, out)


def _slides(package: Package) -> Iterator[str]:
    main = main_part(package, "ppt/presentation.xml")
    targets = relations(package, main)
    for node in root(package.pieces(main), "presentation").walk():
        if node.name == "sldId":
            relation = targets.get(node.get("r:id"))
            if relation is None:
                raise Unreadable("damaged: it names a slide that it does not have")
            yield relation.target


def _shapes(package: Package, part: str, out: Writer) -> None:
    for node in elements(package.pieces(part), ("sp", "tr")):
        place = _placeholder(node)
        if node.name == "tr":
            out.row([_text(cell) for cell in node.nodes() if cell.name == "tc"])
        elif place in _TITLES:
            out.heading(_text(node), 1)
        elif place not in _DECORATION:
            out.block(_text(node))


def _notes(package: Package, part: str, out: Writer) -> None:
    bodies = (node for node in elements(package.pieces(part), ("sp",)) if _placeholder(node) == "body")
    text = "\n".join(filter(None, map(_text, bodies)))
    out.block(f"Notes: {text}" if text else "")


def _placeholder(node: Node) -> str:
    """What a shape is for, as the layout says."""
    place = node.find("ph")
    return place.get("type", "obj") if place else ""


def _text(node: Node) -> str:
    """The paragraphs of a shape or cell on lines."""
    lines = (_line(paragraph) for paragraph in node.walk() if paragraph.name == "p")
    return "\n".join(line for line in lines if line.strip())


def _line(paragraph: Node) -> str:
    parts = []
    for node in paragraph.walk():
        if node.name == "t":
            parts.append(node.text())
        elif node.name in ("br", "tab"):
            parts.append("\n" if node.name == "br" else "\t")
    return "".join(parts)

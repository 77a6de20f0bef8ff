"""PowerPoint presentations: text and tables of each slide, and speaker notes."""

from collections.abc import Iterator

from athand.documents.extract import Extract, UnreadableFile
from athand.documents.readers.text_builder import TextBuilder, build_text
from athand.documents.readers.xml import Node, first_element, iterate_elements
from athand.documents.readers.zip_container import ZipContainer, find_main_part, read_relations, read_title

_TITLES = ("title", "ctrTitle")
_DECORATION = ("sldNum", "dt", "ftr", "hdr", "sldImg")
MAX_SLIDES = 10_000


def read_pptx(data: bytes) -> Extract:
    """The text of a presentation with slide markers."""
    return build_text(lambda out: _add_presentation(ZipContainer(data), out))


def _add_presentation(container: ZipContainer, out: TextBuilder) -> None:
    out.title = read_title(container)
    for number, part in enumerate(_slide_parts(container), 1):
        if number > MAX_SLIDES:
            out.note = f"only the first {MAX_SLIDES:,} slides"
            return
        out.add_marker("slide", str(number))
        _add_shapes(container, part, out)
        for related in read_relations(container, part).values():
            if related.kind == "notesSlide" and related.target in container:
                _add_notes(container, related.target, out)


def _slide_parts(container: ZipContainer) -> Iterator[str]:
    main = find_main_part(container, "ppt/presentation.xml")
    targets = read_relations(container, main)
    for node in first_element(container.read_pieces(main), "presentation").iterate():
        if node.name == "sldId":
            relation = targets.get(node.get("r:id"))
            if relation is None:
                raise UnreadableFile("damaged: it names a slide that it does not have")
            yield relation.target


def _add_shapes(container: ZipContainer, part: str, out: TextBuilder) -> None:
    for node in iterate_elements(container.read_pieces(part), ("sp", "tr")):
        place = _placeholder_type(node)
        if node.name == "tr":
            out.add_row([_shape_text(cell) for cell in node.nodes() if cell.name == "tc"])
        elif place in _TITLES:
            out.add_heading(_shape_text(node), 1)
        elif place not in _DECORATION:
            out.add_block(_shape_text(node))


def _add_notes(container: ZipContainer, part: str, out: TextBuilder) -> None:
    bodies = (
        node for node in iterate_elements(container.read_pieces(part), ("sp",)) if _placeholder_type(node) == "body"
    )
    text = "\n".join(filter(None, map(_shape_text, bodies)))
    out.add_block(f"Notes: {text}" if text else "")


def _placeholder_type(node: Node) -> str:
    """The placeholder type of a shape; empty without one."""
    place = node.find("ph")
    return place.get("type", "obj") if place else ""


def _shape_text(node: Node) -> str:
    """The paragraphs of a shape or cell, one per line."""
    lines = (_paragraph_text(paragraph) for paragraph in node.iterate() if paragraph.name == "p")
    return "\n".join(line for line in lines if line.strip())


def _paragraph_text(paragraph: Node) -> str:
    parts = []
    for node in paragraph.iterate():
        if node.name == "t":
            parts.append(node.text())
        elif node.name in ("br", "tab"):
            parts.append("\n" if node.name == "br" else "\t")
    return "".join(parts)

"""Word documents: headings, paragraphs, lists, tables and notes, without tracked deletions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from athand.documents.extract import Extract
from athand.documents.readers.text_builder import TextBuilder, build_text
from athand.documents.readers.xml import Node, iterate_elements
from athand.documents.readers.zip_container import ZipContainer, find_main_part, read_relations, read_title

_HEADING_NAME = re.compile(r"heading (\d)$", re.IGNORECASE)
_LEFT_OUT = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "tblPr", "trPr", "tcPr"))
_SPECIAL_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_MAX_LIST_DEPTH = 8


@dataclass(frozen=True, slots=True)
class _Style:
    """What a style makes of a paragraph: a heading of a level, a list item, the title."""

    level: int = 0
    listed: bool = False
    title: bool = False


def read_docx(data: bytes) -> Extract:
    """The text of a Word document with heading markers."""
    return build_text(lambda out: _add_document(ZipContainer(data), out))


def _add_document(container: ZipContainer, out: TextBuilder) -> None:
    main = find_main_part(container, "word/document.xml")
    related = {each.kind: each.target for each in read_relations(container, main).values()}
    styles = _read_styles(container, related.get("styles", ""))
    out.title = read_title(container)
    for node in iterate_elements(container.read_pieces(main), ("p", "tr")):
        if node.name == "tr":
            out.add_row([_visible_text(cell) for cell in node.nodes() if cell.name in ("tc", "sdt")])
        else:
            _add_paragraph(node, styles, out)
    for kind in ("footnotes", "endnotes"):
        _add_notes(container, related.get(kind, ""), out)


def _read_styles(container: ZipContainer, part: str) -> dict[str, _Style]:
    if part not in container:
        return {}
    nodes = {node.get("styleId"): node for node in iterate_elements(container.read_pieces(part), ("style",))}
    return {name: _to_style(list(_style_ancestry(nodes, name))) for name in nodes}


def _style_ancestry(nodes: dict[str, Node], name: str) -> Iterator[Node]:
    """A style and those it is based on, up to 20, since they may form a cycle."""
    for _ in range(20):
        if name not in nodes:
            return
        yield nodes[name]
        name = _child_value(nodes[name], "basedOn")


def _to_style(ancestry: list[Node]) -> _Style:
    names = [_child_value(node, "name") for node in ancestry]
    levels = [_HEADING_NAME.match(name) for name in names]
    level = next((int(found[1]) for found in levels if found), 0)
    outlines = (_outline_level(node.child("pPr")) for node in ancestry)
    listed = any(node.find("numPr") for node in ancestry)
    return _Style(level or next(filter(None, outlines), 0), listed, names[0].lower() == "title")


def _outline_level(properties: Node | None) -> int:
    """The outline level in paragraph properties, from 1; 0 for body text (`outlineLvl` 9)."""
    value = _child_value(properties, "outlineLvl") if properties else ""
    return int(value) + 1 if value.isdecimal() and len(value) == 1 and int(value) < 9 else 0


def _child_value(node: Node, name: str) -> str:
    child = node.child(name)
    return child.get("val") if child else ""


def _add_paragraph(node: Node, styles: dict[str, _Style], out: TextBuilder) -> None:
    text = _visible_text(node)
    properties = node.child("pPr") or Node("pPr", {})
    style = styles.get(_child_value(properties, "pStyle"), _Style())
    level = _outline_level(properties) or style.level
    numbering = properties.child("numPr")
    if style.title and not out.title:
        out.title = text
    if level and text.strip():
        out.add_heading(text, level)
    elif (numbering or style.listed) and text.strip():
        out.add_block(_indent(numbering) + "- " + text.strip(), "item")
    else:
        out.add_block(text)


def _indent(numbering: Node | None) -> str:
    level = _child_value(numbering, "ilvl") if numbering else ""
    return "  " * min(int(level), _MAX_LIST_DEPTH) if level.isdecimal() and len(level) < 3 else ""


def _visible_text(node: Node) -> str:
    """The visible text of a paragraph or cell, nested paragraphs on their own lines."""
    parts: list[str] = []
    stack: list[Node | str] = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if isinstance(child, str):
            parts.append(child)
        elif child.name == "t":
            parts.append(child.text())
        elif child.name in _SPECIAL_CHARACTERS:
            parts.append(_SPECIAL_CHARACTERS[child.name])
        elif child.name not in _LEFT_OUT:
            stack += ["\n", *reversed(list(child.nodes()))] if child.name == "p" else reversed(list(child.nodes()))
    return "".join(parts).strip("\n")


def _add_notes(container: ZipContainer, part: str, out: TextBuilder) -> None:
    """Adds footnotes after the text; those with another type are separator lines."""
    if part not in container:
        return
    for node in iterate_elements(container.read_pieces(part), ("footnote", "endnote")):
        if node.get("type") in ("", "normal"):
            text = _visible_text(node).strip()
            out.add_block(f"[{node.get('id')}] {text}" if text else "", "line")

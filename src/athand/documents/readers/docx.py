"""Word documents: headings, paragraphs, lists, tables and notes, without what was deleted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from athand.documents.extract import Extract
from athand.documents.readers.package import Package
from athand.documents.readers.relations import declared_title, main_part, relations
from athand.documents.readers.writing import Writer, written
from athand.documents.readers.xml import Node, elements

_HEADING_NAME = re.compile(r"heading (\d)$", re.IGNORECASE)
_LEFT_OUT = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "tblPr", "trPr", "tcPr"))
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_DEEPEST_LIST = 8


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph is by its style: a heading of a level, an item of a list, the title."""

    level: int = 0
    listed: bool = False
    title: bool = False


def read_docx(data: bytes) -> Extract:
    """The text of a Word document with its headings as places."""
    return written(lambda out: _document(Package(data), out))


def _document(package: Package, out: Writer) -> None:
    main = main_part(package, "word/document.xml")
    related = {each.kind: each.target for each in relations(package, main).values()}
    styles = _styles(package, related.get("styles", ""))
    out.title = declared_title(package)
    for node in elements(package.pieces(main), ("p", "tr")):
        if node.name == "tr":
            out.row([content(cell) for cell in node.nodes() if cell.name in ("tc", "sdt")])
        else:
            _paragraph(node, styles, out)
    for kind in ("footnotes", "endnotes"):
        _notes(package, related.get(kind, ""), out)


def _styles(package: Package, part: str) -> dict[str, _Style]:
    if part not in package:
        return {}
    nodes = {node.get("styleId"): node for node in elements(package.pieces(part), ("style",))}
    return {name: _style(list(_ancestry(nodes, name))) for name in nodes}


def _ancestry(nodes: dict[str, Node], name: str) -> Iterator[Node]:
    """A style and those it is based on; a circle of styles ends."""
    for _ in range(20):
        if name not in nodes:
            return
        yield nodes[name]
        name = _value(nodes[name], "basedOn")


def _style(ancestry: list[Node]) -> _Style:
    names = [_value(node, "name") for node in ancestry]
    levels = [_HEADING_NAME.match(name) for name in names]
    level = next((int(found[1]) for found in levels if found), 0)
    outlines = (_outline(node.child("pPr")) for node in ancestry)
    listed = any(node.find("numPr") for node in ancestry)
    return _Style(level or next(filter(None, outlines), 0), listed, names[0].lower() == "title")


def _outline(properties: Node | None) -> int:
    """The level that properties of a paragraph give it in the outline, from 1; 9 there means plain text."""
    value = _value(properties, "outlineLvl") if properties else ""
    return int(value) + 1 if value.isdecimal() and len(value) == 1 and int(value) < 9 else 0


def _value(node: Node, name: str) -> str:
    child = node.child(name)
    return child.get("val") if child else ""


def _paragraph(node: Node, styles: dict[str, _Style], out: Writer) -> None:
    text = content(node)
    properties = node.child("pPr") or Node("pPr", {})
    style = styles.get(_value(properties, "pStyle"), _Style())
    level = _outline(properties) or style.level
    numbering = properties.child("numPr")
    if style.title and not out.title:
        out.title = text
    if level and text.strip():
        out.heading(text, level)
    elif (numbering or style.listed) and text.strip():
        out.block(_indent(numbering) + "- " + text.strip(), "item")
    else:
        out.block(text)


def _indent(numbering: Node | None) -> str:
    level = _value(numbering, "ilvl") if numbering else ""
    return "  " * min(int(level), _DEEPEST_LIST) if level.isdecimal() and len(level) < 3 else ""


def content(node: Node) -> str:
    """The visible text of a paragraph or cell; paragraphs within it stand on their own lines."""
    parts: list[str] = []
    stack: list[Node | str] = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if isinstance(child, str):
            parts.append(child)
        elif child.name == "t":
            parts.append(child.text())
        elif child.name in _SIGNS:
            parts.append(_SIGNS[child.name])
        elif child.name not in _LEFT_OUT:
            stack += ["\n", *reversed(list(child.nodes()))] if child.name == "p" else reversed(list(child.nodes()))
    return "".join(parts).strip("\n")


def _notes(package: Package, part: str, out: Writer) -> None:
    """Footnotes behind the text; the ones with a type are only lines that separate them."""
    if part not in package:
        return
    for node in elements(package.pieces(part), ("footnote", "endnote")):
        if node.get("type") in ("", "normal"):
            text = content(node).strip()
            out.block(f"[{node.get('id')}] {text}" if text else "", "line")

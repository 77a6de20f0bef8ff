"""OpenDocument texts: headings, paragraphs, lists and tables."""

from collections.abc import Iterator

from athand.documents.extract import Extract, Unreadable
from athand.documents.readers.package import Package
from athand.documents.readers.writing import Writer, written
from athand.documents.readers.xml import Node, elements

_LEFT_OUT = frozenset(("annotation", "annotation-end", "note-citation", "tracked-changes", "index-source", "script"))
_MOST_SPACES = 100


def read_odt(data: bytes) -> Extract:
    """The text of an OpenDocument text with its headings as places."""
    return written(lambda out: _document(Package(data), out))


def _document(package: Package, out: Writer) -> None:
    if "META-INF/manifest.xml" in package and any(
        elements(package.pieces("META-INF/manifest.xml"), ("encryption-data",))
    ):
        raise Unreadable("encrypted: it needs a password")
    if "meta.xml" in package:
        out.title = next((node.text() for node in elements(package.pieces("meta.xml"), ("title",))), "")
    for node in elements(package.pieces("content.xml"), ("h", "p", "list", "table-row", "tracked-changes")):
        _block(node, out)


def _block(node: Node, out: Writer) -> None:
    if node.name == "h":
        level = node.get("outline-level")
        out.heading(_text(node), int(level) if level in set("123456789") else 1)
    elif node.name == "p":
        out.block(_text(node))
    elif node.name == "list":
        for depth, text in _items(node, 0):
            out.block("  " * depth + "- " + text, "item")
    elif node.name == "table-row":
        out.row([_text(cell) for cell in node.nodes() if cell.name == "table-cell"])


def _items(node: Node, depth: int) -> Iterator[tuple[int, str]]:
    """The paragraphs of a list with how deep they stand in it."""
    for child in node.nodes():
        if child.name == "list":
            yield from _items(child, depth + 1)
        elif child.name in ("list-item", "list-header"):
            yield from _items(child, depth)
        elif text := _text(child).strip():
            yield min(depth, 8), text


def _text(node: Node) -> str:
    """The visible text of an element; paragraphs within it stand on their own lines."""
    parts: list[str] = []
    stack: list[Node | str] = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if isinstance(child, str):
            parts.append(child)
        elif child.name == "s":
            parts.append(" " * _count(child.get("c")))
        elif child.name in ("tab", "line-break"):
            parts.append("\t" if child.name == "tab" else "\n")
        elif child.name not in _LEFT_OUT:
            stack += ["\n", *reversed(child.children)] if child.name in ("p", "h") else reversed(child.children)
    return "".join(parts).strip("\n")


def _count(value: str) -> int:
    return min(int(value), _MOST_SPACES) if value.isdecimal() and len(value) < 9 else 1

"""OpenDocument texts: headings, paragraphs, lists and tables."""

from collections.abc import Iterator

from athand.documents.extract import Extract, UnreadableFile
from athand.documents.readers.text_builder import TextBuilder, build_text
from athand.documents.readers.xml import Node, iterate_elements
from athand.documents.readers.zip_container import ZipContainer

_LEFT_OUT = frozenset(("annotation", "annotation-end", "note-citation", "tracked-changes", "index-source", "script"))
_MAX_SPACES = 100


def read_odt(data: bytes) -> Extract:
    """The text of an OpenDocument text with heading markers."""
    return build_text(lambda out: _add_document(ZipContainer(data), out))


def _add_document(container: ZipContainer, out: TextBuilder) -> None:
    if "META-INF/manifest.xml" in container and any(
        iterate_elements(container.read_pieces("META-INF/manifest.xml"), ("encryption-data",))
    ):
        raise UnreadableFile("encrypted: it needs a password")
    if "meta.xml" in container:
        out.title = next((node.text() for node in iterate_elements(container.read_pieces("meta.xml"), ("title",))), "")
    for node in iterate_elements(
        container.read_pieces("content.xml"), ("h", "p", "list", "table-row", "tracked-changes")
    ):
        _add_element(node, out)


def _add_element(node: Node, out: TextBuilder) -> None:
    if node.name == "h":
        level = node.get("outline-level")
        out.add_heading(_visible_text(node), int(level) if level in set("123456789") else 1)
    elif node.name == "p":
        out.add_block(_visible_text(node))
    elif node.name == "list":
        for depth, text in _list_items(node, 0):
            out.add_block("  " * depth + "- " + text, "item")
    elif node.name == "table-row":
        out.add_row([_visible_text(cell) for cell in node.nodes() if cell.name == "table-cell"])


def _list_items(node: Node, depth: int) -> Iterator[tuple[int, str]]:
    """The paragraphs of a list with their depth."""
    for child in node.nodes():
        if child.name == "list":
            yield from _list_items(child, depth + 1)
        elif child.name in ("list-item", "list-header"):
            yield from _list_items(child, depth)
        elif text := _visible_text(child).strip():
            yield min(depth, 8), text


def _visible_text(node: Node) -> str:
    """The visible text of an element, nested paragraphs on their own lines."""
    parts: list[str] = []
    stack: list[Node | str] = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if isinstance(child, str):
            parts.append(child)
        elif child.name == "s":
            parts.append(" " * _space_count(child.get("c")))
        elif child.name in ("tab", "line-break"):
            parts.append("\t" if child.name == "tab" else "\n")
        elif child.name not in _LEFT_OUT:
            stack += ["\n", *reversed(child.children)] if child.name in ("p", "h") else reversed(child.children)
    return "".join(parts).strip("\n")


def _space_count(value: str) -> int:
    return min(int(value), _MAX_SPACES) if value.isdecimal() and len(value) < 9 else 1

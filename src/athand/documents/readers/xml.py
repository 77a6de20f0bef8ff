"""Streaming XML parser (expat) that yields small trees; refuses entity declarations, limits depth, fetches nothing."""

from collections.abc import Callable, Iterable, Iterator
from xml.parsers import expat

from athand.documents.extract import UnreadableFile

MAX_DEPTH = 200
_SPACE = " "


class Node:
    """An element with local names; attributes of the relationships namespace are named `r:id`."""

    __slots__ = ("attributes", "children", "name")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[Node | str] = []

    def get(self, attribute: str, default: str = "") -> str:
        return self.attributes.get(attribute, default)

    def nodes(self) -> Iterator["Node"]:
        """The child elements."""
        return (child for child in self.children if isinstance(child, Node))

    def child(self, name: str) -> "Node | None":
        """The first child element of this name."""
        for node in self.children:
            if isinstance(node, Node) and node.name == name:
                return node
        return None

    def iterate(self) -> Iterator["Node"]:
        """The element and its descendants in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(list(node.nodes())))

    def find(self, name: str) -> "Node | None":
        """The first element of this name among itself and its descendants."""
        return next((node for node in self.iterate() if node.name == name), None)

    def text(self) -> str:
        """The concatenated text of the element."""
        if len(self.children) == 1 and isinstance(self.children[0], str):
            return self.children[0]  # the usual case, faster
        parts: list[str] = []
        stack: list[Node | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
            else:
                stack.extend(reversed(item.children))
        return "".join(parts)


def iterate_elements(pieces: Iterable[bytes], wanted: Iterable[str]) -> Iterator[Node]:
    """Yields the outermost elements with these local names; nothing else is kept in memory."""
    builder = _TreeBuilder(frozenset(wanted))
    parser = _create_parser(builder)
    for piece in pieces:
        _feed(parser, piece, False)
        yield from builder.pop_nodes()
    _feed(parser, b"", True)
    yield from builder.pop_nodes()


def first_element(pieces: Iterable[bytes], name: str) -> Node:
    """The first element of this name; raises UnreadableFile without one."""
    for node in iterate_elements(pieces, (name,)):
        return node
    raise UnreadableFile(f"damaged: it has no {name} element")


class _TreeBuilder:
    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._open: list[Node] = []
        self._done: list[Node] = []
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UnreadableFile(f"nested deeper than {MAX_DEPTH} elements")
        local = name.rpartition(_SPACE)[2]
        if self._open or local in self._wanted:
            if _SPACE in "".join(attributes):
                attributes = {_attribute_name(key): value for key, value in attributes.items()}
            node = Node(local, attributes)
            if self._open:
                self._open[-1].children.append(node)
            self._open.append(node)

    def end(self, name: str) -> None:
        self._depth -= 1
        if self._open:
            node = self._open.pop()
            if not self._open:
                self._done.append(node)

    def text(self, text: str) -> None:
        if self._open:
            self._open[-1].children.append(text)

    def pop_nodes(self) -> list[Node]:
        done, self._done = self._done, []
        return done


def _attribute_name(name: str) -> str:
    space, _, local = name.rpartition(_SPACE)
    return f"r:{local}" if space.endswith("/relationships") else local


def _create_parser(builder: _TreeBuilder) -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=_SPACE)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.EntityDeclHandler = _refuse_with("it declares XML entities, which documents do not need")
    return parser


def _refuse_doctype(name: str, system: str | None, public: str | None, internal: bool) -> None:
    if internal:
        raise UnreadableFile("it declares its own document type, which documents do not need")


def _refuse_with(reason: str) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise UnreadableFile(reason)

    return refuse


def _feed(parser: expat.XMLParserType, piece: bytes, last: bool) -> None:
    try:
        parser.Parse(piece, last)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise UnreadableFile(f"damaged: its XML is broken ({str(error)[:100]})") from error

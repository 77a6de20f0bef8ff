"""XML read as a stream of small trees; declarations of entities are refused, depth is limited, nothing is fetched."""

from collections.abc import Callable, Iterable, Iterator
from xml.parsers import expat

from athand.documents.extract import Unreadable

DEEPEST = 200
_SPACE = " "


class Node:
    """An element: local names only, but attributes of relationships are kept apart as `r:id`."""

    __slots__ = ("attributes", "children", "name")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[Node | str] = []

    def get(self, attribute: str, default: str = "") -> str:
        return self.attributes.get(attribute, default)

    def nodes(self) -> Iterator["Node"]:
        """The elements directly within."""
        return (child for child in self.children if isinstance(child, Node))

    def child(self, name: str) -> "Node | None":
        """The first element of this name directly within."""
        for node in self.children:
            if isinstance(node, Node) and node.name == name:
                return node
        return None

    def walk(self) -> Iterator["Node"]:
        """The element itself and all within it, in the order of the document."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(list(node.nodes())))

    def find(self, name: str) -> "Node | None":
        """The first element of this name anywhere within."""
        return next((node for node in self.walk() if node.name == name), None)

    def text(self) -> str:
        """All text within."""
        if len(self.children) == 1 and isinstance(self.children[0], str):
            return self.children[0]  # nearly always: this is the quick way
        parts: list[str] = []
        stack: list[Node | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
            else:
                stack.extend(reversed(item.children))
        return "".join(parts)


def elements(pieces: Iterable[bytes], wanted: Iterable[str]) -> Iterator[Node]:
    """The outermost elements with these local names, one after the other; the rest is not kept."""
    builder = _Builder(frozenset(wanted))
    parser = _parser(builder)
    for piece in pieces:
        _fed(parser, piece, False)
        yield from builder.finished()
    _fed(parser, b"", True)
    yield from builder.finished()


def root(pieces: Iterable[bytes], name: str) -> Node:
    """The first element of this name, which a sound document has."""
    for node in elements(pieces, (name,)):
        return node
    raise Unreadable(f"damaged: it has no {name} element")


class _Builder:
    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._open: list[Node] = []
        self._done: list[Node] = []
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable(f"nested deeper than {DEEPEST} elements")
        local = name.rpartition(_SPACE)[2]
        if self._open or local in self._wanted:
            if _SPACE in "".join(attributes):
                attributes = {_attribute(key): value for key, value in attributes.items()}
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

    def finished(self) -> list[Node]:
        done, self._done = self._done, []
        return done


def _attribute(name: str) -> str:
    space, _, local = name.rpartition(_SPACE)
    return f"r:{local}" if space.endswith("/relationships") else local


def _parser(builder: _Builder) -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=_SPACE)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = _doctype
    parser.EntityDeclHandler = _refusing("it declares XML entities, which documents do not need")
    return parser


def _doctype(name: str, system: str | None, public: str | None, internal: bool) -> None:
    if internal:
        raise Unreadable("it declares its own document type, which documents do not need")


def _refusing(reason: str) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise Unreadable(reason)

    return refuse


def _fed(parser: expat.XMLParserType, piece: bytes, last: bool) -> None:
    try:
        parser.Parse(piece, last)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise Unreadable(f"damaged: its XML is broken ({str(error)[:100]})") from error

"""Orders about tools and servers of the catalogue that are not of the server who gives them."""

import dataclasses
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

_ORDER = re.compile(
    r"\b(?:must|should|always|never|first|instead|before|after|when(?:ever)?|invoke|call|use|override|replace)s?\b"
)
_SENTENCE_END = re.compile("[.!?]")
_NEAR = 60  # characters between an instruction and the name it is about

Place = tuple[int, int]  # begin and end in a text


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbours:
    """The other servers of a catalogue, their tools with descriptions, and the server's own tools."""

    servers: Sequence[str] = ()
    tools: Mapping[str, tuple[str, str]] = dataclasses.field(
        default_factory=dict
    )  # by case-folded name: name and description
    own: Set[str] = frozenset()

    @classmethod
    def from_names(
        cls, servers: Sequence[str], tools: Iterable[tuple[str, str]], own: Iterable[str] = ()
    ) -> "Neighbours":
        """Build from plain names and descriptions."""
        by_name = {name.casefold(): (name, description) for name, description in tools}
        return cls(servers, by_name, frozenset(name.casefold() for name in own))


def find_mentions(clear: str, own_server: str, neighbours: Neighbours) -> Iterator[str]:
    """Tools and servers of others that a normalised text gives orders about."""
    orders = [found.span() for found in _ORDER.finditer(clear)]
    words = re.finditer(r"[\w-]+", clear) if neighbours.tools and orders else ()
    ordered = {word[0] for word in words if word[0] in neighbours.tools and _is_ordered(clear, word.span(), orders)}
    yield from filter(_is_distinctive, (neighbours.tools[word][0] for word in sorted(ordered - neighbours.own)))
    for server in neighbours.servers if orders else ():
        if server != own_server and server.casefold() in clear:
            places = _find_server(re.escape(server.casefold()), clear)
            if any(_is_ordered(clear, place, orders) for place in places):
                yield server


def are_alike(one: str, other: str) -> bool:
    """Whether two descriptions share at least 80 % of their words."""
    words, others = set(re.findall(r"\w+", one)), set(re.findall(r"\w+", other))
    return len(words & others) >= 0.8 * max(len(words), len(others), 1)


def _is_ordered(clear: str, place: Place, orders: Sequence[Place]) -> bool:
    """Whether the next instruction before or after a place is near it, in the same sentence."""
    at = bisect_left(orders, place)
    gaps = [(orders[at - 1][1], place[0])] if at else []
    gaps += [(place[1], begin) for begin, _ in orders[at : at + 1]]
    return any(end - begin <= _NEAR and not _SENTENCE_END.search(clear, begin, end) for begin, end in gaps)


def _find_server(server: str, clear: str) -> Iterator[Place]:
    mention = rf"\b(?:{server}(?:'s)? (?:mcp|server|tool)s?\b|(?:mcp |the )?server [`'\"]?{server}\b|{server}__\w)"
    return (found.span() for found in re.finditer(mention, clear))


def _is_distinctive(name: str) -> bool:
    """Whether a name is unlikely to be a plain word of a description."""
    return len(name) > 5 and (not name.isalpha() or not name[1:].islower())

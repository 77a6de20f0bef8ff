"""A DOM snapshot of the browser, read without the page's help: tags, attributes, boxes, text, and where a node is."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

STYLES = ("visibility",)  # asked for in the snapshot; where there is no box, nothing else matters
_ELEMENT, _TEXT, _DOCUMENT = 1, 3, 9
_UNSHOWN = {"script", "style", "noscript", "template"}
_PLAIN_ID = re.compile(r"[A-Za-z][\w-]*\Z")


class Document:
    """One document of the snapshot: the page, or a frame in it. Nodes are numbers, in document order."""

    def __init__(self, captured: Mapping[str, Any], strings: Sequence[str]) -> None:
        self._nodes = captured["nodes"]
        self._layout = captured["layout"]
        self._strings = strings
        self.frame_id = strings[captured["frameId"]]
        self.parents: Sequence[int] = self._nodes["parentIndex"]
        self.backend_ids: Sequence[int] = self._nodes["backendNodeId"]
        self.owner: tuple[Document, int] | None = None  # the frame element that this is the content of

    @property
    def elements(self) -> Iterator[int]:
        """All elements, in the order of the document."""
        return (node for node, kind in enumerate(self._nodes["nodeType"]) if kind == _ELEMENT)

    @cached_property
    def frames(self) -> dict[int, int]:
        """Frame element → the number of the document in it."""
        return self._rare("contentDocumentIndex")

    @cached_property
    def clickable(self) -> frozenset[int]:
        """The elements that listen to clicks."""
        return frozenset(self._nodes["isClickable"]["index"])

    def tag(self, node: int) -> str:
        """The name of an element, in lower case."""
        return str(self._strings[self._nodes["nodeName"][node]]).lower()

    def attributes(self, node: int) -> dict[str, str]:
        """All attributes as they are written."""
        found = [self._strings[each] if each >= 0 else "" for each in self._nodes["attributes"][node]]
        return dict(zip(found[::2], found[1::2], strict=True))

    def box(self, node: int) -> tuple[float, float, float, float] | None:
        """Left, top, width and height in the document; None where nothing is laid out."""
        place = self._placed.get(node)
        return None if place is None else tuple(self._layout["bounds"][place])

    def is_visible(self, node: int) -> bool:
        """Whether it, or what is in it, takes room and is not hidden."""
        return any(self._takes_room(each) for each in (node, *self.below(node))) and self._frame_is_visible()

    def below(self, node: int) -> Iterator[int]:
        """All that is inside a node: it comes right after it."""
        for each in range(node + 1, len(self.parents)):
            if self.parents[each] < node:
                return
            yield each

    def text(self, node: int, longest: int = 100) -> str:
        """What can be read in it, white space made one blank, cut at `longest` characters."""
        texts = (each for each in self.below(node) if self._nodes["nodeType"][each] == _TEXT and self._takes_room(each))
        pieces = (self._strings[self._nodes["nodeValue"][each]] for each in texts)
        return " ".join(" ".join(pieces).split())[:longest].rstrip()

    def is_closed(self, node: int) -> bool:
        """Whether a closed shadow root, or a frame in one, keeps scripts and locators away from it."""
        inside = any(self._shadows.get(each) == "closed" for each in (node, *self.above(node)))
        return inside or (self.owner is not None and self.owner[0].is_closed(self.owner[1]))

    def above(self, node: int) -> Iterator[int]:
        """Its ancestors in this document, nearest first."""
        while (node := self.parents[node]) >= 0:
            yield node

    def css(self, node: int) -> str:
        """A path of tags down from the document, or from the nearest element with an id of its own."""
        steps: list[str] = []
        for each in (node, *self.above(node)):
            if self._nodes["nodeType"][each] != _ELEMENT:
                break
            own = self.attributes(each).get("id", "")
            if own and self._ids.get(own) == 1:
                steps.append(f"#{own}" if _PLAIN_ID.match(own) else f"[id={json.dumps(own, ensure_ascii=False)}]")
                break
            steps.append(f"{self.tag(each)}:nth-of-type({self._nth(each)})")
        return " > ".join(reversed(steps))

    @cached_property
    def frame_path(self) -> tuple[str, ...]:
        """The paths of the frame elements that lead here from the page."""
        if self.owner is None:
            return ()
        document, node = self.owner
        return (*document.frame_path, document.css(node))

    def _nth(self, node: int) -> int:
        """Its number among the elements of its kind in the same parent and the same tree."""
        kind = (self.parents[node], self._nodes["nodeName"][node], self._shadows.get(node))
        before = range(self.parents[node] + 1, node)
        alike = ((self.parents[each], self._nodes["nodeName"][each], self._shadows.get(each)) for each in before)
        return 1 + sum(each == kind for each in alike)

    def _takes_room(self, node: int) -> bool:
        place = self._placed.get(node)
        if place is None:
            return False
        styles = self._layout["styles"][place]
        if styles and self._strings[styles[0]] != "visible":
            return False
        _, _, width, height = self._layout["bounds"][place]
        return bool(width > 0 and height > 0)

    def _frame_is_visible(self) -> bool:
        return self.owner is None or self.owner[0].is_visible(self.owner[1])

    def _rare(self, name: str) -> dict[int, int]:
        return dict(zip(self._nodes[name]["index"], self._nodes[name]["value"], strict=True))

    @cached_property
    def _placed(self) -> dict[int, int]:
        return {node: place for place, node in reversed(list(enumerate(self._layout["nodeIndex"])))}

    @cached_property
    def _shadows(self) -> dict[int, str]:
        return {node: self._strings[kind] for node, kind in self._rare("shadowRootType").items()}

    @cached_property
    def _ids(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for node in self.elements:
            if own := self.attributes(node).get("id"):
                counts[own] = counts.get(own, 0) + 1
        return counts


def documents(snapshot: Mapping[str, Any]) -> list[Document]:
    """The page and its frames, each frame knowing the element it is in; the page comes first."""
    found = [Document(each, snapshot["strings"]) for each in snapshot["documents"]]
    for document in found:
        for node, number in document.frames.items():
            found[number].owner = (document, node)
    return found

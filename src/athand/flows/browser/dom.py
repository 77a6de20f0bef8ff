"""Reads a CDP DOM snapshot (DOMSnapshot.captureSnapshot): tags, attributes, boxes, visible text and CSS paths."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

STYLES = ("visibility",)  # requested with the snapshot; a node without a box needs no other style
_ELEMENT, _TEXT = 1, 3  # node types
_PLAIN_ID = re.compile(r"[A-Za-z][\w-]*\Z")


class DomDocument:
    """One document of the snapshot: the page, or a frame in it. Nodes are indexes, in document order."""

    def __init__(self, captured: Mapping[str, Any], strings: Sequence[str]) -> None:
        self._nodes = captured["nodes"]
        self._layout = captured["layout"]
        self._strings = strings
        self.parents: Sequence[int] = self._nodes["parentIndex"]
        self.backend_ids: Sequence[int] = self._nodes["backendNodeId"]
        self._url: int = captured["documentURL"]
        self._title: int = captured.get("title", -1)
        self.owner: tuple[DomDocument, int] | None = None  # the frame element whose content this document is

    @property
    def url(self) -> str:
        """Its address; that of the page around it where it has none of its own."""
        url = str(self._strings[self._url])
        return self.owner[0].url if self.owner is not None and url.startswith("about:") else url

    @property
    def title(self) -> str:
        """Its title, as the page names it."""
        return " ".join(self._strings[self._title].split()) if self._title >= 0 else ""

    @property
    def elements(self) -> Iterator[int]:
        """All elements, in document order."""
        return (node for node, kind in enumerate(self._nodes["nodeType"]) if kind == _ELEMENT)

    @cached_property
    def frames(self) -> dict[int, int]:
        """Frame element → the index of the document in it."""
        return self._sparse("contentDocumentIndex")

    @cached_property
    def clickable(self) -> frozenset[int]:
        """The elements with click listeners."""
        return frozenset(self._nodes["isClickable"]["index"])

    def tag(self, node: int) -> str:
        """The tag name of an element, in lower case."""
        return str(self._strings[self._nodes["nodeName"][node]]).lower()

    def attributes(self, node: int) -> dict[str, str]:
        """All attributes of an element, as written."""
        texts = [self._strings[each] if each >= 0 else "" for each in self._nodes["attributes"][node]]
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def bounds(self, node: int) -> tuple[float, float, float, float] | None:
        """Left, top, width and height in the document; None for a node without layout."""
        index = self._layout_index.get(node)
        return None if index is None else tuple(self._layout["bounds"][index])

    def is_visible(self, node: int) -> bool:
        """Whether the node or a descendant is rendered, in a visible frame."""
        return any(self._is_rendered(each) for each in (node, *self.descendants(node))) and self._is_frame_visible()

    def descendants(self, node: int) -> Iterator[int]:
        """All nodes below a node: in document order they follow it directly."""
        for each in range(node + 1, len(self.parents)):
            if self.parents[each] < node:
                return
            yield each

    def ancestors(self, node: int) -> Iterator[int]:
        """All nodes above a node in this document, nearest first."""
        while (node := self.parents[node]) >= 0:
            yield node

    def text(self, node: int, longest: int = 100) -> str:
        """The rendered text of a node with white space collapsed, cut at `longest` characters."""
        below = self.descendants(node)
        texts = (each for each in below if self._nodes["nodeType"][each] == _TEXT and self._is_rendered(each))
        pieces = (self._strings[self._nodes["nodeValue"][each]] for each in texts)
        return " ".join(" ".join(pieces).split())[:longest].rstrip()

    def is_in_closed_shadow(self, node: int) -> bool:
        """Whether it is in a closed shadow root, or a frame in one, where scripts and locators cannot reach it."""
        inside = any(self._shadow_types.get(each) == "closed" for each in (node, *self.ancestors(node)))
        return inside or (self.owner is not None and self.owner[0].is_in_closed_shadow(self.owner[1]))

    def css_path(self, node: int) -> str:
        """A selector of nth-of-type steps from the document, or from the nearest ancestor with a unique id."""
        steps: list[str] = []
        for each in (node, *self.ancestors(node)):
            if self._nodes["nodeType"][each] != _ELEMENT:
                break
            own = self.attributes(each).get("id", "")
            if own and self._id_counts.get(own) == 1:
                steps.append(f"#{own}" if _PLAIN_ID.match(own) else f"[id={json.dumps(own, ensure_ascii=False)}]")
                break
            steps.append(f"{self.tag(each)}:nth-of-type({self._nth_of_type(each)})")
        return " > ".join(reversed(steps))

    @cached_property
    def frame_path(self) -> tuple[str, ...]:
        """The CSS paths of the frame elements that lead from the page to this document."""
        if self.owner is None:
            return ()
        document, node = self.owner
        return (*document.frame_path, document.css_path(node))

    def _nth_of_type(self, node: int) -> int:
        """Its number among the elements with its tag in the same parent and the same shadow tree."""
        kind = (self.parents[node], self._nodes["nodeName"][node], self._shadow_types.get(node))
        before = range(self.parents[node] + 1, node)
        kinds = ((self.parents[each], self._nodes["nodeName"][each], self._shadow_types.get(each)) for each in before)
        return 1 + sum(each == kind for each in kinds)

    def _is_rendered(self, node: int) -> bool:
        index = self._layout_index.get(node)
        if index is None:
            return False
        styles = self._layout["styles"][index]
        if styles and self._strings[styles[0]] != "visible":
            return False
        _, _, width, height = self._layout["bounds"][index]
        return bool(width > 0 and height > 0)

    def _is_frame_visible(self) -> bool:
        return self.owner is None or self.owner[0].is_visible(self.owner[1])

    def _sparse(self, name: str) -> dict[int, int]:
        """A sparse column of the snapshot: node → value."""
        return dict(zip(self._nodes[name]["index"], self._nodes[name]["value"], strict=True))

    @cached_property
    def _layout_index(self) -> dict[int, int]:
        return {node: index for index, node in reversed(list(enumerate(self._layout["nodeIndex"])))}

    @cached_property
    def _shadow_types(self) -> dict[int, str]:
        return {node: self._strings[kind] for node, kind in self._sparse("shadowRootType").items()}

    @cached_property
    def _id_counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for node in self.elements:
            if own := self.attributes(node).get("id"):
                counts[own] = counts.get(own, 0) + 1
        return counts


def parse_documents(captured: Mapping[str, Any]) -> list[DomDocument]:
    """The page and its frames, each frame linked to the element it is in; the page comes first."""
    documents = [DomDocument(each, captured["strings"]) for each in captured["documents"]]
    for document in documents:
        for node, number in document.frames.items():
            documents[number].owner = (document, node)
    return documents

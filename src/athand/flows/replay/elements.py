"""The elements of a page as an observation has them: test ids and accessibility nodes, joined. Pure."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from athand.flows.model import Observation, Target
from athand.types import Noun

_LONGEST_LABEL = 100


@dataclass(frozen=True, slots=True)
class Element(Noun):
    """An element, as far as it is known; what is not is empty."""

    test_id: str = ""
    role: str = ""
    name: str = ""
    text: str = ""
    tag: str = ""
    path: str = ""
    ref: str = ""

    @property
    def says(self) -> str:
        """What a user reads on it."""
        return self.name or self.text

    @property
    def label(self) -> str:
        """What it is, in words."""
        named = f'{self.role or self.tag or "element"} "{self.says[:_LONGEST_LABEL]}"'
        return f"{named} ({self.test_id})" if self.test_id else named

    @property
    def key(self) -> str:
        """What it is called where it was rejected: short, and without control characters."""
        parts = ["testId", self.test_id] if self.test_id else [self.role, self.name]
        return json.dumps([part[:_LONGEST_LABEL] for part in parts])[:240]


def elements_of(seen: Observation) -> list[Element]:
    """The elements that can be seen, in the order of the document."""
    known: dict[str, Mapping[str, Any]] = {}
    for entry in seen.test_ids:
        if entry.get("visible", True):
            known.setdefault(str(entry["testId"]), entry)
    hidden = {str(entry["testId"]) for entry in seen.test_ids} - set(known)
    nodes = [_of_node(node, known) for node in seen.a11y if node.get("testId") not in hidden]
    place = {element.test_id: at for at, element in reversed(list(enumerate(nodes))) if element.test_id}
    found = [(float(at), element) for at, element in enumerate(nodes)]
    last = -1.0
    for test_id, entry in known.items():
        if test_id not in place:
            found.append((last + 0.5, _of_entry(entry)))
        last = place.get(test_id, last)
    return [element for _, element in sorted(found, key=lambda pair: pair[0])]


def meant(target: Target, elements: Sequence[Element]) -> Element:
    """The element that a target means; one that only the target describes, where the page does not have it."""
    described = Element(target.get("testId", ""), target.get("role", ""), target.get("name", ""))
    ways = (
        lambda each: bool(each.ref) and each.ref == target.get("a11yRef"),
        lambda each: bool(each.test_id) and each.test_id == described.test_id,
        lambda each: bool(each.name) and (each.role, each.name) == (described.role, described.name),
    )
    matches = ([each for each in elements if way(each)] for way in ways)
    return next((found[0] for found in matches if found), described)


def address(element: Element, elements: Sequence[Element]) -> dict[str, str] | None:
    """A target that means this element alone: its test id, or its role and name."""
    test_ids = Counter(each.test_id for each in elements)
    names = Counter((each.role, each.name) for each in elements)
    if element.test_id and test_ids[element.test_id] == 1:
        named = {"role": element.role, "name": element.name} if element.role and element.name else {}
        return {"testId": element.test_id, **named}
    if element.role and element.name and names[element.role, element.name] == 1:
        return {"role": element.role, "name": element.name}
    return None


def _of_node(node: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> Element:
    entry = known.get(str(node.get("testId", "")), {})
    return Element(
        test_id=str(node.get("testId", "")),
        role=str(node.get("role", "")),
        name=str(node.get("name") or ""),
        text=str(entry.get("text") or ""),
        tag=str(node.get("tag") or entry.get("tag") or ""),
        path=_path(node.get("path")),
        ref=str(node.get("ref", "")),
    )


def _of_entry(entry: Mapping[str, Any]) -> Element:
    return Element(
        test_id=str(entry["testId"]),
        role=str(entry.get("role") or ""),
        name=str(entry.get("name") or ""),
        text=str(entry.get("text") or ""),
        tag=str(entry.get("tag") or ""),
        path=_path(entry.get("path")),
    )


def _path(value: Any) -> str:
    return " > ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value or "")

"""DOM and accessibility tree made one list of elements, joined on the number the browser gives each node. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from athand.flows.browser.dom import Document

INTERACTIVE = frozenset(
    "button link textbox searchbox combobox listbox option checkbox radio switch slider spinbutton tab menuitem "
    "menuitemcheckbox menuitemradio treeitem".split()
)
MAX_NODES = 300  # of the accessibility tree in one observation
_PLACES = frozenset(
    "main navigation banner contentinfo complementary region search form dialog alertdialog article list table grid "
    "menu menubar tablist tabpanel tree toolbar radiogroup group".split()
)
_NOISE = frozenset("generic none presentation paragraph row rowgroup strong emphasis code legend caption time".split())
# What browsers call things for which ARIA has another word.
_ROLES = {"image": "img", "DisclosureTriangle": "button", "Date": "textbox", "InputTime": "textbox"}
_STATES = ("disabled", "checked", "expanded", "pressed", "selected", "focused", "required", "readonly", "invalid")
_TELLING_WHEN_FALSE = ("checked", "expanded", "pressed")
_SURFACES = ("html", "body")  # scripts listen there to all clicks
_LONGEST, _DEEPEST, _MOST_OPTIONS = 100, 4, 20
Ax = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Element:
    """An element of the page: what it is for people, and where it is for the browser."""

    document: Document
    node: int
    attributes: Mapping[str, str]
    test_id: str | None
    role: str
    name: str
    visible: bool
    states: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    ref: str = ""  # none for what is no node of the accessibility tree

    @property
    def backend_id(self) -> int:
        """The number by which the browser knows it."""
        return self.document.backend_ids[self.node]

    @property
    def tag(self) -> str:
        """The real name of the element."""
        return self.document.tag(self.node)

    @property
    def is_disabled(self) -> bool:
        """Whether it takes no input now."""
        return bool(self.states.get("disabled"))

    def as_test_id(self) -> dict[str, Any]:
        """How the observation lists it among the test ids."""
        shown = {
            "testId": self.test_id,
            "tag": self.tag,
            "text": self.document.text(self.node),
            "visible": self.visible,
        }
        known = {"role": self.role, "name": self.name}
        is_told = self.role[:1].islower() and self.role not in _NOISE  # the browser's own words have capitals
        return shown | {key: value for key, value in known.items() if value and is_told}

    def as_node(self) -> dict[str, Any]:
        """How the observation lists it among the accessibility nodes; what is in a password field is not in it."""
        facts = {
            "testId": self.test_id,
            "inputType": self.attributes.get("type", "").lower() if self.tag in ("input", "button") else "",
            "autocomplete": self.attributes.get("autocomplete"),
            "htmlName": self.attributes.get("name") if self.tag in ("input", "textarea", "select") else None,
            "tag": self.tag,
            "frame": list(self.document.frame_path),
        }
        shown = {"ref": self.ref, "role": self.role, "name": self.name, **self.states, "path": list(self.path)}
        return shown | {key: value for key, value in facts.items() if value}


def join(
    documents: Sequence[Document], trees: Sequence[Sequence[Ax]], test_id: str, refs: Mapping[int, str] | None = None
) -> list[Element]:
    """All elements that have a test id or mean something, in document order; those with a ref keep it."""
    nodes = {each["backendDOMNodeId"]: each for tree in trees for each in tree if _counts(each)}
    found: list[Element] = []
    paths: dict[tuple[int, int], tuple[str, ...]] = {}
    for document, node in _in_order(documents, documents[0]):
        element = _element(document, node, nodes, test_id, _path_to(document, node, paths))
        paths[id(document), node] = _with(element)
        if element.test_id is not None or _means_something(element):
            found.append(element)
    return _numbered(found, refs or {})


def _counts(node: Ax) -> bool:
    return not node["ignored"] and "backendDOMNodeId" in node


def _in_order(documents: Sequence[Document], document: Document) -> Iterator[tuple[Document, int]]:
    for node in document.elements:
        yield document, node
        if node in document.frames:
            yield from _in_order(documents, documents[document.frames[node]])


def _path_to(document: Document, node: int, paths: Mapping[tuple[int, int], tuple[str, ...]]) -> tuple[str, ...]:
    parent = document.parents[node]
    if (id(document), parent) in paths:
        return paths[id(document), parent]
    return paths.get((id(document.owner[0]), document.owner[1]), ()) if document.owner else ()


def _with(element: Element) -> tuple[str, ...]:
    """The path of what is inside an element: its own place in it, if it is one."""
    if element.role not in _PLACES:
        return element.path
    own = f'{element.role} "{element.name[:40]}"' if element.name else element.role
    return (*element.path, own)[-_DEEPEST:]


def _element(document: Document, node: int, nodes: Mapping[int, Ax], test_id: str, path: tuple[str, ...]) -> Element:
    ax = nodes.get(document.backend_ids[node], {})
    role, attributes = _value(ax, "role"), document.attributes(node)
    name = " ".join(_value(ax, "name").split())[:_LONGEST]
    role = _ROLES.get(role, role)
    own = attributes.get(test_id)
    if own is None and not ax and node not in document.clickable:
        return Element(document, node, attributes, None, "", "", False, path=path)
    states = _states(ax, attributes)
    if role == "combobox" and document.tag(node) == "select":
        states["options"] = _options(document, node, nodes)
    if role not in INTERACTIVE and _is_to_click(document, node, attributes, nodes):
        states["clickable"] = True
        role, name = _called(role, name, document.text(node))
    return Element(document, node, attributes, own, role, name, document.is_visible(node), states, path)


def _is_to_click(document: Document, node: int, attributes: Mapping[str, str], nodes: Mapping[int, Ax]) -> bool:
    """Whether it is there to be clicked: no surface with such things in it, and no part of one."""
    if node not in document.clickable or document.tag(node) in _SURFACES or "for" in attributes:
        return False
    around = document.above(node)
    if any(_is_used(document, each, nodes) or "contenteditable" in document.attributes(each) for each in around):
        return False
    return not any(_is_used(document, each, nodes) or _is_read(document, each) for each in document.below(node))


def _is_used(document: Document, node: int, nodes: Mapping[int, Ax]) -> bool:
    return _value(nodes.get(document.backend_ids[node], {}), "role") in INTERACTIVE


def _is_read(document: Document, node: int) -> bool:
    """Whether it listens to clicks and says something."""
    return node in document.clickable and bool(document.text(node))


def _called(role: str, name: str, text: str) -> tuple[str, str]:
    """Role and name of something to click: its own, else what can be read on it."""
    if name and role[:1].islower() and role != "generic":
        return role, name
    return "generic", text or name


def _states(ax: Ax, attributes: Mapping[str, str]) -> dict[str, Any]:
    told = {each["name"]: each["value"].get("value") for each in ax.get("properties", ())}
    states: dict[str, Any] = {}
    for name in _STATES:
        value = {"true": True, "false": False}.get(told.get(name, ""), told.get(name)) if name in told else None
        if value or (value is False and name in _TELLING_WHEN_FALSE):
            states[name] = value
    if "level" in told:
        states["level"] = told["level"]
    if attributes.get("type", "").lower() == "password":
        states["protected"] = True
    elif value := _value(ax, "value"):
        states["value"] = str(value)[:_LONGEST]
    return states


def _options(document: Document, node: int, nodes: Mapping[int, Ax]) -> list[str]:
    """What can be chosen in a list of the browser's own."""
    inside = [each for each in document.below(node) if document.tag(each) == "option"]
    names = (_value(nodes.get(document.backend_ids[each], {}), "name") for each in inside[:_MOST_OPTIONS])
    return [name[:_LONGEST] for name in names]


def _means_something(element: Element) -> bool:
    if element.states.get("clickable"):
        return bool(element.name)
    if element.role in INTERACTIVE:
        return element.role != "option" or element.visible
    return bool(element.name and element.role[:1].islower() and element.role not in _NOISE)


def _numbered(found: Sequence[Element], refs: Mapping[int, str]) -> list[Element]:
    kept = _most_telling(found)
    number = max((int(ref[1:]) for ref in refs.values()), default=0)
    done: list[Element] = []
    for element in found:
        ref = ""
        if id(element) in kept:
            ref = refs.get(element.backend_id, "")
            if not ref:
                number += 1
                ref = f"e{number}"
        done.append(_with_ref(element, ref))
    return done


def _most_telling(found: Sequence[Element]) -> set[int]:
    """The nodes that there is room for: first those that can be used."""
    nodes = [each for each in found if _means_something(each)]
    usable = [each for each in nodes if _can_be_used(each)]
    others = [each for each in nodes if not _can_be_used(each)]
    return {id(each) for each in [*usable, *others][:MAX_NODES]}


def _can_be_used(element: Element) -> bool:
    return element.role in INTERACTIVE or "clickable" in element.states


def _with_ref(element: Element, ref: str) -> Element:
    parts = (element.document, element.node, element.attributes, element.test_id, element.role, element.name)
    return Element(*parts, element.visible, element.states, element.path, ref)


def _value(node: Ax, key: str) -> str:
    return str(node.get(key, {}).get("value") or "")

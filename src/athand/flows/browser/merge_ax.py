"""Merges DOM and accessibility tree into one list of elements, by the browser's backend node id. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from athand.flows.browser.dom import DomDocument

INTERACTIVE = frozenset(
    "button link textbox searchbox combobox listbox option checkbox radio switch slider spinbutton tab menuitem "
    "menuitemcheckbox menuitemradio treeitem".split()
)
MAX_NODES = 300  # accessibility nodes in one observation
MAX_NAME = 100  # characters of a name, value or option
_CONTAINERS = frozenset(
    "main navigation banner contentinfo complementary region search form dialog alertdialog article list table grid "
    "menu menubar tablist tabpanel tree toolbar radiogroup group".split()
)
_NOISE = frozenset("generic none presentation paragraph row rowgroup strong emphasis code legend caption time".split())
# Roles of Chromium for which ARIA has another word.
_ARIA_ROLES = {"image": "img", "DisclosureTriangle": "button", "Date": "textbox", "InputTime": "textbox"}
_STATES = ("disabled", "checked", "expanded", "pressed", "selected", "focused", "required", "readonly", "invalid")
_STATES_LISTED_WHEN_FALSE = ("checked", "expanded", "pressed")
_ROOT_TAGS = ("html", "body")  # scripts listen there to all clicks
_MAX_DEPTH, _MAX_OPTIONS = 4, 20
AxNode = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageElement:
    """An element of the page: role and name from the accessibility tree, position from the DOM."""

    document: DomDocument
    node: int
    attributes: Mapping[str, str]
    test_id: str | None
    role: str
    name: str
    visible: bool
    states: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    ref: str = ""  # empty for elements that the observation does not list as accessibility nodes

    @property
    def backend_id(self) -> int:
        """The browser's id of the node."""
        return self.document.backend_ids[self.node]

    @property
    def tag(self) -> str:
        """The tag name."""
        return self.document.tag(self.node)

    @property
    def is_disabled(self) -> bool:
        """Whether it takes no input now."""
        return bool(self.states.get("disabled"))

    def to_test_id(self) -> dict[str, Any]:
        """Its entry among the test ids of an observation."""
        entry = {
            "testId": self.test_id,
            "tag": self.tag,
            "text": self.document.text(self.node),
            "visible": self.visible,
        }
        is_aria_role = self.role[:1].islower() and self.role not in _NOISE  # Chromium's own roles are capitalized
        more = {"role": self.role, "name": self.name} if is_aria_role else {}
        return entry | {key: value for key, value in more.items() if value}

    def to_node(self) -> dict[str, Any]:
        """Its entry among the accessibility nodes of an observation; the value of a password field is left out."""
        more = {
            "testId": self.test_id,
            "inputType": self.attributes.get("type", "").lower() if self.tag in ("input", "button") else "",
            "autocomplete": self.attributes.get("autocomplete"),
            "htmlName": self.attributes.get("name") if self.tag in ("input", "textarea", "select") else None,
            "tag": self.tag,
            "written": self._written_name(),
            "frame": list(self.document.frame_path),
        }
        entry = {"ref": self.ref, "role": self.role, "name": self.name, **self.states, "path": list(self.path)}
        return entry | {key: value for key, value in more.items() if value}

    def _written_name(self) -> str | None:
        """Its name as the page has it, where CSS shows it in other case, such as in capitals."""
        if self.name == self.name.lower() and self.name == self.name.upper():
            return None
        written = self.document.text(self.node)
        return written if written != self.name and written.lower() == self.name.lower() else None


def merge_ax(
    documents: Sequence[DomDocument],
    ax_trees: Sequence[Sequence[AxNode]],
    test_id_attribute: str,
    refs: Mapping[int, str] | None = None,
) -> list[PageElement]:
    """All elements with a test id or a meaningful role, in document order; those in `refs` keep their ref."""
    ax_nodes = {each["backendDOMNodeId"]: each for tree in ax_trees for each in tree if _is_exposed(each)}
    elements: list[PageElement] = []
    paths: dict[tuple[int, int], tuple[str, ...]] = {}
    for document, node in _iterate_elements(documents, documents[0]):
        path = _parent_path(document, node, paths)
        element = _build_element(document, node, ax_nodes, test_id_attribute, path)
        paths[id(document), node] = _child_path(element)
        if element.test_id is not None or _is_meaningful(element):
            elements.append(element)
    return _assign_refs(elements, refs or {})


def _is_exposed(node: AxNode) -> bool:
    return not node["ignored"] and "backendDOMNodeId" in node


def _iterate_elements(documents: Sequence[DomDocument], document: DomDocument) -> Iterator[tuple[DomDocument, int]]:
    """All elements in document order, those of a frame after the frame element."""
    for node in document.elements:
        yield document, node
        if node in document.frames:
            yield from _iterate_elements(documents, documents[document.frames[node]])


def _parent_path(document: DomDocument, node: int, paths: Mapping[tuple[int, int], tuple[str, ...]]) -> tuple[str, ...]:
    parent = document.parents[node]
    if (id(document), parent) in paths:
        return paths[id(document), parent]
    return paths.get((id(document.owner[0]), document.owner[1]), ()) if document.owner else ()


def _child_path(element: PageElement) -> tuple[str, ...]:
    """The path of the elements inside of this one: a container adds its own role and name."""
    if element.role not in _CONTAINERS:
        return element.path
    own = f'{element.role} "{element.name[:40]}"' if element.name else element.role
    return (*element.path, own)[-_MAX_DEPTH:]


def _build_element(
    document: DomDocument,
    node: int,
    ax_nodes: Mapping[int, AxNode],
    test_id_attribute: str,
    path: tuple[str, ...],
) -> PageElement:
    ax = ax_nodes.get(document.backend_ids[node], {})
    role, attributes = _ax_value(ax, "role"), document.attributes(node)
    name = " ".join(_ax_value(ax, "name").split())[:MAX_NAME]
    role = _ARIA_ROLES.get(role, role)
    test_id = attributes.get(test_id_attribute)
    if test_id is None and not ax and node not in document.clickable:
        return PageElement(document, node, attributes, None, "", "", False, path=path)
    states = _read_states(ax, attributes)
    if role == "combobox" and document.tag(node) == "select":
        states["options"] = _read_options(document, node, ax_nodes)
    if role not in INTERACTIVE and _is_click_target(document, node, attributes, ax_nodes):
        states["clickable"] = True
        role, name = _label_click_target(role, name, document.text(node))
    return PageElement(document, node, attributes, test_id, role, name, document.is_visible(node), states, path)


def _is_click_target(
    document: DomDocument, node: int, attributes: Mapping[str, str], ax_nodes: Mapping[int, AxNode]
) -> bool:
    """Whether an element is a click target of its own: neither inside another target nor around one."""
    if node not in document.clickable or document.tag(node) in _ROOT_TAGS or "for" in attributes:
        return False
    if any(
        _is_interactive(document, each, ax_nodes) or "contenteditable" in document.attributes(each)
        for each in document.ancestors(node)
    ):
        return False
    return not any(
        _is_interactive(document, each, ax_nodes) or (each in document.clickable and document.text(each))
        for each in document.descendants(node)
    )


def _is_interactive(document: DomDocument, node: int, ax_nodes: Mapping[int, AxNode]) -> bool:
    role = _ax_value(ax_nodes.get(document.backend_ids[node], {}), "role")
    return _ARIA_ROLES.get(role, role) in INTERACTIVE


def _label_click_target(role: str, name: str, text: str) -> tuple[str, str]:
    """Role and name of a click target: its own, or generic with its text."""
    if name and role[:1].islower() and role != "generic":
        return role, name
    return "generic", text or name


def _read_states(ax: AxNode, attributes: Mapping[str, str]) -> dict[str, Any]:
    properties = {each["name"]: each["value"].get("value") for each in ax.get("properties", ())}
    states: dict[str, Any] = {}
    for name in _STATES:
        own = properties.get(name)
        value = {"true": True, "false": False}.get(own or "", own) if name in properties else None
        if value or (value is False and name in _STATES_LISTED_WHEN_FALSE):
            states[name] = value
    if "level" in properties:
        states["level"] = properties["level"]
    if attributes.get("type", "").lower() == "password":
        states["protected"] = True
    elif text := _ax_value(ax, "value"):
        states["value"] = text[:MAX_NAME]
    return states


def _read_options(document: DomDocument, node: int, ax_nodes: Mapping[int, AxNode]) -> list[str]:
    """The names of the options of a <select>."""
    inside = [each for each in document.descendants(node) if document.tag(each) == "option"]
    names = (_ax_value(ax_nodes.get(document.backend_ids[each], {}), "name") for each in inside[:_MAX_OPTIONS])
    return [name[:MAX_NAME] for name in names]


def _is_meaningful(element: PageElement) -> bool:
    if element.states.get("clickable"):
        return bool(element.name)
    if element.role in INTERACTIVE:
        return element.role != "option" or element.visible
    return bool(element.name and element.role[:1].islower() and element.role not in _NOISE)


def _assign_refs(elements: Sequence[PageElement], refs: Mapping[int, str]) -> list[PageElement]:
    listed = _select_nodes(elements)
    number = max((int(ref[1:]) for ref in refs.values()), default=0)
    numbered: list[PageElement] = []
    for element in elements:
        ref = ""
        if id(element) in listed:
            ref = refs.get(element.backend_id, "")
            if not ref:
                number += 1
                ref = f"e{number}"
        numbered.append(replace(element, ref=ref))
    return numbered


def _select_nodes(elements: Sequence[PageElement]) -> set[int]:
    """The ids of the elements listed as accessibility nodes: usable ones first, up to the limit."""
    nodes = [each for each in elements if _is_meaningful(each)]
    usable = [each for each in nodes if _is_usable(each)]
    others = [each for each in nodes if not _is_usable(each)]
    return {id(each) for each in [*usable, *others][:MAX_NODES]}


def _is_usable(element: PageElement) -> bool:
    return element.role in INTERACTIVE or "clickable" in element.states


def _ax_value(node: AxNode, key: str) -> str:
    return str(node.get(key, {}).get("value") or "")

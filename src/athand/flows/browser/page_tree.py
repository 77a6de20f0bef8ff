"""Builds the tree of a page that agents read: roles, names, texts and refs, from the accessibility trees. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from athand.flows.browser.dom import DomDocument
from athand.flows.browser.merge_ax import INTERACTIVE, AxNode, PageElement

TEXT = "text"
MESSAGE_ROLES = frozenset("alert status log alertdialog".split())
_UNSEEN = frozenset("InlineTextBox ListMarker MenuListPopup".split())
_FIELDS = frozenset("textbox searchbox combobox slider spinbutton checkbox radio switch progressbar img meter".split())
# What these hold is shown, they themselves are not.
_TRANSPARENT = frozenset(
    "generic none presentation paragraph rowgroup strong emphasis code mark time subscript superscript insertion "
    "deletion caption legend blockquote text sectionheader sectionfooter".split()
)
_NAMED_BY_CONTENT = frozenset(
    "button link heading option tab menuitem menuitemcheckbox menuitemradio treeitem checkbox radio switch".split()
)
_NAMED_BY_AUTHOR = frozenset("group figure section".split())  # without a name they say nothing
_NEVER_NAMED = frozenset("row cell gridcell listitem columnheader rowheader".split())  # their content is shown
_INLINE_TAGS = frozenset(
    "span a b i em strong small code mark time sub sup abbr u s q kbd label font ins del bdi data var cite samp "
    "button input select textarea img svg output summary".split()
)
_MESSAGE_WORDS = ("error", "alert", "toast", "message", "notice", "invalid", "success", "warning", "snackbar", "flash")


@dataclass(slots=True)
class TreeNode:
    """A node of the tree: an element, or a text, which has the role `text` and its words as the name."""

    role: str
    name: str = ""
    ref: str = ""  # of an element that can be used
    own_ref: str = ""  # of any element; by it a part of the tree is asked for
    test_id: str = ""
    states: tuple[str, ...] = ()
    value: str = ""
    is_message: bool = False  # an alert, a status, or marked as such by its class
    is_test_id_shown: bool = False
    is_apart: bool = False  # begins a block of its own
    children: list["TreeNode"] = field(default_factory=list)

    def walk(self) -> Iterator["TreeNode"]:
        """The node and all below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


_MAX_OPTIONS = 12
_BREAK = TreeNode("break")  # between texts of different blocks


def build_tree(
    documents: Sequence[DomDocument],
    ax_trees: Sequence[Sequence[AxNode]],
    elements: Sequence[PageElement],
    root: PageElement | None = None,
) -> TreeNode:
    """The tree of a page with its frames, or of one element in it; its root stands for the page."""
    builder = _Builder(documents, ax_trees, elements)
    if root is not None:
        return TreeNode("page", children=_join_texts(builder.build(root.backend_id)))
    items = builder.build_children(documents[0].backend_ids[0])
    return TreeNode("page", children=_join_texts([*items, _BREAK, *builder.build_rest()]))


class _Builder:
    """The accessibility nodes by their ids, beside the elements that have refs."""

    def __init__(
        self,
        documents: Sequence[DomDocument],
        ax_trees: Sequence[Sequence[AxNode]],
        elements: Sequence[PageElement],
    ) -> None:
        self.nodes = {(number, each["nodeId"]): each for number, tree in enumerate(ax_trees) for each in tree}
        self.nodes_by_backend = {
            each["backendDOMNodeId"]: (number, each)
            for number, tree in enumerate(ax_trees)
            for each in tree
            if "backendDOMNodeId" in each
        }
        self.elements = {each.backend_id: each for each in elements}
        self.places = {id_: (document, at) for document in documents for at, id_ in enumerate(document.backend_ids)}
        self.frames = {
            document.backend_ids[node]: documents[number].backend_ids[0]
            for document in documents
            for node, number in document.frames.items()
        }
        self.names = {each.name for each in elements if each.name}
        usable = [each for each in elements if _is_usable(each)]
        self.name_counts = Counter((each.role, each.name) for each in usable)
        self.test_id_counts = Counter(each.test_id for each in elements if each.visible)
        self.built: set[int] = set()

    def build_rest(self) -> list[TreeNode]:
        """What can be used and is visible, but is hidden from accessibility, and so has not been built yet."""
        left = (each for each in self.elements.values() if _is_usable(each) and each.visible)
        return [self._describe(each) for each in left if each.backend_id not in self.built]

    def build(self, backend: int) -> list[TreeNode]:
        """The tree of an element of the DOM; empty if it is not exposed."""
        found = self.nodes_by_backend.get(backend)
        return self._build(*found, is_label=False) if found else []

    def build_children(self, backend: int, *, is_label: bool = False) -> list[TreeNode]:
        """The trees of what is in an element or document, also in the frame that it is."""
        found = self.nodes_by_backend.get(backend)
        return self._build_below(*found, is_label=is_label) if found else []

    def _build_below(self, number: int, node: AxNode, *, is_label: bool = False) -> list[TreeNode]:
        children = (self.nodes.get((number, each)) for each in node.get("childIds", ()))
        items = [item for each in children if each for item in self._build(number, each, is_label=is_label)]
        inner = self.frames.get(node.get("backendDOMNodeId", -1))
        return items if inner is None else [*items, _BREAK, *self.build_children(inner), _BREAK]

    def _build(self, number: int, node: AxNode, *, is_label: bool) -> list[TreeNode]:
        role = str(node.get("role", {}).get("value") or "")
        if role in _UNSEEN:
            return []
        if role == "LineBreak":
            return [TreeNode(TEXT, " ")]
        if role == "StaticText":
            text = str(node.get("name", {}).get("value") or "")
            return [] if is_label and " ".join(text.split()) in self.names else [TreeNode(TEXT, text)]
        backend = node.get("backendDOMNodeId", -1)
        element = self.elements.get(backend)
        if element is not None and (_is_usable(element) or not _is_transparent(node, element.role)):
            made = self._build_element(number, node, element)
            return [made] if self._is_inline(backend) else [_BREAK, made, _BREAK]
        is_label = is_label or role in ("LabelText", "Legend")
        if element is None and not _is_transparent(node, role):
            made = TreeNode(role, children=_join_texts(self._build_below(number, node, is_label=is_label)))
            return self._finish(made, backend)
        items = self._build_below(number, node, is_label=is_label)
        if self._is_inline(backend) and element is None:
            return items
        return [_BREAK, *self._mark_texts(items, element, backend), _BREAK]

    def _build_element(self, number: int, node: AxNode, element: PageElement) -> TreeNode:
        made = self._describe(element)
        is_leaf = element.role in _FIELDS or "clickable" in element.states
        made.children = [] if is_leaf else _join_texts(self._build_below(number, node))
        if element.role in _NAMED_BY_CONTENT or made.ref:
            made.children = [each for each in made.children if any(below.ref for below in each.walk())]
        if made.role == "heading" and made.children:
            made.name = ""
        return made

    def _describe(self, element: PageElement) -> TreeNode:
        """The node of an element, without what is below it."""
        self.built.add(element.backend_id)
        is_usable = _is_usable(element)
        is_vague = not element.name or self.name_counts[element.role, element.name] > 1
        return TreeNode(
            element.role,
            "" if element.role in _NEVER_NAMED and "clickable" not in element.states else element.name,
            ref=element.ref if is_usable else "",
            own_ref=element.ref,
            test_id=element.test_id or "",
            states=_list_states(element.states),
            value=_describe_value(element),
            is_message=self._is_message(element.role, element.backend_id),
            is_test_id_shown=is_usable and is_vague and self.test_id_counts[element.test_id] == 1,
        )

    def _finish(self, made: TreeNode, backend: int) -> list[TreeNode]:
        made.is_message = self._is_message(made.role, backend)
        return [_BREAK, made, _BREAK] if made.children or made.role in _NEVER_NAMED else []

    def _mark_texts(self, items: list[TreeNode], element: PageElement | None, backend: int) -> list[TreeNode]:
        """The content of a block; its test id says what a number means, its class whether a text is a message."""
        texts = [each for each in items if each.role == TEXT and each.name.strip()]
        is_only_text = bool(texts) and all(each.role == TEXT or each is _BREAK for each in items)
        if not is_only_text:
            return items
        joined = _join_texts(items)
        is_message = self._is_message("", backend)
        test_id = element.test_id if element is not None and element.test_id and len(joined) == 1 else ""
        says_little = bool(test_id) and sum(map(str.isalpha, joined[0].name)) < 3
        marked = (
            replace(
                each,
                test_id=test_id or each.test_id,
                is_test_id_shown=says_little or each.is_test_id_shown,
                is_message=is_message or each.is_message,
            )
            for each in joined
        )
        return [part for each in marked for part in (each, _BREAK)]

    def _is_inline(self, backend: int) -> bool:
        place = self.places.get(backend)
        return place is None or place[0].tag(place[1]) in _INLINE_TAGS

    def _is_message(self, role: str, backend: int) -> bool:
        if role in MESSAGE_ROLES:
            return True
        place = self.places.get(backend)
        marks = "" if place is None else place[0].attributes(place[1]).get("class", "").lower()
        return any(word in marks for word in _MESSAGE_WORDS)


def _is_usable(element: PageElement) -> bool:
    return bool(element.ref) and (element.role in INTERACTIVE or "clickable" in element.states)


def _is_transparent(node: AxNode, role: str) -> bool:
    """Whether only the content of a node is shown: it is layout, inside of a text, or a group without a name."""
    if node["ignored"] or not role[:1].islower() or role in _TRANSPARENT:
        return True
    return role in _NAMED_BY_AUTHOR and not node.get("name", {}).get("value")


def _list_states(states: Mapping[str, Any]) -> tuple[str, ...]:
    shown = [name for name in ("checked", "disabled", "pressed", "selected", "required", "invalid") if states.get(name)]
    shown += ["expanded"] if states.get("expanded") and "options" not in states else []
    return tuple(f"{name}={states[name]}" if isinstance(states[name], str) else name for name in shown)


def _describe_value(element: PageElement) -> str:
    value, options = str(element.states.get("value") or ""), element.states.get("options")
    if not options:
        return value
    more = f" … {len(options) - _MAX_OPTIONS} more" if len(options) > _MAX_OPTIONS else ""
    return f"{value} (of: {' / '.join(options[:_MAX_OPTIONS])}{more})"


def _join_texts(items: Sequence[TreeNode]) -> list[TreeNode]:
    """The items with texts of one block as one, white space collapsed, and without breaks and empty texts."""
    joined: list[TreeNode] = []
    is_apart = True
    for item in items:
        if item is _BREAK:
            is_apart = True
        elif item.role == TEXT and not is_apart and joined[-1].role == TEXT:
            joined[-1] = replace(joined[-1], name=joined[-1].name + item.name)
        elif item.role != TEXT or item.name.strip():
            joined.append(replace(item, is_apart=is_apart or item.is_apart))
            is_apart = False
    texts = (replace(each, name=" ".join(each.name.split())) if each.role == TEXT else each for each in joined)
    return [each for each in texts if each.role != TEXT or each.name]

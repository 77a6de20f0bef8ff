"""Takes snapshots of a page over CDP (DOM snapshot and accessibility trees), without running a script in it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed
from athand.flows.browser.dom import STYLES, DomDocument, parse_documents
from athand.flows.browser.merge_ax import AxNode, PageElement, merge_ax
from athand.flows.browser.page_tree import TreeNode, build_tree
from athand.flows.model import Observation
from athand.flows.profiles import Profile
from athand.flows.screens import detect_screen

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

DEFAULT_TEST_IDS, MAX_TEST_IDS = 150, 500  # test ids in one observation
_CAPTURE = {"computedStyles": list(STYLES), "includePaintOrder": False, "includeDOMRects": True}


@dataclass(frozen=True)
class PageSnapshot:
    """A page at one moment: the observation, and the elements behind it."""

    observation: Observation
    elements: tuple[PageElement, ...]
    document_id: str  # changes with each navigation
    test_id_count: int = 0  # listed in the observation or not
    refs: Mapping[int, str] = field(default_factory=dict)  # backend node id → ref
    documents: tuple[DomDocument, ...] = ()
    ax_trees: tuple[Sequence[AxNode], ...] = ()

    @cached_property
    def tree(self) -> TreeNode:
        """The page as a tree of roles, names and texts."""
        return build_tree(self.documents, self.ax_trees, self.elements)

    @property
    def title(self) -> str:
        """The title of the page."""
        return self.documents[0].title if self.documents else ""

    def part(self, name: str) -> TreeNode:
        """The tree of one element, by its ref or test id; of those with one test id, the first that is visible."""
        named = [each for each in self.elements if name in (each.ref, each.test_id)]
        if not named:
            text = (
                f"There is no element with the ref or test id {name!r} on this page. Describe the screen without root."
            )
            raise ActionFailed(text, code="TARGET_NOT_FOUND")
        root = next((each for each in named if each.visible), named[0])
        return build_tree(self.documents, self.ax_trees, self.elements, root)

    def texts(self) -> list[str]:
        """The visible text of each document."""
        return [each.text(0, longest=1_000_000) for each in self.documents]

    def by_ref(self, ref: str) -> PageElement | None:
        """The element with a ref of this snapshot."""
        return next((each for each in self.elements if each.ref == ref), None)

    def nodes_inside(self, root: PageElement | None) -> tuple[Mapping[str, Any], ...]:
        """The accessibility nodes of an element and all inside it, frames and shadow roots included."""
        if root is None:
            text = "This element is not in the snapshot, so its content is unknown. Name it by a test id."
            raise ActionFailed(text, code="TARGET_NOT_FOUND")
        nodes = {root.node, *root.document.descendants(root.node)}
        return tuple(each.to_node() for each in self.elements if each.ref and _is_inside(each, root.document, nodes))


async def capture_snapshot(
    session: "CDPSession", profile: Profile, *, limit: int = DEFAULT_TEST_IDS, refs: Mapping[int, str] | None = None
) -> PageSnapshot:
    """Takes a snapshot of the page; elements that have a ref in `refs` keep it."""
    captured, tree = await asyncio.gather(
        session.send("DOMSnapshot.captureSnapshot", _CAPTURE), session.send("Page.getFrameTree")
    )
    root = tree["frameTree"]
    ax_trees = await asyncio.gather(*(_fetch_ax_tree(session, frame_id) for frame_id in _frame_ids(root)))
    documents = parse_documents(captured)
    elements = merge_ax(documents, ax_trees, profile.test_id_attribute, refs)
    return PageSnapshot(
        observation=_build_observation(elements, _frame_url(root["frame"]), profile, limit),
        elements=tuple(elements),
        document_id=root["frame"]["loaderId"],
        test_id_count=sum(each.test_id is not None for each in elements),
        refs={each.backend_id: each.ref for each in elements if each.ref},
        documents=tuple(documents),
        ax_trees=tuple(ax_trees),
    )


async def _fetch_ax_tree(session: "CDPSession", frame_id: str) -> Sequence[Mapping[str, Any]]:
    from playwright.async_api import Error

    try:
        answer = await session.send("Accessibility.getFullAXTree", {"frameId": frame_id})
    except Error as error:
        if "Frame" in str(error):  # the frame has just been removed, or lives in another process
            return ()
        raise
    nodes: Sequence[Mapping[str, Any]] = answer["nodes"]
    return nodes


def _frame_ids(tree: Mapping[str, Any]) -> Iterator[str]:
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", ()):
        yield from _frame_ids(child)


def _frame_url(frame: Mapping[str, Any]) -> str:
    return f"{frame['url']}{frame.get('urlFragment', '')}"


def _build_observation(elements: Sequence[PageElement], url: str, profile: Profile, limit: int) -> Observation:
    test_ids = tuple(each.to_test_id() for each in _select_test_ids(elements, limit))
    a11y = tuple(each.to_node() for each in elements if each.ref)
    unnamed = Observation(None, url, test_ids, a11y)
    screen = detect_screen(url, unnamed.visible_test_ids, a11y, profile)
    return Observation(screen, url, test_ids, a11y)


def _select_test_ids(elements: Sequence[PageElement], limit: int) -> list[PageElement]:
    """The elements with a test id, in document order; above the limit visible ones are preferred."""
    named = [each for each in elements if each.test_id is not None]
    chosen = {id(each) for each in sorted(named, key=lambda each: not each.visible)[:limit]}
    return [each for each in named if id(each) in chosen]


def _is_inside(element: PageElement, document: DomDocument, nodes: Set[int]) -> bool:
    """Whether an element is one of these nodes of a document, or in a frame below one of them."""
    position: tuple[DomDocument, int] | None = (element.document, element.node)
    while position is not None and position[0] is not document:
        position = position[0].owner
    return position is not None and position[1] in nodes

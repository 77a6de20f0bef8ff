"""Looking at a page through the browser's own eyes: no script runs in it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from athand.flows.browser.dom import STYLES, Document, documents
from athand.flows.browser.merge_ax import Element, join
from athand.flows.model import Observation
from athand.flows.profiles import Profile
from athand.flows.screens import detect

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

LIMIT, MOST = 150, 500
_CAPTURE = {"computedStyles": list(STYLES), "includePaintOrder": False, "includeDOMRects": True}


@dataclass(frozen=True, slots=True)
class PageSnapshot:
    """A page at one moment: what it shows, and the elements behind it."""

    observation: Observation
    elements: tuple[Element, ...]
    document_id: str  # another one after each navigation
    test_ids: int = 0  # that there are, listed or not
    refs: Mapping[int, str] = field(default_factory=dict)
    documents: tuple[Document, ...] = ()

    def texts(self) -> list[str]:
        """All that can be read, by document."""
        return [each.text(0, longest=1_000_000) for each in self.documents]

    def by_ref(self, ref: str) -> Element | None:
        """The element that a ref of this snapshot means."""
        return next((each for each in self.elements if each.ref == ref), None)


async def look(
    session: "CDPSession", profile: Profile, *, limit: int = LIMIT, refs: Mapping[int, str] | None = None
) -> PageSnapshot:
    """What is on the page now; elements that had a ref in `refs` keep it."""
    captured, tree = await asyncio.gather(
        session.send("DOMSnapshot.captureSnapshot", _CAPTURE), session.send("Page.getFrameTree")
    )
    root = tree["frameTree"]
    trees = await asyncio.gather(*(_accessible(session, frame_id) for frame_id in _frame_ids(root)))
    pages = documents(captured)
    elements = join(pages, trees, profile.test_id_attribute, refs)
    snapshot = _sight(elements, _address(root["frame"]), root["frame"]["loaderId"], profile, limit)
    return replace(snapshot, documents=tuple(pages))


async def _accessible(session: "CDPSession", frame_id: str) -> Sequence[Mapping[str, Any]]:
    from playwright.async_api import Error

    try:
        answer = await session.send("Accessibility.getFullAXTree", {"frameId": frame_id})
    except Error as error:
        if "Frame" in str(error):  # it has just gone, or lives in another process
            return ()
        raise
    nodes: Sequence[Mapping[str, Any]] = answer["nodes"]
    return nodes


def _frame_ids(tree: Mapping[str, Any]) -> Iterator[str]:
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", ()):
        yield from _frame_ids(child)


def _address(frame: Mapping[str, Any]) -> str:
    return f"{frame['url']}{frame.get('urlFragment', '')}"


def _sight(elements: Sequence[Element], url: str, document_id: str, profile: Profile, limit: int) -> PageSnapshot:
    named = [each for each in elements if each.test_id is not None]
    listed = _listed(named, limit)
    a11y = tuple(each.as_node() for each in elements if each.ref)
    seen = Observation(None, url, tuple(each.as_test_id() for each in listed), a11y)
    screen = detect(url, seen.visible_test_ids, a11y, profile)
    seen = Observation(screen, url, seen.test_ids, a11y)
    refs = {each.backend_id: each.ref for each in elements if each.ref}
    return PageSnapshot(seen, tuple(elements), document_id, len(named), refs)


def _listed(named: Sequence[Element], limit: int) -> list[Element]:
    """As many as may be, visible ones first, in document order."""
    chosen = {id(each) for each in sorted(named, key=lambda each: not each.visible)[:limit]}
    return [each for each in named if id(each) in chosen]

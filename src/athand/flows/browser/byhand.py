"""Using elements that locators cannot reach, such as those in closed shadow roots: real mouse, real keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from athand.errors import ActionFailed
from athand.flows.browser.merge_ax import Element

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page


async def quad(session: "CDPSession", backend_id: int) -> Sequence[float] | None:
    """The corners of an element in the context: x and y of each, from the top left on."""
    from playwright.async_api import Error

    try:
        answer = await session.send("DOM.getContentQuads", {"backendNodeId": backend_id})
    except Error:
        return None  # it has no box, or is no more
    quads: Sequence[Sequence[float]] = answer["quads"]
    return quads[0] if quads else None


async def click(page: "Page", session: "CDPSession", element: Element) -> None:
    """Bring it into view and click into its middle."""
    _check_enabled(element)
    await session.send("DOM.scrollIntoViewIfNeeded", {"backendNodeId": element.backend_id})
    corners = await quad(session, element.backend_id)
    if corners is None:
        raise ActionFailed("It has no place on the page any more.", code="TARGET_NOT_FOUND")
    await page.mouse.click(sum(corners[::2]) / 4, sum(corners[1::2]) / 4)


async def focus(session: "CDPSession", element: Element) -> None:
    """Put the keyboard there."""
    _check_enabled(element)
    await session.send("DOM.scrollIntoViewIfNeeded", {"backendNodeId": element.backend_id})
    await session.send("DOM.focus", {"backendNodeId": element.backend_id})


async def type_text(page: "Page", text: str, *, clear: bool) -> None:
    """Type where the focus is, over what was there or behind it."""
    if clear:
        await page.keyboard.press("ControlOrMeta+a")
        await page.keyboard.press("Delete")
    else:
        await page.keyboard.press("End")
    await page.keyboard.type(text)


async def choose(page: "Page", session: "CDPSession", element: Element, label: str) -> None:
    """Choose in a list by the keyboard."""
    options: Sequence[str] = element.states.get("options", ())
    if label not in options:
        raise ActionFailed(f"There is no choice {label!r} in it, only: {', '.join(options)}.", code="OPTION_NOT_FOUND")
    await focus(session, element)
    await page.keyboard.press("Home")
    for _ in range(options.index(label)):
        await page.keyboard.press("ArrowDown")


def _check_enabled(element: Element) -> None:
    if element.is_disabled:
        raise ActionFailed("It is disabled. Do first what enables it.", code="TARGET_NOT_ENABLED")

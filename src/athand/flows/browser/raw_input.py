"""Mouse and keyboard input for elements that locators cannot reach, such as those in closed shadow roots."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from athand.errors import ActionFailed
from athand.flows.browser.context import PageContext
from athand.flows.browser.merge_ax import PageElement

if TYPE_CHECKING:
    from playwright.async_api import CDPSession


async def content_quad(session: "CDPSession", element: PageElement) -> Sequence[float] | None:
    """The corners of an element in the viewport: x and y of each, from the top left on; None without a box."""
    from playwright.async_api import Error

    try:
        answer = await session.send("DOM.getContentQuads", {"backendNodeId": element.backend_id})
    except Error:
        return None  # it has no box, or is removed
    quads: Sequence[Sequence[float]] = answer["quads"]
    return quads[0] if quads else None


async def click(context: PageContext, element: PageElement) -> None:
    """Scrolls an element into view and clicks its middle."""
    _check_enabled(element)
    await context.page.mouse.click(*await _scroll_to_middle(context, element))


async def hover(context: PageContext, element: PageElement) -> None:
    """Scrolls an element into view and moves the mouse over its middle."""
    await context.page.mouse.move(*await _scroll_to_middle(context, element))


async def _scroll_to_middle(context: PageContext, element: PageElement) -> tuple[float, float]:
    """The middle of an element in the viewport, after it was scrolled into it."""
    session = await context.cdp_session()
    await session.send("DOM.scrollIntoViewIfNeeded", {"backendNodeId": element.backend_id})
    corners = await content_quad(session, element)
    if corners is None:
        raise ActionFailed("It is no longer displayed on the page.", code="TARGET_NOT_FOUND")
    return sum(corners[::2]) / 4, sum(corners[1::2]) / 4


async def focus(context: PageContext, element: PageElement) -> None:
    """Scrolls an element into view and focuses it."""
    session = await context.cdp_session()
    _check_enabled(element)
    await session.send("DOM.scrollIntoViewIfNeeded", {"backendNodeId": element.backend_id})
    await session.send("DOM.focus", {"backendNodeId": element.backend_id})


async def type_text(context: PageContext, element: PageElement, text: str, *, clear: bool) -> None:
    """Types into an element, over its content or behind it."""
    await focus(context, element)
    keyboard = context.page.keyboard
    if clear:
        await keyboard.press("ControlOrMeta+a")
        await keyboard.press("Delete")
    else:
        await keyboard.press("End")
    await keyboard.type(text)


async def select(context: PageContext, element: PageElement, label: str) -> None:
    """Chooses an option of a <select> with the keyboard."""
    options: Sequence[str] = element.states.get("options", ())
    if label not in options:
        raise ActionFailed(f"The list has no option {label!r}, only: {', '.join(options)}.", code="OPTION_NOT_FOUND")
    await focus(context, element)
    await context.page.keyboard.press("Home")
    for _ in range(options.index(label)):
        await context.page.keyboard.press("ArrowDown")


def _check_enabled(element: PageElement) -> None:
    if element.is_disabled:
        raise ActionFailed("It is disabled. First do what enables it.", code="TARGET_NOT_ENABLED")

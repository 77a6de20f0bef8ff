"""Keeps input at the origins that it is meant for: a replay must not type into the page of somebody else."""

from collections.abc import Set
from dataclasses import replace
from typing import TYPE_CHECKING

from athand.errors import ActionFailed
from athand.flows.browser.context import PageContext
from athand.flows.browser.recorder import Attempt
from athand.flows.browser.targets import LocatedElement
from athand.flows.origins import origin_of

if TYPE_CHECKING:
    from playwright.async_api import Frame


async def check_origin(context: PageContext, attempt: Attempt, located: LocatedElement) -> LocatedElement:
    """Notes the origin that gets the input; raises ORIGIN_DIFFERS if it is not one of the allowed ones.

    Where origins are limited, the element is bound to its document: a locator would also find it on the next page.
    """
    from playwright.async_api import Locator

    allowed = context.allowed_origins
    if isinstance(located.locator, Locator) and (allowed is not None or located.element is None):
        handle = await located.locator.element_handle()
        attempt.origin = _frame_origin(await handle.owner_frame())
        located = located if allowed is None else replace(located, locator=handle)
    elif located.element is not None:
        attempt.origin = origin_of(located.element.document.url)
    else:
        attempt.origin = origin_of(context.page.url)
    if allowed is not None and attempt.origin not in allowed:
        raise _differs(attempt.origin, allowed)
    return located


def _frame_origin(frame: "Frame | None") -> str:
    """The origin of a frame; one without an address of its own has that of the page around it."""
    while frame is not None and frame.url.startswith("about:"):
        frame = frame.parent_frame
    return origin_of(frame.url) if frame is not None else ""


def _differs(origin: str, allowed: Set[str]) -> ActionFailed:
    expected = " or ".join(sorted(allowed)) or "no known origin"
    advice = f" If it may have it, name it in origins (--origin {origin})." if origin else ""
    return ActionFailed(
        f"Nothing was entered: the page is at {origin or 'an address without origin'} now, and the step was recorded "
        f"at {expected}.{advice}",
        code="ORIGIN_DIFFERS",
    )

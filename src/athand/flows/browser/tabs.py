"""Going somewhere: to an address, to another tab, away from one."""

import time
from typing import TYPE_CHECKING

from athand.errors import ActionFailed, InvalidInput
from athand.flows.browser.actions import Attempt
from athand.flows.browser.context import PageContext
from athand.flows.browser.model import Tab

if TYPE_CHECKING:
    from playwright.async_api import Page


async def arrive(context: PageContext, attempt: Attempt, url: str | None) -> None:
    """Go to the first address of a session, if there is one."""
    if url is not None:
        await _go(context, attempt, url)
    attempt.after = await context.look()


async def navigate(context: PageContext, attempt: Attempt, url: str) -> None:
    """Go to an address in the tab that is used."""
    attempt.before = await context.look()
    await _go(context, attempt, url)
    attempt.after = await context.look()


async def listed(context: PageContext) -> tuple[Tab, ...]:
    """All tabs, in the order they came."""
    pages = enumerate(context.pages)
    return tuple([Tab(number, page.url, await context.title(page), page is context.page) for number, page in pages])


async def switch(context: PageContext, attempt: Attempt, index: int | None, url: str | None, title: str | None) -> None:
    """Go on in another tab: by its number, or by a part of its address or title."""
    attempt.before = await context.look()
    context.use(await _chosen(context, index, url, title))
    await context.page.bring_to_front()
    attempt.after = await context.look()


async def close(context: PageContext, attempt: Attempt, index: int | None) -> None:
    """Close a tab; the one that is used if none is named. The last one stays."""
    attempt.before = await context.look()
    page = context.page if index is None else await _chosen(context, index, None, None)
    if len(context.pages) == 1:
        raise ActionFailed("This is the last tab. Use cleanup to end the browser.", code="LAST_TAB")
    await page.close()
    attempt.after = await context.look()


async def _go(context: PageContext, attempt: Attempt, url: str) -> None:
    from playwright.async_api import Error
    from playwright.async_api import TimeoutError as TookTooLong

    begun = time.monotonic()
    until = begun + (attempt.timeout_s or context.options.timeout_s)
    context.limit(until)
    try:
        answer = await context.page.goto(url, wait_until="domcontentloaded")
    except TookTooLong as error:
        raise ActionFailed(
            f"{url[:200]} did not load in time. Try again with a longer timeout_s.", code="TIMEOUT"
        ) from error
    except Error as error:
        if context.is_gone or "has been closed" in str(error):
            raise
        reason = str(error).splitlines()[0].removeprefix("Page.goto: ")[:300]
        text = f"The browser could not go to {url[:200]}: {reason}. Is the address right, and is the app running?"
        raise ActionFailed(text, code="NAVIGATION_FAILED") from error
    if answer is not None and answer.status >= 400:
        attempt.notes.append(f"The server answered with status {answer.status}.")
    await context.settle(begun, until)


async def _chosen(context: PageContext, index: int | None, url: str | None, title: str | None) -> "Page":
    if sum(each is not None for each in (index, url, title)) != 1:
        raise InvalidInput("Name a tab by one of: index, url, title.", code="NO_TARGET")
    tabs = await listed(context)
    for tab, page in zip(tabs, context.pages, strict=True):
        if tab.index == index or (url and url in tab.url) or (title and title in tab.title):
            return page
    known = "; ".join(f"{tab.index}: {tab.title or tab.url}" for tab in tabs)
    raise ActionFailed(f"There is no such tab. There are: {known}", code="UNKNOWN_TAB")

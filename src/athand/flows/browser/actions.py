"""Actions on a page (click, type, press, select), on tabs (navigate, switch, close), and waiting for a condition."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, InvalidInput
from athand.flows.actions import INPUT_VERBS
from athand.flows.browser import raw_input, targets
from athand.flows.browser.context import PageContext
from athand.flows.browser.origin_checks import check_origin
from athand.flows.browser.recorder import Attempt
from athand.flows.browser.snapshot import PageSnapshot
from athand.flows.browser.targets import POLL_S, LocatedElement, TargetSpec

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Locator, Page

WAIT_STATES = ("visible", "hidden")
_MAX_TYPED = 200  # characters that are typed key by key; longer texts are filled in
_PICKER_TYPES = ("date", "time", "datetime-local", "month", "week", "color", "range")
# A part of Playwright's message → code and advice.
_FAILURES = (
    ("is not a <select>", "NOT_A_SELECT", "it is not a <select> element. Click it, then click the option."),
    ("did not find some options", "OPTION_NOT_FOUND", "the list has no such option."),
    ("Element is not an <input>", "TARGET_NOT_EDITABLE", "it is not a text field. Choose one."),
    ("cannot be filled", "TARGET_NOT_EDITABLE", "this kind of field takes no text. Click or select instead."),
    (
        "Malformed value",
        "BAD_VALUE",
        "the field does not accept this value. Write dates as 2026-03-31, times as 14:05.",
    ),
    (
        "intercepts pointer events",
        "TARGET_COVERED",
        "another element covers it. Close the dialog or menu that is open.",
    ),
    ("element is not enabled", "TARGET_NOT_ENABLED", "it is disabled. First do what enables it."),
    ("element is not editable", "TARGET_NOT_ENABLED", "it is read-only. First do what enables it."),
    ("element is not visible", "TARGET_NOT_VISIBLE", "it is not visible. First do what shows it."),
    ("was detached", "TARGET_NOT_FOUND", "it was removed meanwhile. Call describe_screen to see what is there."),
)


async def act(
    context: PageContext,
    attempt: Attempt,
    target: TargetSpec | None,
    use: Callable[[LocatedElement], Awaitable[None]],
) -> None:
    """Finds the target, uses it and waits for the page to settle, with a snapshot before and after."""
    attempt.before = await context.take_snapshot()
    started = time.monotonic()
    until = started + (attempt.timeout_s or context.options.timeout_s)
    located = LocatedElement(None, None)
    if target is not None:
        located = await targets.find_element(context, attempt, target)
    tabs = len(context.pages)
    context.set_timeout(until)
    try:
        if attempt.verb in INPUT_VERBS:
            located = await check_origin(context, attempt, located)
        await use(located)
    except Exception as error:
        raise _explain_failure(context, attempt, target, error) from error
    await context.settle(started, until)
    if len(context.pages) > tabs:
        attempt.notes.append(f"A new tab was opened, number {len(context.pages) - 1}. Continue there with switch_tab.")
    attempt.after = await context.take_snapshot()


async def click(context: PageContext, located: LocatedElement) -> None:
    """Clicks the middle of an element."""
    if located.locator is not None:
        await located.locator.click()
    elif located.element is not None:
        await raw_input.click(context, located.element)


async def hover(context: PageContext, located: LocatedElement) -> None:
    """Moves the mouse over the middle of an element, which opens menus and hints."""
    if located.locator is not None:
        await located.locator.hover()
    elif located.element is not None:
        await raw_input.hover(context, located.element)


async def type_text(context: PageContext, located: LocatedElement, text: str, *, clear: bool, submit: bool) -> None:
    """Types key by key, so that pages get key events; long texts and pickers are filled in at once."""
    if located.locator is None:
        if located.element is not None:
            await raw_input.type_text(context, located.element, text, clear=clear)
    elif located.element is not None and located.element.attributes.get("type") in _PICKER_TYPES:
        await _fill_picker(located.locator, text)
    elif clear and len(text) > _MAX_TYPED:
        await located.locator.fill(text)
    else:
        await (located.locator.fill("") if clear else located.locator.press("End"))
        await located.locator.type(text)
    if submit:
        await context.page.keyboard.press("Enter")


async def _fill_picker(locator: "Locator | ElementHandle", text: str) -> None:
    """Fills in a field such as a date; the browser silently drops a value it cannot parse, which raises here."""
    await locator.fill(text)
    if text and not await locator.input_value():
        raise ActionFailed(
            f"The field does not accept {text!r}. Write dates as 2026-03-31, times as 14:05.", code="BAD_VALUE"
        )


async def press(context: PageContext, located: LocatedElement, key: str) -> None:
    """Presses a key or a combination of keys, on an element or where the focus is."""
    if located.locator is not None:
        await located.locator.press(key)
        return
    if located.element is not None:
        await raw_input.focus(context, located.element)
    await context.page.keyboard.press(key)


async def select(context: PageContext, located: LocatedElement, value: str, *, by_label: bool) -> None:
    """Chooses an option of a list: by label, or by value or label, whichever matches."""
    if located.locator is None:
        if located.element is not None:
            await raw_input.select(context, located.element, value)
    elif by_label:
        await located.locator.select_option(label=value)
    else:
        await located.locator.select_option(value)


def _explain_failure(
    context: PageContext, attempt: Attempt, target: TargetSpec | None, error: Exception
) -> BaseException:
    """The error to raise for one of Playwright's: with the reason and what to do about it."""
    from playwright.async_api import Error

    if not isinstance(error, Error) or context.is_closed or not context.pages:
        return error
    message = str(error)
    for part, code, advice in _FAILURES:
        if part in message:
            return ActionFailed(f"{target or attempt.verb}: {advice}", code=code)
    if "Unknown key" in message:
        advice = "Use names such as Enter, Tab, ArrowDown, a."
        return InvalidInput(f"There is no key {attempt.input.get('key')!r}. {advice}", code="UNKNOWN_KEY")
    return context.translate_error(error)


# Tabs


async def open_first_page(context: PageContext, attempt: Attempt, url: str | None) -> None:
    """Opens the address of the launch, if there is one."""
    if url is not None:
        await _goto(context, attempt, url)
    attempt.after = await context.take_snapshot()


async def navigate(context: PageContext, attempt: Attempt, url: str) -> None:
    """Opens an address in the tab in use."""
    attempt.before = await context.take_snapshot()
    await _goto(context, attempt, url)
    attempt.after = await context.take_snapshot()


async def go_through_history(context: PageContext, attempt: Attempt, *, is_forward: bool) -> None:
    """Goes to the page before this one in the tab, or to the one after it."""
    attempt.before = await context.take_snapshot()
    started, page = time.monotonic(), context.page
    until = started + (attempt.timeout_s or context.options.timeout_s)
    context.set_timeout(until)
    session = await context.cdp_session(page)
    history = await session.send("Page.getNavigationHistory")
    if not 0 <= history["currentIndex"] + (1 if is_forward else -1) < len(history["entries"]):
        where = "after" if is_forward else "before"
        raise ActionFailed(f"This tab was on no page {where} this one. Use navigate.", code="NO_HISTORY")
    await (page.go_forward if is_forward else page.go_back)(wait_until="domcontentloaded")
    await context.settle(started, until)
    attempt.after = await context.take_snapshot()


async def switch_tab(
    context: PageContext, attempt: Attempt, index: int | None, url: str | None, title: str | None
) -> None:
    """Continues in another tab: by its number, or by a part of its address or title."""
    attempt.before = await context.take_snapshot()
    context.use_page(await _find_tab(context, index, url, title))
    await context.page.bring_to_front()
    attempt.after = await context.take_snapshot()


async def close_tab(context: PageContext, attempt: Attempt, index: int | None) -> None:
    """Closes a tab; default: the one in use. The last tab cannot be closed."""
    attempt.before = await context.take_snapshot()
    page = context.page if index is None else await _find_tab(context, index, None, None)
    if len(context.pages) == 1:
        raise ActionFailed("This is the last tab. Use cleanup to end the browser.", code="LAST_TAB")
    await page.close()
    attempt.after = await context.take_snapshot()


async def _goto(context: PageContext, attempt: Attempt, url: str) -> None:
    from playwright.async_api import Error
    from playwright.async_api import TimeoutError as PlaywrightTimeout

    started = time.monotonic()
    until = started + (attempt.timeout_s or context.options.timeout_s)
    context.set_timeout(until)
    try:
        response = await context.page.goto(url, wait_until="domcontentloaded")
    except PlaywrightTimeout as error:
        text = f"{url[:200]} did not load in time. Try again with a longer timeout_s."
        raise ActionFailed(text, code="TIMEOUT") from error
    except Error as error:
        if context.is_closed or "has been closed" in str(error):
            raise
        reason = str(error).splitlines()[0].removeprefix("Page.goto: ")[:300]
        text = f"The browser could not go to {url[:200]}: {reason}. Is the address right, and is the app running?"
        raise ActionFailed(text, code="NAVIGATION_FAILED") from error
    if response is not None and response.status >= 400:
        attempt.notes.append(f"The server answered with status {response.status}.")
    await context.settle(started, until)


async def _find_tab(context: PageContext, index: int | None, url: str | None, title: str | None) -> "Page":
    if sum(each is not None for each in (index, url, title)) != 1:
        raise InvalidInput("Name a tab by one of: index, url, title.", code="NO_TARGET")
    tabs = await context.list_tabs()
    for tab, page in zip(tabs, context.pages, strict=True):
        if tab.index == index or (url and url in tab.url) or (title and title in tab.title):
            return page
    names = "; ".join(f"{tab.index}: {tab.title or tab.url}" for tab in tabs)
    raise ActionFailed(f"There is no such tab. There are: {names}", code="UNKNOWN_TAB")


# Waiting


@dataclass(frozen=True, slots=True)
class WaitCondition:
    """The condition of a wait: exactly one of a target, a text, an address, a screen."""

    target: TargetSpec | None = None
    text: str | None = None
    url: str | None = None
    screen: str | None = None

    @classmethod
    def parse(cls, target: Mapping[str, Any], text: str | None, url: str | None, screen: str | None) -> "WaitCondition":
        """Parses exactly one condition; raises InvalidInput for none and for several."""
        others = [each for each in (text, url, screen) if each is not None]
        if not targets.target_fields(target) and len(others) == 1:
            return cls(None, text, url, screen)
        if others:
            raise InvalidInput("Wait for one thing: a target, a text, a url or a screen.", code="TWO_TARGETS")
        return cls(targets.parse_target(target))

    def __str__(self) -> str:
        named = {"text": self.text, "url": self.url, "screen": self.screen}
        return str(self.target or next(f"{key} {value!r}" for key, value in named.items() if value is not None))


async def wait_for(context: PageContext, attempt: Attempt, condition: WaitCondition, state: str) -> None:
    """Takes snapshots until the condition is met, or is no longer met with state `hidden`."""
    if condition.target is not None:
        attempt.target = condition.target.as_target
    timeout_s = attempt.timeout_s or context.options.timeout_s
    until = time.monotonic() + timeout_s
    while True:
        attempt.before = attempt.after = snapshot = await context.take_snapshot()
        if await _is_met(context, condition, snapshot) == (state == "visible"):
            return
        if time.monotonic() >= until:
            problem = "was still visible" if state == "hidden" else "was not visible"
            page = f"{snapshot.observation.screen} ({snapshot.observation.url[:200]})"
            raise ActionFailed(f"{condition} {problem} after {timeout_s:g} s; the page is {page}.", code="TIMEOUT")
        await asyncio.sleep(POLL_S)


async def _is_met(context: PageContext, condition: WaitCondition, snapshot: PageSnapshot) -> bool:
    if condition.target is not None:
        return await _is_visible(context, condition.target, snapshot)
    if condition.text is not None:
        text = " ".join(condition.text.split())
        return any(text in each for each in snapshot.texts())
    if condition.url is not None:
        return condition.url in snapshot.observation.url or fnmatchcase(snapshot.observation.url, condition.url)
    return snapshot.observation.screen == condition.screen


async def _is_visible(context: PageContext, target: TargetSpec, snapshot: PageSnapshot) -> bool:
    try:
        return await targets.locate(context, target, snapshot) is not None
    except ActionFailed as error:
        if error.code == "AMBIGUOUS_TARGET":  # several elements are visible
            return True
        raise

"""Doing something to one element: found first, then used as a person would; errors say what stood in the way."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, AthandError, InvalidInput
from athand.flows.browser import byhand, targets
from athand.flows.browser.context import PageContext, gone
from athand.flows.browser.merge_ax import Element
from athand.flows.browser.snapshot import PageSnapshot
from athand.flows.browser.targets import TargetSpec
from athand.flows.model import PriorKnowledge

if TYPE_CHECKING:
    from playwright.async_api import Locator

_EVERY_S = 0.1
_REF_LIMIT_S = 0.5  # what a ref means was there a moment ago
_ONE_BY_ONE = 200  # longer texts are put in at once
_PICKED = ("date", "time", "datetime-local", "month", "week", "color", "range")


@dataclass(slots=True)
class Attempt:
    """One call of a tool while it happens; what is known of it when it fails is recorded too."""

    verb: str
    given: dict[str, Any] = field(default_factory=dict)
    target: dict[str, str] = field(default_factory=dict)
    before: PageSnapshot | None = None
    after: PageSnapshot | None = None
    notes: list[str] = field(default_factory=list)
    timeout_s: float | None = None  # else as the browser was launched
    begun: float | None = None  # when it really began, by the clock of time.perf_counter
    screenshot: str | None = None
    knowledge: PriorKnowledge | None = None  # that was shown


@dataclass(frozen=True, slots=True)
class LocatedElement:
    """An element ready to be used: by Playwright, or by hand where Playwright cannot reach it."""

    element: Element | None
    locator: "Locator | None"


async def act(
    context: PageContext, attempt: Attempt, target: TargetSpec | None, use: Callable[[LocatedElement], Awaitable[None]]
) -> None:
    """Look, find the target, use it, and look at what came of it."""
    attempt.before = await context.look()
    begun = time.monotonic()
    until = begun + (attempt.timeout_s or context.options.timeout_s)
    found = LocatedElement(None, None) if target is None else await find(context, attempt, target)
    tabs = len(context.pages)
    context.limit(until)
    try:
        await use(found)
    except Exception as error:
        raise await _why(context, attempt, target, error) from error
    await context.settle(begun, until)
    if len(context.pages) > tabs:
        attempt.notes.append(f"A new tab was opened: it is number {len(context.pages) - 1}; switch_tab leads there.")
    attempt.after = await context.look()


async def find(context: PageContext, attempt: Attempt, target: TargetSpec) -> LocatedElement:
    """The element that is meant, as soon as it can be seen."""
    attempt.target = target.as_target
    limit = _REF_LIMIT_S if target.kind == "a11yRef" else attempt.timeout_s or context.options.timeout_s
    until = time.monotonic() + limit
    while True:
        snapshot = attempt.before = attempt.before or await context.look()
        found = await seek(context, target, snapshot)
        if found is not None:
            attempt.target = targets.recorded(target, found.element, snapshot)
            return found
        if time.monotonic() >= until:
            raise await _missing(context, target, snapshot, limit)
        await asyncio.sleep(_EVERY_S)
        attempt.before = await context.look()


async def seek(context: PageContext, target: TargetSpec, snapshot: PageSnapshot) -> LocatedElement | None:
    """The element that is meant in what is seen now; None if it cannot be seen."""
    if target.kind == "selector":
        return await _by_selector(context, target, snapshot)
    element = _by_ref(context, target, snapshot) if target.kind == "a11yRef" else None
    if target.kind != "a11yRef":
        element = targets.one_visible(targets.matching(target, snapshot), target)
    if element is None or not element.visible:
        return None
    return LocatedElement(
        element, await targets.locator(context.page, element, snapshot, context.profile.test_id_attribute)
    )


def _by_ref(context: PageContext, target: TargetSpec, snapshot: PageSnapshot) -> Element | None:
    shown = context.shown
    seen = shown.snapshot.by_ref(target.value) if shown is not None and shown.page is context.page else None
    if shown is None or seen is None:
        raise ActionFailed(
            f"There is no ref {target.value!r} in the last snapshot of this tab; refs live for one snapshot. "
            "Call describe_screen or accessibility_snapshot and use a ref of it.",
            code="UNKNOWN_REF",
        )
    if shown.snapshot.document_id != snapshot.document_id:
        raise ActionFailed(
            f"The page has navigated since {target.value!r} was seen; it is at {snapshot.observation.url[:200]} now. "
            "Call describe_screen again.",
            code="NAVIGATED",
        )
    return targets.again(seen, snapshot)


async def _by_selector(context: PageContext, target: TargetSpec, snapshot: PageSnapshot) -> LocatedElement | None:
    found = [each for frame in context.page.frames for each in await _visible(frame.locator(target.value), target)]
    if len(found) > 1:
        raise targets.ambiguous(target, len(found))
    return LocatedElement(await _element_of(found[0], context, snapshot), found[0]) if found else None


async def _visible(found: "Locator", target: TargetSpec) -> "list[Locator]":
    from playwright.async_api import Error

    try:
        return [each for each in await found.all() if await each.is_visible()]
    except Error as error:
        if "selector" in str(error).lower() or "Unknown engine" in str(error):
            raise InvalidInput(f"{target} cannot be understood: {_reason(error)}", code="BAD_SELECTOR") from error
        raise


async def _element_of(found: "Locator", context: PageContext, snapshot: PageSnapshot) -> Element | None:
    """Which element of the snapshot a locator has found: the one whose box is where it is."""
    box = await found.bounding_box()
    own = await found.get_attribute(context.profile.test_id_attribute)
    same = [each for each in snapshot.elements if own and each.test_id == own]
    if len(same) == 1 or box is None:
        return same[0] if same else None
    session = await context.session()
    for each in same or [each for each in snapshot.elements if each.visible]:
        _, _, width, height = each.document.box(each.node) or (0, 0, 0, 0)
        if abs(width - box["width"]) < 1 and abs(height - box["height"]) < 1:
            quad = await byhand.quad(session, each.backend_id)
            if quad and abs(quad[0] - box["x"]) < 1 and abs(quad[1] - box["y"]) < 1:
                return each
    return None


async def click(context: PageContext, found: LocatedElement) -> None:
    """One click in the middle."""
    if found.locator is not None:
        await found.locator.click()
    elif found.element is not None:
        await byhand.click(context.page, await context.session(), found.element)


async def type_text(context: PageContext, found: LocatedElement, text: str, *, clear: bool, submit: bool) -> None:
    """Type key by key, as pages that listen expect it; what has no keys, or is long, is put in at once."""
    if found.locator is None:
        if found.element is not None:
            await byhand.focus(await context.session(), found.element)
            await byhand.type_text(context.page, text, clear=clear)
    elif found.element is not None and found.element.attributes.get("type") in _PICKED:
        await _fill_in(found.locator, text)
    elif clear and len(text) > _ONE_BY_ONE:
        await found.locator.fill(text)
    else:
        await (found.locator.fill("") if clear else found.locator.press("End"))
        await found.locator.press_sequentially(text)
    if submit:
        await context.page.keyboard.press("Enter")


async def _fill_in(locator: "Locator", text: str) -> None:
    """Set a field that people use a picker for; it drops what it does not understand."""
    await locator.fill(text)
    if text and not await locator.input_value():
        raise ActionFailed(f"The field does not take {text!r}. Dates are 2026-03-31, times 14:05.", code="BAD_VALUE")


async def press(context: PageContext, found: LocatedElement, key: str) -> None:
    """Press a key, or keys held together, on an element or where the focus is."""
    if found.locator is not None:
        await found.locator.press(key)
        return
    if found.element is not None:
        await byhand.focus(await context.session(), found.element)
    await context.page.keyboard.press(key)


async def select(context: PageContext, found: LocatedElement, value: str, *, by_label: bool) -> None:
    """Choose in a list: by value or label, whatever fits, or by its label alone."""
    if found.locator is None:
        if found.element is not None:
            await byhand.choose(context.page, await context.session(), found.element, value)
    elif by_label:
        await found.locator.select_option(label=value)
    else:
        await found.locator.select_option(value)


async def _missing(context: PageContext, target: TargetSpec, snapshot: PageSnapshot, limit: float) -> AthandError:
    hidden = targets.matching(target, snapshot) if target.kind in ("testId", "role") else []
    where = f"on {snapshot.observation.screen} ({snapshot.observation.url[:200]})"
    if hidden or (target.kind == "selector" and await context.page.locator(target.value).count()):
        said = f"There is {target} {where}, but it did not become visible within {limit:g} s."
        return ActionFailed(f"{said} Do what opens it first.", code="TARGET_NOT_VISIBLE")
    said = f"There is no {target} {where}; waited {limit:g} s."
    return ActionFailed(f"{said} Call describe_screen to see what there is.", code="TARGET_NOT_FOUND")


async def _why(context: PageContext, attempt: Attempt, target: TargetSpec | None, error: Exception) -> BaseException:
    """The error to raise for one of Playwright's: what stood in the way."""
    from playwright.async_api import Error

    if not isinstance(error, Error) or context.is_gone or not context.pages:
        return error
    said = str(error)
    for sign, code, advice in _SIGNS:
        if sign in said:
            return ActionFailed(f"{target or attempt.verb}: {advice}", code=code)
    if "Unknown key" in said:
        known = "Use names such as Enter, Tab, ArrowDown, a."
        return InvalidInput(f"There is no key {attempt.given.get('key')!r}. {known}", code="UNKNOWN_KEY")
    return translated(error, context)


_SIGNS = (
    ("is not a <select>", "NOT_A_SELECT", "this is no list of the browser's own. Click it, then click the choice."),
    ("did not find some options", "OPTION_NOT_FOUND", "there is no such choice in the list."),
    ("Element is not an <input>", "TARGET_NOT_EDITABLE", "text cannot be typed here. Choose a text field."),
    ("cannot be filled", "TARGET_NOT_EDITABLE", "this kind of field takes no text. Click or select instead."),
    ("Malformed value", "BAD_VALUE", "the field does not take this. Dates are 2026-03-31, times 14:05."),
    ("intercepts pointer events", "TARGET_COVERED", "something lies over it. Close the dialog or menu that is open."),
    ("element is not enabled", "TARGET_NOT_ENABLED", "it is disabled. Do first what enables it."),
    ("element is not editable", "TARGET_NOT_ENABLED", "it is read-only. Do first what enables it."),
    ("element is not visible", "TARGET_NOT_VISIBLE", "it cannot be seen. Do what shows it first."),
    ("was detached", "TARGET_NOT_FOUND", "it was taken away meanwhile. Call describe_screen to see what there is."),
)


def translated(error: Exception, context: PageContext) -> AthandError:
    """Any error of Playwright as one of ours."""
    from playwright.async_api import TimeoutError as TookTooLong

    if context.is_gone or not context.pages or "has been closed" in str(error) or "crashed" in str(error):
        return gone()
    if isinstance(error, TookTooLong):
        return ActionFailed(f"It took longer than {context.options.timeout_s:g} s: {_reason(error)}", code="TIMEOUT")
    return ActionFailed(f"The browser said: {_reason(error)}", code="BROWSER_ERROR")


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__

"""Targets of actions: parses a target, finds its element on the page, and builds a Playwright locator for it."""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, AthandError, InvalidInput
from athand.flows.browser import raw_input
from athand.flows.browser.context import PageContext, first_line
from athand.flows.browser.merge_ax import MAX_NAME, PageElement
from athand.flows.browser.recorder import Attempt
from athand.flows.browser.snapshot import PageSnapshot
from athand.inputs import check_text

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, FrameLocator, Locator, Page

POLL_S = 0.1
_KEYS = {"test_id": "testId", "selector": "selector", "ref": "a11yRef", "role": "role", "name": "name"}
_KINDS = "a test id, a selector, a ref, or a role and a name"
_REF_TIMEOUT_S = 0.5  # the element of a ref was on the page a moment ago
_CSS_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A target as given: of one kind, with the value of that kind."""

    kind: str  # testId, selector, a11yRef or role
    value: str
    name: str = ""  # with a role

    @property
    def as_target(self) -> dict[str, str]:
        """The target as it is recorded."""
        return {self.kind: self.value, **({"name": self.name} if self.kind == "role" else {})}

    def __str__(self) -> str:
        if self.kind == "role":
            return f'{self.value} "{self.name}"'
        labels = {"testId": "test id", "a11yRef": "ref"}
        return f"{labels.get(self.kind, self.kind)} {self.value!r}"


@dataclass(frozen=True, slots=True)
class LocatedElement:
    """An element ready for use: with a locator, or without one where only raw input can reach it."""

    element: PageElement | None
    locator: "Locator | ElementHandle | None"


def target_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a target by their recorded names, from keywords and from `target={…}`."""
    inner = given.get("target") or {}
    if not isinstance(inner, Mapping):
        raise InvalidInput(
            f"target must be a dictionary such as {{'testId': 'send'}}, not {inner!r}.", code="NO_TARGET"
        )
    fields = {_KEYS.get(key, key): value for key, value in {**given, **inner}.items() if key != "target"}
    if unknown := sorted(set(fields) - set(_KEYS.values())):
        raise InvalidInput(f"A target has no field {', '.join(unknown)}. Known: {', '.join(_KEYS)}.")
    return {key: value for key, value in fields.items() if value is not None}


def parse_target(given: Mapping[str, Any]) -> TargetSpec:
    """Parses exactly one target; raises InvalidInput for none and for several."""
    fields = target_fields(given)
    kinds = [kind for kind in ("testId", "selector", "a11yRef", "role") if kind in fields]
    if len(kinds) > 1:
        raise InvalidInput(
            f"This names {len(kinds)} targets: {', '.join(kinds)}. Give one of: {_KINDS}.", code="TWO_TARGETS"
        )
    if not kinds or (kinds == ["role"]) != ("name" in fields):
        only = f"Only {', '.join(fields)} was given. " if fields else ""
        raise InvalidInput(f"This action needs a target. {only}Give {_KINDS}.", code="NO_TARGET")
    for key, value in fields.items():
        check_text(key, value, longest=10_000)
    return TargetSpec(kinds[0], fields[kinds[0]], " ".join(fields.get("name", "").split()))


async def find_element(context: PageContext, attempt: Attempt, target: TargetSpec) -> LocatedElement:
    """Waits until the target is visible and returns its element; raises when the timeout has passed."""
    attempt.target = target.as_target
    timeout_s = _REF_TIMEOUT_S if target.kind == "a11yRef" else attempt.timeout_s or context.options.timeout_s
    until = time.monotonic() + timeout_s
    while True:
        snapshot = attempt.before = attempt.before or await context.take_snapshot()
        located = await locate(context, target, snapshot)
        if located is not None:
            attempt.target = describe_target(target, located.element, snapshot)
            return located
        if time.monotonic() >= until:
            raise await _not_found_error(context, target, snapshot, timeout_s)
        await asyncio.sleep(POLL_S)
        attempt.before = await context.take_snapshot()


async def locate(context: PageContext, target: TargetSpec, snapshot: PageSnapshot) -> LocatedElement | None:
    """The visible element of a target in a snapshot; None if there is none."""
    if target.kind == "selector":
        return await _locate_selector(context, target, snapshot)
    if target.kind == "a11yRef":
        element = _find_ref(context, target, snapshot)
    else:
        element = _pick_visible(_match_elements(target, snapshot), target)
    if element is None or not element.visible:
        return None
    return LocatedElement(element, await _build_locator(context, element, snapshot))


def describe_target(target: TargetSpec, element: PageElement | None, snapshot: PageSnapshot) -> dict[str, str]:
    """The target as it is recorded: as given, with test id, role and name, or a selector to find it without a ref."""
    fields = target.as_target
    if element is None:
        return fields
    if element.test_id:
        fields.setdefault("testId", element.test_id)
    if element.name and element.role:
        fields |= {"role": element.role, "name": element.name}
    is_reachable = not element.document.is_in_closed_shadow(element.node)
    if not _is_unique(element, snapshot) and "selector" not in fields and is_reachable:
        fields["selector"] = element.document.css_path(element.node)
    return fields


def css_string(text: str) -> str:
    """A text as a quoted CSS string, with quotes, backslashes and control characters escaped."""
    return '"' + _CSS_ESCAPED.sub(lambda match: f"\\{ord(match[0]):x} ", text) + '"'


def _match_elements(target: TargetSpec, snapshot: PageSnapshot) -> list[PageElement]:
    """The elements with this test id, or this role and name."""
    if target.kind == "testId":
        return [each for each in snapshot.elements if each.test_id == target.value]
    return [each for each in snapshot.elements if _role_and_name(each) == (target.value, target.name[:MAX_NAME])]


def _pick_visible(elements: Sequence[PageElement], target: TargetSpec) -> PageElement | None:
    """The only visible element; raises AMBIGUOUS_TARGET for several."""
    visible = [each for each in elements if each.visible]
    if len(visible) > 1:
        raise _ambiguous_error(target, len(visible))
    return visible[0] if visible else None


def _find_ref(context: PageContext, target: TargetSpec, snapshot: PageSnapshot) -> PageElement | None:
    last = context.ref_snapshot
    seen = last.snapshot.by_ref(target.value) if last is not None and last.page is context.page else None
    if last is None or seen is None:
        raise ActionFailed(
            f"There is no ref {target.value!r} in the last snapshot of this tab; refs live for one snapshot. "
            "Call describe_screen or accessibility_snapshot and use a ref of it.",
            code="UNKNOWN_REF",
        )
    if last.snapshot.document_id != snapshot.document_id:
        raise ActionFailed(
            f"The page has navigated since {target.value!r} was seen; it is at {snapshot.observation.url[:200]} now. "
            "Call describe_screen again.",
            code="NAVIGATED",
        )
    return _find_again(seen, snapshot)


def _find_again(seen: PageElement, snapshot: PageSnapshot) -> PageElement | None:
    """The same element in a later snapshot: by a unique test id, by its node, or by a unique role and name."""
    same_id = [each for each in snapshot.elements if seen.test_id and each.test_id == seen.test_id]
    if len(same_id) == 1:
        return same_id[0]
    same_node = [each for each in snapshot.elements if each.backend_id == seen.backend_id and each.tag == seen.tag]
    same_name = [each for each in snapshot.elements if seen.name and _role_and_name(each) == _role_and_name(seen)]
    return same_node[0] if same_node else same_name[0] if len(same_name) == 1 else None


async def _locate_selector(context: PageContext, target: TargetSpec, snapshot: PageSnapshot) -> LocatedElement | None:
    frames = context.page.frames
    visible = [each for frame in frames for each in await _visible_locators(frame.locator(target.value), target)]
    if len(visible) > 1:
        raise _ambiguous_error(target, len(visible))
    return LocatedElement(await _match_locator(visible[0], context, snapshot), visible[0]) if visible else None


async def _visible_locators(locator: "Locator", target: TargetSpec) -> "list[Locator]":
    from playwright.async_api import Error

    try:
        return [each for each in await locator.all() if await each.is_visible()]
    except Error as error:
        if "selector" in str(error).lower() or "Unknown engine" in str(error):
            reason = first_line(error)[:300]
            raise InvalidInput(f"{target} is not a valid selector: {reason}", code="BAD_SELECTOR") from error
        raise


async def _match_locator(locator: "Locator", context: PageContext, snapshot: PageSnapshot) -> PageElement | None:
    """The element of the snapshot that a locator has found: by a unique test id, or by its box on the page."""
    box = await locator.bounding_box()
    test_id = await locator.get_attribute(context.profile.test_id_attribute)
    same_id = [each for each in snapshot.elements if test_id and each.test_id == test_id]
    if len(same_id) == 1 or box is None:
        return same_id[0] if same_id else None
    session = await context.cdp_session()
    for each in same_id or [each for each in snapshot.elements if each.visible]:
        _, _, width, height = each.document.bounds(each.node) or (0, 0, 0, 0)
        if abs(width - box["width"]) < 1 and abs(height - box["height"]) < 1:
            quad = await raw_input.content_quad(session, each)
            if quad and abs(quad[0] - box["x"]) < 1 and abs(quad[1] - box["y"]) < 1:
                return each
    return None


async def _build_locator(context: PageContext, element: PageElement, snapshot: PageSnapshot) -> "Locator | None":
    """A locator that finds this element alone: by test id, role and name, or CSS path; None in a closed shadow root."""
    if element.document.is_in_closed_shadow(element.node):
        return None
    scope: Page | FrameLocator = context.page
    for frame in element.document.frame_path:
        scope = scope.frame_locator(frame)
    siblings = [each for each in snapshot.elements if each.document is element.document]
    locators: list[Locator] = []
    if element.test_id and sum(each.test_id == element.test_id for each in siblings) == 1:
        locators.append(scope.locator(f"[{context.profile.test_id_attribute}={css_string(element.test_id)}]"))
    elif element.name and sum(_role_and_name(each) == _role_and_name(element) for each in siblings) == 1:
        locators.append(scope.get_by_role(element.role, name=element.name, exact=True))  # type: ignore[arg-type]
    locators.append(scope.locator(element.document.css_path(element.node)))
    for locator in locators:
        if await locator.count() == 1:
            return locator
    return None


def _is_unique(element: PageElement, snapshot: PageSnapshot) -> bool:
    """Whether no other element has its test id, or its role and name."""
    by_id = [each for each in snapshot.elements if element.test_id and each.test_id == element.test_id]
    by_name = [each for each in snapshot.elements if element.name and _role_and_name(each) == _role_and_name(element)]
    return len(by_id) == 1 or len(by_name) == 1


def _role_and_name(element: PageElement) -> tuple[str, str]:
    return element.role, element.name


def _ambiguous_error(target: TargetSpec, count: int) -> ActionFailed:
    return ActionFailed(
        f"There are {count} visible elements for {target}. Use a ref of a snapshot, or a narrower selector.",
        code="AMBIGUOUS_TARGET",
    )


async def _not_found_error(
    context: PageContext, target: TargetSpec, snapshot: PageSnapshot, timeout_s: float
) -> AthandError:
    hidden = _match_elements(target, snapshot) if target.kind in ("testId", "role") else []
    page = f"on {snapshot.observation.screen} ({snapshot.observation.url[:200]})"
    if hidden or (target.kind == "selector" and await context.page.locator(target.value).count()):
        text = f"There is {target} {page}, but it did not become visible within {timeout_s:g} s."
        return ActionFailed(f"{text} First do what shows it.", code="TARGET_NOT_VISIBLE")
    text = f"There is no {target} {page}; waited {timeout_s:g} s."
    return ActionFailed(f"{text} Call describe_screen to see what is there.", code="TARGET_NOT_FOUND")

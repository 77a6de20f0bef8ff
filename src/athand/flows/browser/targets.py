"""What an action is meant for: exactly one way of saying it, and the element it leads to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, InvalidInput
from athand.flows.browser.merge_ax import Element
from athand.flows.browser.snapshot import PageSnapshot
from athand.inputs import check_text

if TYPE_CHECKING:
    from playwright.async_api import FrameLocator, Locator, Page

NAMES = {"test_id": "testId", "selector": "selector", "ref": "a11yRef", "role": "role", "name": "name"}
_WAYS = "a test id, a selector, a ref, or a role and a name"
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f]')


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A target as it was given: of one kind, with what that kind needs."""

    kind: str  # testId, selector, a11yRef or role
    value: str
    name: str = ""  # beside a role

    @property
    def as_target(self) -> dict[str, str]:
        """As it is recorded."""
        return {self.kind: self.value, **({"name": self.name} if self.kind == "role" else {})}

    def __str__(self) -> str:
        words = {"testId": "test id", "a11yRef": "ref"}
        return (
            f'{self.value} "{self.name}"'
            if self.kind == "role"
            else f"{words.get(self.kind, self.kind)} {self.value!r}"
        )


def parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said about the target, by its recorded names, from keywords and from `target={…}`."""
    inner = given.get("target") or {}
    if not isinstance(inner, Mapping):
        raise InvalidInput(
            f"target must be a dictionary such as {{'testId': 'send'}}, not {inner!r}.", code="NO_TARGET"
        )
    said = {NAMES.get(key, key): value for key, value in {**given, **inner}.items() if key != "target"}
    if unknown := sorted(set(said) - set(NAMES.values())):
        raise InvalidInput(f"A target has no {', '.join(unknown)}. Known: {', '.join(NAMES)}.")
    return {key: value for key, value in said.items() if value is not None}


def wanted(given: Mapping[str, Any]) -> TargetSpec:
    """The one target that was given, or an error that says there is none, or more than one."""
    said = parts(given)
    kinds = [kind for kind in ("testId", "selector", "a11yRef", "role") if kind in said]
    if len(kinds) > 1:
        raise InvalidInput(
            f"This names {len(kinds)} targets: {', '.join(kinds)}. Give one of: {_WAYS}.", code="TWO_TARGETS"
        )
    if not kinds or (kinds == ["role"]) != ("name" in said):
        known = f"There is only {', '.join(said)}. " if said else ""
        raise InvalidInput(f"This action needs a target. {known}Give {_WAYS}.", code="NO_TARGET")
    for key, value in said.items():
        check_text(key, value, longest=10_000)
    return TargetSpec(kinds[0], said[kinds[0]], " ".join(said.get("name", "").split()))


def matching(target: TargetSpec, snapshot: PageSnapshot) -> list[Element]:
    """The elements of a snapshot with this test id, or this role and name."""
    if target.kind == "testId":
        return [each for each in snapshot.elements if each.test_id == target.value]
    longest = 100  # as the observation cuts them
    return [each for each in snapshot.elements if (each.role, each.name) == (target.value, target.name[:longest])]


def again(seen: Element, snapshot: PageSnapshot) -> Element | None:
    """The same element in a later snapshot: by its own test id, by itself, or by a role and name of its own."""
    same_id = [each for each in snapshot.elements if seen.test_id and each.test_id == seen.test_id]
    if len(same_id) == 1:
        return same_id[0]
    itself = [each for each in snapshot.elements if each.backend_id == seen.backend_id and each.tag == seen.tag]
    alike = [each for each in snapshot.elements if seen.name and (each.role, each.name) == (seen.role, seen.name)]
    return itself[0] if itself else alike[0] if len(alike) == 1 else None


def one_visible(found: Sequence[Element], target: TargetSpec) -> Element | None:
    """The one that can be seen; several are an error, none is not yet one."""
    visible = [each for each in found if each.visible]
    if len(visible) > 1:
        raise ambiguous(target, len(visible))
    return visible[0] if visible else None


def ambiguous(target: TargetSpec, count: int) -> ActionFailed:
    """The error of a target that means several elements."""
    return ActionFailed(
        f"There are {count} visible elements for {target}. Use a ref of a snapshot, or a narrower selector.",
        code="AMBIGUOUS_TARGET",
    )


def recorded(target: TargetSpec, element: Element | None, snapshot: PageSnapshot) -> dict[str, str]:
    """What was used, and what it was at that moment; enough to find the element without a ref."""
    known = target.as_target
    if element is None:
        return known
    if element.test_id:
        known.setdefault("testId", element.test_id)
    if element.name and element.role:
        known |= {"role": element.role, "name": element.name}
    if not _is_own(element, snapshot) and "selector" not in known and not element.document.is_closed(element.node):
        known["selector"] = element.document.css(element.node)
    return known


def _is_own(element: Element, snapshot: PageSnapshot) -> bool:
    """Whether its test id, or its role and name, are those of no other element."""
    by_id = [each for each in snapshot.elements if element.test_id and each.test_id == element.test_id]
    by_name = [each for each in snapshot.elements if element.name and _named(each) == _named(element)]
    return len(by_id) == 1 or len(by_name) == 1


def _named(element: Element) -> tuple[str, str]:
    return element.role, element.name


async def locator(page: "Page", element: Element, snapshot: PageSnapshot, attribute: str) -> "Locator | None":
    """How Playwright finds the element: by what it is called if that is unique, else by its place; None if not."""
    if element.document.is_closed(element.node):
        return None
    scope: Page | FrameLocator = page
    for frame in element.document.frame_path:
        scope = scope.frame_locator(frame)
    here = [each for each in snapshot.elements if each.document is element.document]
    ways: list[Locator] = []
    if element.test_id and sum(each.test_id == element.test_id for each in here) == 1:
        ways.append(scope.locator(f"[{attribute}={css_string(element.test_id)}]"))
    elif element.name and sum(_named(each) == _named(element) for each in here) == 1:
        ways.append(scope.get_by_role(element.role, name=element.name, exact=True))  # type: ignore[arg-type]
    ways.append(scope.locator(element.document.css(element.node)))
    for way in ways:
        if await way.count() == 1:
            return way
    return None


def css_string(text: str) -> str:
    """A text as CSS writes it, whatever is in it."""
    return '"' + _TO_ESCAPE.sub(lambda found: f"\\{ord(found[0]):x} ", text) + '"'

"""Looking without touching: waiting for something, pictures, and a part of the accessibility tree."""

import asyncio
import os
import time
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from athand.errors import ActionFailed, InvalidInput
from athand.flows.browser import actions, targets
from athand.flows.browser.actions import Attempt
from athand.flows.browser.context import PageContext
from athand.flows.browser.dom import Document
from athand.flows.browser.merge_ax import Element
from athand.flows.browser.snapshot import PageSnapshot
from athand.flows.browser.targets import TargetSpec
from athand.inputs import check_name

STATES = ("visible", "hidden")
_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class WaitCondition:
    """What is waited for: one of a target, a text, an address, a screen."""

    target: TargetSpec | None = None
    text: str | None = None
    url: str | None = None
    screen: str | None = None

    @classmethod
    def checked(
        cls, target: Mapping[str, Any], text: str | None, url: str | None, screen: str | None
    ) -> "WaitCondition":
        """The one thing that was named."""
        others = [each for each in (text, url, screen) if each is not None]
        if not targets.parts(target) and len(others) == 1:
            return cls(None, text, url, screen)
        if others:
            raise InvalidInput("Wait for one thing: a target, a text, a url or a screen.", code="TWO_TARGETS")
        return cls(targets.wanted(target))

    def __str__(self) -> str:
        named = {"text": self.text, "url": self.url, "screen": self.screen}
        return str(self.target or next(f"{key} {value!r}" for key, value in named.items() if value is not None))


async def wait(context: PageContext, attempt: Attempt, awaited: WaitCondition, state: str) -> None:
    """Look again and again, until it is there, or no longer."""
    if awaited.target is not None:
        attempt.target = awaited.target.as_target
    limit = attempt.timeout_s or context.options.timeout_s
    until = time.monotonic() + limit
    while True:
        attempt.before = attempt.after = snapshot = await context.look()
        if await _is_there(context, awaited, snapshot) == (state == "visible"):
            return
        if time.monotonic() >= until:
            said = "was still there" if state == "hidden" else "was not to be seen"
            place = f"{snapshot.observation.screen} ({snapshot.observation.url[:200]})"
            raise ActionFailed(f"{awaited} {said} after {limit:g} s; the page is {place}.", code="TIMEOUT")
        await asyncio.sleep(_EVERY_S)


async def _is_there(context: PageContext, awaited: WaitCondition, snapshot: PageSnapshot) -> bool:
    if awaited.target is not None:
        return await _is_seen(context, awaited.target, snapshot)
    if awaited.text is not None:
        wanted = " ".join(awaited.text.split())
        return any(wanted in each for each in snapshot.texts())
    if awaited.url is not None:
        return awaited.url in snapshot.observation.url or fnmatchcase(snapshot.observation.url, awaited.url)
    return snapshot.observation.screen == awaited.screen


async def _is_seen(context: PageContext, target: TargetSpec, snapshot: PageSnapshot) -> bool:
    try:
        return await actions.seek(context, target, snapshot) is not None
    except ActionFailed as error:
        if error.code == "AMBIGUOUS_TARGET":  # several are there
            return True
        raise


def nodes_inside(snapshot: PageSnapshot, root: Element | None) -> tuple[Mapping[str, Any], ...]:
    """The nodes of an element and of what is in it, frames and shadow roots included."""
    if root is None:
        raise ActionFailed("What is inside this element cannot be told. Name it by a test id.", code="TARGET_NOT_FOUND")
    within = {root.node, *root.document.below(root.node)}
    return tuple(each.as_node() for each in snapshot.elements if each.ref and _is_in(each, root.document, within))


def _is_in(element: Element, document: Document, within: Set[int]) -> bool:
    place: tuple[Document, int] | None = (element.document, element.node)
    while place is not None and place[0] is not document:
        place = place[0].owner
    return place is not None and place[1] in within


async def picture(context: PageContext, name: str | None = None, *, full_page: bool = False) -> Path:
    """Save what can be seen in a file for the user's eyes only."""
    path = context.screenshots() / _file_name(name)
    shot = await context.page.screenshot(full_page=full_page)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(shot)
    return path


def _file_name(name: str | None) -> str:
    """A name for a picture that cannot lead anywhere else."""
    if name is None:
        return f"screen-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.png"
    check_name("name", name)
    if name != Path(name).name or name.startswith(".") or "\\" in name or ":" in name:
        raise InvalidInput(f"{name!r} must be a plain file name without folders. Set the folder with screenshots=.")
    return name if name.endswith(".png") else f"{name}.png"

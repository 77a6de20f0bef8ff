"""Waiting for what happens, not for a time: so that a test says the same on a machine of any speed."""

import asyncio
import time
from contextlib import contextmanager
from functools import partial

import pytest
from tests.waiting import PATIENCE

from athand.flows import service
from athand.flows.browser import Browser
from athand.flows.browser.context import PageContext


@contextmanager
def settled_once(has_begun):
    """An action is over no sooner than what it leads to has begun."""
    settle = PageContext.settle

    async def settled(context, since, limit):
        while not has_begun(context, since):
            await asyncio.sleep(0.02)
        await settle(context, since, limit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PageContext, "settle", settled)
        yield


def goes_to(path):
    """For `settled_once`: an action that leads to another page."""
    return lambda context, since: path in context.page.url or any(begun >= since for begun in context._pending.values())


def opens_a_tab(context, _):
    """For `settled_once`: an action that opens one."""
    return len(context.pages) > 1


def asks_for_data(browser):
    """For `settled_once`: an action whose page asks its server for something."""
    asked = []

    async def listen(context):
        context.page.on("request", lambda request: asked.append(request))

    browser._process.run(listen, PATIENCE)
    return lambda *_: asked


@contextmanager
def patient_replays():
    """Replays wait long for what comes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "replay", partial(service.replay, timeout_s=PATIENCE))
        yield


@contextmanager
def in_vain(is_all):
    """Replays wait long, but not for what is not on a page that shows all it ever will, which `is_all` can tell."""
    observe, clock = Browser.observe, _Clock()

    def observed(browser):
        seen = observe(browser)
        clock.is_over = is_all(seen)
        return seen

    with patient_replays(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Browser, "observe", observed)
        patch.setattr("athand.flows.replay.player.time", clock)
        yield


class _Clock:
    """Goes on while somebody sleeps; far when there is nothing left to wait for."""

    def __init__(self):
        self.now, self.is_over = 0.0, False

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        time.sleep(0 if self.is_over else seconds)
        self.now += 2 * PATIENCE if self.is_over else seconds


def has(name):
    """For `in_vain`: a page with an element of this test id or name."""
    return lambda seen: name in seen.visible_test_ids or any(node.get("name") == name for node in seen.a11y)

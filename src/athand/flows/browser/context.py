"""A running browser: its tabs, what each of them shows, the dialogs that came up, and whether it still lives."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, Unavailable
from athand.flows.browser import chromium
from athand.flows.browser.options import LaunchOptions
from athand.flows.browser.snapshot import LIMIT, PageSnapshot, look
from athand.flows.profiles import Profile

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Dialog, Page, Playwright, Request

_SETTLE_MIN_S, _SETTLE_MAX_S = 0.05, 1.0  # a page gets this long after an action to show what it does
_WAITED_FOR = ("document", "script", "xhr", "fetch", "stylesheet")
_PASSING = ("Execution context was destroyed", "navigat", "Frame", "not found", "No node", "detached")
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """The last snapshot that was handed out: refs are those of this one."""

    page: "Page"
    snapshot: PageSnapshot


class PageContext:
    """One Chromium with a profile of its own, used from one event loop."""

    def __init__(self, options: LaunchOptions, profile: Profile, folder: Path) -> None:
        self.options = options
        self.profile = profile
        self.folder = folder  # for the profile of the browser
        self.shown: Shown | None = None
        self.is_gone = False
        self.messages: list[str] = []  # of dialogs and crashes, all there were
        self._told = 0
        self._sessions: dict[Page, CDPSession] = {}
        self._pending: dict[Request, float] = {}
        self._page: Page | None = None
        self._playwright: Playwright | None = None
        self._context: BrowserContext | None = None

    async def start(self) -> None:
        """Start the browser with one empty tab."""
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise Unavailable(chromium.NO_PLAYWRIGHT) from error
        self._playwright = await async_playwright().start()
        extension = None if self.options.extension is None else Path(self.options.extension).resolve()
        width, height = self.options.viewport
        try:
            self._context = await self._playwright.chromium.launch_persistent_context(
                self.folder,
                executable_path=chromium.find(self.options.executable, self._playwright.chromium.executable_path),
                headless=self.options.headless,
                args=chromium.flags(extension),
                ignore_default_args=["--disable-extensions"] if extension else None,
                viewport={"width": width, "height": height},
                accept_downloads=False,
                timeout=60_000,
            )
        except Error as error:
            raise Unavailable(f"The browser did not start: {_first_line(error)}", code="LAUNCH_FAILED") from error
        self._context.set_default_timeout(self.options.timeout_s * 1000)
        self._watch()

    async def stop(self) -> None:
        """End the browser."""
        self.is_gone = True
        if self._playwright is None:
            return
        from playwright.async_api import Error

        try:
            if self._context is not None:
                with contextlib.suppress(Error):  # it may have ended already
                    await self._context.close()
        finally:
            await self._playwright.stop()

    def screenshots(self) -> Path:
        """The folder for pictures: the one that was named, or one that goes with the browser."""
        folder = Path(self.options.screenshots or self.folder.parent / "screenshots")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @property
    def pages(self) -> "list[Page]":
        """The open tabs, in the order they came."""
        return [] if self._context is None else [page for page in self._context.pages if not page.is_closed()]

    @property
    def page(self) -> "Page":
        """The tab that is used."""
        if self.is_gone or not self.pages:
            raise gone()
        if self._page is None or self._page not in self.pages:
            self._page = self.pages[-1]
        return self._page

    def use(self, page: "Page") -> None:
        """Go on with another tab."""
        self._page = page

    async def session(self, page: "Page | None" = None) -> "CDPSession":
        """The wire to a tab."""
        page = page or self.page
        if page not in self._sessions:
            self._sessions[page] = await page.context.new_cdp_session(page)
        return self._sessions[page]

    async def look(self, *, limit: int = LIMIT, keep_refs: bool = True) -> PageSnapshot:
        """What the tab shows now; a page that is just changing is looked at again."""
        from playwright.async_api import Error

        page = self.page
        for left in reversed(range(_TRIES)):
            try:
                refs = self.shown.snapshot.refs if keep_refs and self.shown and self.shown.page is page else None
                return await look(await self.session(page), self.profile, limit=limit, refs=refs)
            except Error as error:
                if self.is_gone or page.is_closed() or not left or not any(each in str(error) for each in _PASSING):
                    raise
                await asyncio.sleep(0.1)
        raise gone()

    async def show(self, *, limit: int = LIMIT) -> PageSnapshot:
        """A look that is handed out: its refs can be used until the next one."""
        snapshot = await self.look(limit=limit, keep_refs=False)
        self.shown = Shown(self.page, snapshot)
        return snapshot

    async def settle(self, since: float, until: float) -> None:
        """Wait for the page that an action asked for, as long as there is time, and for data a little."""
        from playwright.async_api import TimeoutError as TookTooLong

        await asyncio.sleep(_SETTLE_MIN_S)
        while self._is_waiting(since, until, time.monotonic()):
            await asyncio.sleep(0.02)
        if self.pages:
            with contextlib.suppress(TookTooLong):  # then what has come so far is looked at
                await self.page.wait_for_load_state("domcontentloaded")

    def _is_waiting(self, since: float, until: float, now: float) -> bool:
        asked = [request for request, begun in self._pending.items() if begun >= since]
        return (now < since + _SETTLE_MAX_S and bool(asked)) or (now < until and any(map(_is_page, asked)))

    async def title(self, page: "Page") -> str:
        """What the tab is called, without asking the page."""
        told: Mapping[str, Any] = await (await self.session(page)).send("Target.getTargetInfo")
        return str(told["targetInfo"]["title"])

    def news(self) -> list[str]:
        """The messages since this was last asked."""
        new, self._told = self.messages[self._told :], len(self.messages)
        return new

    def limit(self, until: float) -> None:
        """Playwright waits until then for anything, and a second at least."""
        self.page.set_default_timeout(max(1.0, until - time.monotonic()) * 1000)

    async def ping(self) -> None:
        """Fails if the browser does not answer."""
        await (await self.session()).send("Browser.getVersion")

    def _watch(self) -> None:
        assert self._context is not None  # noqa: S101 - it has just been made
        self._context.on("close", lambda _: setattr(self, "is_gone", True))
        self._context.on("dialog", self._answer)
        self._context.on("request", self._begun)
        self._context.on("requestfinished", self._ended)
        self._context.on("requestfailed", self._ended)
        self._context.on("page", self._watch_page)
        for page in self._context.pages:
            self._watch_page(page)

    def _watch_page(self, page: "Page") -> None:
        page.on("crash", self._crashed)
        page.on("close", self._forget)

    async def _crashed(self, page: "Page") -> None:
        self.messages.append("A page crashed and its tab was closed.")
        self.is_gone = self.is_gone or len(self.pages) <= 1
        await page.close()

    def _forget(self, page: "Page") -> None:
        self._sessions.pop(page, None)

    def _ended(self, request: "Request") -> None:
        self._pending.pop(request, None)

    def _begun(self, request: "Request") -> None:
        if request.resource_type in _WAITED_FOR:
            self._pending[request] = time.monotonic()

    async def _answer(self, dialog: "Dialog") -> None:
        """Answer at once, for a page with an open dialog does nothing else; leaving a page is always allowed."""
        from playwright.async_api import Error

        accepts = self.options.dialogs == "accept" or dialog.type == "beforeunload"
        if dialog.type != "beforeunload":
            answer = "accepted" if accepts else "dismissed"
            self.messages.append(f"The page said in a dialog ({dialog.type}): {dialog.message!r}; it was {answer}.")
        with contextlib.suppress(Error):  # the page may have gone away with it
            await (dialog.accept() if accepts else dialog.dismiss())


def _is_page(request: "Request") -> bool:
    """Whether this is the page of a tab, not of a frame in it."""
    from playwright.async_api import Error

    try:
        return request.is_navigation_request() and request.frame.parent_frame is None
    except Error:
        return False  # a new tab that is not quite there


def gone() -> ActionFailed:
    """The browser has ended by itself."""
    return ActionFailed("The browser has crashed or was closed. Launch it again.", code="BROWSER_CLOSED")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__

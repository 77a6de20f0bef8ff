"""The tabs of a running Chromium: the one in use, its snapshots, pending requests and dialogs."""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athand.errors import ActionFailed, AthandError, InvalidInput
from athand.files import private_opener
from athand.flows.browser.model import LaunchOptions, Tab, is_local
from athand.flows.browser.snapshot import DEFAULT_TEST_IDS, PageSnapshot, capture_snapshot
from athand.flows.profiles import Profile
from athand.inputs import check_name

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Dialog, Page, Request

_SETTLE_MIN_S, _SETTLE_MAX_S = 0.05, 1.0  # how long after an action its requests for data are waited for
_AWAITED_RESOURCES = ("document", "script", "xhr", "fetch", "stylesheet")
_TRANSIENT_ERRORS = ("Execution context was destroyed", "navigat", "Frame", "not found", "No node", "detached")
_SNAPSHOT_TRIES = 5


@dataclass(frozen=True, slots=True)
class RefSnapshot:
    """The last snapshot handed to the caller: refs are valid for this page and snapshot only."""

    page: "Page"
    snapshot: PageSnapshot


class PageContext:
    """The tabs of one Chromium, used from one event loop; wraps Playwright's BrowserContext."""

    def __init__(self, options: LaunchOptions, profile: Profile, screenshot_folder: Path) -> None:
        self.options = options
        self.profile = profile
        self.ref_snapshot: RefSnapshot | None = None
        self.is_closed = False
        self.messages: list[str] = []  # of dialogs and crashes since the launch
        self.allowed_origins: Set[str] | None = None  # that may get input; None for all
        self._reported_messages = 0
        self._screenshot_folder = screenshot_folder
        self._cdp_sessions: dict[Page, CDPSession] = {}
        self._pending: dict[Request, float] = {}
        self._page: Page | None = None
        self._context: BrowserContext | None = None

    def attach(self, context: "BrowserContext") -> None:
        """Uses a Playwright context that was just launched, and listens to its events."""
        self._context = context
        context.set_default_timeout(self.options.timeout_s * 1000)
        context.on("close", lambda _: setattr(self, "is_closed", True))
        context.on("dialog", self._on_dialog)
        context.on("request", self._on_request)
        context.on("requestfinished", self._on_request_end)
        context.on("requestfailed", self._on_request_end)
        context.on("page", self._on_page)
        for page in context.pages:
            self._on_page(page)

    async def close(self) -> None:
        """Closes all tabs, which ends Chromium."""
        from playwright.async_api import Error

        if self._context is not None:
            with contextlib.suppress(Error):  # it may have ended already
                await self._context.close()

    @property
    def pages(self) -> "list[Page]":
        """The open tabs, in the order they were opened."""
        return [] if self._context is None else [page for page in self._context.pages if not page.is_closed()]

    @property
    def page(self) -> "Page":
        """The tab in use."""
        if self.is_closed or not self.pages:
            raise browser_closed_error()
        if self._page is None or self._page not in self.pages:
            self._page = self.pages[-1]
        return self._page

    def use_page(self, page: "Page") -> None:
        """Makes another tab the one in use."""
        self._page = page

    async def list_tabs(self) -> tuple[Tab, ...]:
        """All tabs, in the order they were opened."""
        pages = enumerate(self.pages)
        return tuple([Tab(number, page.url, await self.title(page), page is self.page) for number, page in pages])

    async def title(self, page: "Page") -> str:
        """The title of a tab, without running a script in the page."""
        answer: Mapping[str, Any] = await (await self.cdp_session(page)).send("Target.getTargetInfo")
        return str(answer["targetInfo"]["title"])

    async def cdp_session(self, page: "Page | None" = None) -> "CDPSession":
        """The CDP session of a tab; default: the tab in use."""
        page = page or self.page
        if page not in self._cdp_sessions:
            self._cdp_sessions[page] = await page.context.new_cdp_session(page)
        return self._cdp_sessions[page]

    async def ping(self) -> None:
        """Raises if the browser does not answer."""
        await (await self.cdp_session()).send("Browser.getVersion")

    async def take_snapshot(self, *, limit: int = DEFAULT_TEST_IDS, keep_refs: bool = True) -> PageSnapshot:
        """Takes a snapshot of the tab in use; tries again while the page is changing."""
        from playwright.async_api import Error

        page = self.page
        await self._leave_local_page(page)
        last = self.ref_snapshot
        for tries_left in reversed(range(_SNAPSHOT_TRIES)):
            try:
                refs = last.snapshot.refs if keep_refs and last and last.page is page else None
                return await capture_snapshot(await self.cdp_session(page), self.profile, limit=limit, refs=refs)
            except Error as error:
                is_transient = any(each in str(error) for each in _TRANSIENT_ERRORS)
                if self.is_closed or page.is_closed() or not tries_left or not is_transient:
                    raise
                await asyncio.sleep(0.1)
        raise browser_closed_error()

    async def take_ref_snapshot(self, *, limit: int = DEFAULT_TEST_IDS, keep_refs: bool = False) -> PageSnapshot:
        """Takes a snapshot for the caller, whose refs are valid until the next one; new refs, unless they are kept."""
        snapshot = await self.take_snapshot(limit=limit, keep_refs=keep_refs)
        self.ref_snapshot = RefSnapshot(self.page, snapshot)
        return snapshot

    async def save_screenshot(self, name: str | None = None, *, full_page: bool = False) -> Path:
        """Saves a screenshot in a file that only the user can read."""
        self._screenshot_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._screenshot_folder / _screenshot_name(name)
        await self._leave_local_page(self.page)
        image = await self.page.screenshot(full_page=full_page)
        with open(path, "wb", opener=private_opener) as file:
            file.write(image)
        return path

    async def _leave_local_page(self, page: "Page") -> None:
        """Leaves a page that must not be seen, however the browser got there: by a link, a tab, an extension."""
        if self.options.local_files or not any(is_local(frame.url) for frame in page.frames):
            return
        await page.goto("about:blank")
        raise ActionFailed(
            "The page showed files of this machine or settings of the browser, and was left. Navigate elsewhere.",
            code="BAD_URL",
        )

    async def settle(self, since: float, until: float) -> None:
        """Waits for a page that an action since then navigates to, up to `until`, and shortly for its data."""
        from playwright.async_api import TimeoutError as PlaywrightTimeout

        await asyncio.sleep(_SETTLE_MIN_S)
        while self._is_loading(since, until, time.monotonic()):
            await asyncio.sleep(0.02)
        if self.pages:
            with contextlib.suppress(PlaywrightTimeout):  # the snapshot then shows what has loaded so far
                await self.page.wait_for_load_state("domcontentloaded")

    def _is_loading(self, since: float, until: float, now: float) -> bool:
        requests = [request for request, started in self._pending.items() if started >= since]
        is_waiting_for_data = now < since + _SETTLE_MAX_S and bool(requests)
        return is_waiting_for_data or (now < until and any(map(_is_page_load, requests)))

    def set_timeout(self, until: float) -> None:
        """Sets Playwright's timeout for the tab in use to end then, in a second at least."""
        self.page.set_default_timeout(max(1.0, until - time.monotonic()) * 1000)

    def take_new_messages(self) -> list[str]:
        """The messages of dialogs and crashes since the last call."""
        new, self._reported_messages = self.messages[self._reported_messages :], len(self.messages)
        return new

    def translate_error(self, error: Exception) -> AthandError:
        """Turns an error of Playwright into one of ours."""
        from playwright.async_api import TimeoutError as PlaywrightTimeout

        if self.is_closed or not self.pages or "has been closed" in str(error) or "crashed" in str(error):
            return browser_closed_error()
        if isinstance(error, PlaywrightTimeout):
            return ActionFailed(
                f"It took longer than {self.options.timeout_s:g} s: {first_line(error)[:300]}", code="TIMEOUT"
            )
        return ActionFailed(f"The browser said: {first_line(error)[:300]}", code="BROWSER_ERROR")

    def _on_page(self, page: "Page") -> None:
        page.on("crash", self._on_crash)
        page.on("close", self._on_page_close)

    def _on_page_close(self, page: "Page") -> None:
        self._cdp_sessions.pop(page, None)

    async def _on_crash(self, page: "Page") -> None:
        self.messages.append("A page crashed and its tab was closed.")
        self.is_closed = self.is_closed or len(self.pages) <= 1
        await page.close()

    def _on_request(self, request: "Request") -> None:
        if request.resource_type in _AWAITED_RESOURCES:
            self._pending[request] = time.monotonic()

    def _on_request_end(self, request: "Request") -> None:
        self._pending.pop(request, None)

    async def _on_dialog(self, dialog: "Dialog") -> None:
        """Answers at once, because an open dialog blocks the page; beforeunload dialogs are always accepted."""
        from playwright.async_api import Error

        accepts = self.options.dialogs == "accept" or dialog.type == "beforeunload"
        if dialog.type != "beforeunload":
            answer = "accepted" if accepts else "dismissed"
            self.messages.append(f"The page said in a dialog ({dialog.type}): {dialog.message!r}; it was {answer}.")
        with contextlib.suppress(Error):  # the page may be gone, and the dialog with it
            await (dialog.accept() if accepts else dialog.dismiss())


def _is_page_load(request: "Request") -> bool:
    """Whether a request loads the page of a tab, not one of a frame in it."""
    from playwright.async_api import Error

    try:
        return request.is_navigation_request() and request.frame.parent_frame is None
    except Error:
        return False  # the request of a new tab whose frame is not known yet


def browser_closed_error() -> ActionFailed:
    """The error for a browser that has crashed or was closed."""
    return ActionFailed("The browser has crashed or was closed. Launch it again.", code="BROWSER_CLOSED")


def first_line(error: Exception) -> str:
    """The first line of an error message that is not blank; the class name if there is none."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _screenshot_name(name: str | None) -> str:
    """A plain file name that ends in .png; default: one made of the time."""
    if name is None:
        return f"screen-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.png"
    check_name("name", name)
    if name != Path(name).name or name.startswith(".") or "\\" in name or ":" in name:
        raise InvalidInput(f"{name!r} must be a plain file name without folders. Set the folder with screenshots=.")
    return name if name.endswith(".png") else f"{name}.png"

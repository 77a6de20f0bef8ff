"""The web page in a real Chromium: a server in this process, a tab of the shared browser, and what it said."""

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from tests.flows.sharing import chromium_of
from tests.tools.node import package
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.http.app import ServerOptions, create_app
from athand.adapters.http.server import HttpProtocol, bind
from athand.adapters.http.sessions import create_link
from athand.adapters.http.token_registry import TokenRegistry, ensure_owner_token
from athand.adapters.operations import AppContext

SCHEMES, WIDTHS = ("light", "dark"), (320, 768, 1440)
_AXE = "axe.run(document).then(r => JSON.stringify(r.violations.map(v => [v.id, v.nodes.map(n => n.html)])))"


@dataclass
class Page:
    """A tab that is logged in, and all that a person would see in the browser's console."""

    tab: object
    url: str
    said: list = field(default_factory=list)
    asked: set = field(default_factory=set)

    def listen(self):
        self.tab.set_default_timeout(PATIENCE * 1000)
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.asked.add(request.url.split("/")[2]))

    async def open(self, path, selector="main h1"):
        await self.tab.goto(self.url + path)
        await self.tab.wait_for_selector(selector)

    async def text(self, selector="main"):
        return await self.tab.inner_text(selector)

    async def faults(self):
        """What axe finds; it comes in past the policy of the page, which stays as it is."""
        session = await self.tab.context.new_cdp_session(self.tab)
        await session.send("Runtime.evaluate", {"expression": (package("axe-core") / "axe.min.js").read_text()})
        given = {"expression": _AXE, "awaitPromise": True, "returnByValue": True}
        found = await session.send("Runtime.evaluate", given)
        return json.loads(found["result"]["value"])

    async def too_wide(self):
        """What reaches over the right edge of the window, where the page is wider than it."""
        beyond = "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth)"
        is_wider = "document.documentElement.scrollWidth > innerWidth"
        return await self.tab.evaluate(f"{is_wider} ? {beyond}.map(e => e.outerHTML.slice(0, 200)) : []")

    def check_quiet(self):
        """Nothing went wrong in the browser, no policy was violated, and nobody else was asked."""
        assert self.said == []
        assert self.asked == {self.url.split("/")[2]}


@dataclass
class Served:
    """A server on a store of its own, and the browser."""

    url: str
    folder: object
    athand: object
    chromium: object

    def see(self, act, *, token=None, **options):
        """What `act` does with a page that is logged in; then the console must be empty."""

        async def run():
            context = await self.chromium.context(**options)
            try:
                page = Page(context.pages[0], self.url)
                page.listen()
                await self._log_in(page, token)
                await act(page)
                page.check_quiet()
            finally:
                await context.close()

        return self.chromium.worker.call(lambda: asyncio.wait_for(run(), PATIENCE * 3), PATIENCE * 4)

    async def _log_in(self, page, token):
        if token is None:
            await page.open(create_link(self.folder, ""), "header")
        elif token:
            await page.open("/ui/", "#token")
            await page.tab.fill("#token", token)
            await page.tab.click("text=Log in")
            await page.tab.wait_for_selector("header")


@contextmanager
def served(folder, config, fill=lambda athand: None):
    """A server in a thread, on a store that is filled first."""
    folder.chmod(0o700)
    ensure_owner_token(folder)
    context = AppContext(lambda: Athand(str(folder / "page.db")))
    fill(context.athand)
    app = create_app(context, tokens=TokenRegistry(folder), options=ServerOptions(mcp=False))
    with bind("127.0.0.1", 0) as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        options = {"http": HttpProtocol, "ws": "none", "lifespan": "on", "log_config": None, "access_log": False}
        server = uvicorn.Server(uvicorn.Config(app, timeout_graceful_shutdown=1, **options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield Served(url, folder, context.athand, chromium_of(config))
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            context.close()

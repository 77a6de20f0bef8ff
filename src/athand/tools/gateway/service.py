"""The gateway: thread-safe functions for all servers, which run in one event loop in a thread of its own."""

import asyncio
import json
import logging
import os
import random
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from athand.cancellation import is_cancelled
from athand.errors import AthandError, InvalidInput, Unavailable
from athand.tools.model import Launch, Listing, ServerKey, ServerState
from athand.tools.relay import CallCancelled, Relay

if TYPE_CHECKING:
    from athand.tools.gateway.server import UpstreamServer

log = logging.getLogger("athand")

T = TypeVar("T")
IDLE_SECONDS, AT_ONCE = 300.0, 8
_LOOK_SECONDS = 0.25  # how often a call looks whether its caller gave up
_SHUTDOWN_SECONDS = 20.0  # for tasks that are still ending; each has a limit of its own


class Gateway:
    """Starts, connects, lists, calls and stops servers. Close it when you are done."""

    def __init__(
        self,
        launch_of: Callable[[ServerKey], Launch],
        on_listing: Callable[[ServerKey, Listing], None],
        *,
        tokens: Path | None,
        idle_seconds: float = IDLE_SECONDS,
        at_once: int = AT_ONCE,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._launch_of, self._on_listing, self._tokens = launch_of, on_listing, tokens
        self._idle_seconds, self._at_once, self._jitter = idle_seconds, at_once, jitter
        self._servers: dict[ServerKey, UpstreamServer] = {}
        self._requested: set[ServerKey] = set()  # to connect to, as soon as the event loop comes to it
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._owner = os.getpid()
        # Two pools, since reading a configuration must not wait until another server's tools are indexed.
        self._launching = ThreadPoolExecutor(4, "athand-launch")
        self._delivering = ThreadPoolExecutor(1, "athand-listing")

    def connect(self, key: ServerKey) -> None:
        """Connect in the background, and retry until it works."""

        async def start() -> None:
            self._get_server(key).connect()
            self._requested.discard(key)

        loop = self._get_loop()
        self._requested.add(key)
        asyncio.run_coroutine_threadsafe(start(), loop)

    def refresh(self, key: ServerKey, seconds: float | None = None) -> None:
        """List the tools of a server again; returns after they were delivered."""
        self._run_in_loop(lambda: self._get_server(key).refresh(seconds))

    def call(
        self,
        key: ServerKey,
        tool: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
        check: Callable[[], None] = lambda: None,
        relay: Relay | None = None,
    ) -> dict[str, Any]:
        """The result of a tool; `seconds` includes starting the server.

        `check` runs after the tools of the running server were delivered; an error it raises stops the call. What the
        server asks and tells meanwhile goes to `relay`, which can also give the call up: CallCancelled.
        """
        _check_json(arguments)
        return self._run_in_loop(lambda: self._get_server(key).call(tool, arguments, seconds, check, relay), relay)

    def wait(self, seconds: float) -> bool:
        """Wait until every requested server has been listed or has failed once; False on timeout."""

        async def wait_for_all() -> bool:
            waits = [asyncio.create_task(server.settled.wait()) for server in self._servers.values()]
            _, pending = await asyncio.wait(waits, timeout=seconds) if waits else ((), ())
            for task in pending:
                task.cancel()
            return not pending

        return self._run_in_loop(wait_for_all)

    def list_starting(self) -> set[ServerKey]:
        """The requested servers that have neither been listed nor failed yet."""
        return {*list(self._requested), *(key for key, each in list(self._servers.items()) if each.is_starting)}

    def wait_for_one(self, seconds: float) -> None:
        """Wait until one more server has been listed or has failed, or the time is over."""

        async def wait_for_first() -> None:
            waits = [asyncio.create_task(each.settled.wait()) for each in self._servers.values() if each.is_starting]
            if waits:
                await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            for task in waits:
                task.cancel()

        self._run_in_loop(wait_for_first)

    def states(self) -> dict[ServerKey, ServerState]:
        """The states of all requested servers."""
        return {key: server.shown_state for key, server in list(self._servers.items())}

    def forget(self, key: ServerKey) -> None:
        """Stop a server and drop its state."""

        async def stop() -> None:
            server = self._servers.pop(key, None)
            if server is not None:
                await server.stop()

        if key in self._servers:
            self._run_in_loop(stop)

    def login(self, key: ServerKey, *, open_page: Callable[[str], None], seconds: float = 300.0) -> None:
        """Let the user log in to a remote server in a browser, and store the tokens."""
        from athand.tools.oauth import login

        async def run() -> None:
            launch = await self._get_launch(key)
            await login(self._tokens, key, launch, open_page, seconds)
            self._get_server(key).restart()

        self._run_in_loop(run)

    def close(self) -> None:
        """Stop all servers in parallel; after that no process and no thread is left."""
        if os.getpid() != self._owner:
            return  # in a forked child the thread of the event loop does not exist
        with self._lock:
            thread, self._is_closed = self._thread, True
            self._thread = None
        if thread is not None and self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._stop_all(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
        for pool in (self._launching, self._delivering):
            pool.shutdown(cancel_futures=True)

    async def _stop_all(self) -> None:
        await asyncio.gather(*(server.stop() for server in self._servers.values()))

    def _run_in_loop(self, work: Callable[[], Coroutine[Any, Any, T]], relay: Relay | None = None) -> T:
        """Run a coroutine in the event loop and wait for its result."""

        async def run() -> T:
            return await work()

        loop = self._get_loop()
        future = asyncio.run_coroutine_threadsafe(run(), loop)
        if relay is not None:
            relay.on_cancel(future.cancel)
        while not wait((future,), _LOOK_SECONDS).done:
            if is_cancelled():
                future.cancel()
        try:
            return future.result()
        except CancelledError:
            if not self._is_closed:
                raise CallCancelled("The call was given up by its client. Its server was told so.") from None
            raise Unavailable("The gateway was closed meanwhile.") from None
        finally:
            future.cancel()

    def _get_loop(self) -> asyncio.AbstractEventLoop:
        if os.getpid() != self._owner:
            raise Unavailable("The gateway belongs to the process that was forked. Open Athand in this one, too.")
        with self._lock:
            if self._is_closed:
                raise Unavailable("The gateway is closed.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run_loop, args=(self._loop,), name="athand-gateway", daemon=True
                )
                self._thread.start()
            return self._loop

    def _run_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        from athand.tools.gateway.server import GatewayContext
        from athand.tools.gateway.timing import StartLimiter

        _silence_libraries()
        asyncio.set_event_loop(loop)
        self._context = GatewayContext(
            self._get_launch,
            self._deliver,
            self._get_auth,
            self._jitter,
            StartLimiter(self._at_once),
            self._idle_seconds,
        )
        try:
            loop.run_forever()
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(_wait_for_tasks(asyncio.all_tasks(loop)))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    def _get_server(self, key: ServerKey) -> "UpstreamServer":
        from athand.tools.gateway.server import UpstreamServer

        if key not in self._servers:
            self._servers[key] = UpstreamServer(key, self._context)
        return self._servers[key]

    async def _get_launch(self, key: ServerKey) -> Launch:
        return await asyncio.get_running_loop().run_in_executor(self._launching, self._launch_of, key)

    async def _deliver(self, key: ServerKey, listing: Listing) -> None:
        """Deliver a listing to the catalogue; Unavailable if that fails."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._delivering, self._on_listing, key, listing)
        except AthandError as error:
            raise Unavailable(f"The tools of {key[1]} could not be stored: {error}") from error
        except Exception as error:
            log.exception("The tools of %s could not be stored.", key[1])
            raise Unavailable(f"The tools of {key[1]} could not be stored.") from error

    async def _get_auth(self, key: ServerKey, launch: Launch) -> Any:
        from athand.tools.oauth import load_login

        return await load_login(self._tokens, key, launch)


def _check_json(arguments: dict[str, Any]) -> None:
    """Reject arguments that cannot be serialised: they would break the connection for all calls."""
    try:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The arguments are not JSON: {str(error)[:200]}. Nothing was called.") from error


def _silence_libraries() -> None:
    """Turn off the logging of libraries: it may contain URLs, arguments and tokens."""
    for name in ("mcp.client", "mcp.shared", "httpx2", "httpcore2"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False


async def _wait_for_tasks(tasks: "set[asyncio.Task[Any]]") -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=_SHUTDOWN_SECONDS)

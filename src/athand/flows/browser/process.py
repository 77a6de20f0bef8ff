"""A Chromium process with its event-loop thread and a temporary profile folder, which is removed at the end."""

import fcntl
import os
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from athand.errors import AthandError, Unavailable
from athand.flows.browser import chromium
from athand.flows.browser.context import PageContext, first_line
from athand.flows.browser.loop_thread import LoopThread
from athand.flows.browser.model import LaunchOptions
from athand.flows.profiles import Profile

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Playwright

T = TypeVar("T")
_OVERHEAD_S = 5.0  # added to the limit of an action for the snapshots before and after it
_START_S, _STOP_S, _PING_S = 90.0, 15.0, 5.0
_LAST_WRITES_S = 30.0  # a busy machine takes its time to end the processes of a browser
_PREFIX = "athand-browser-"
_LOCK = "owner.lock"  # locked by the process that created the folder, as long as it lives
_MAX_TEMP_PATH = 31  # Chromium puts a socket below it, and the path of a socket is limited to 103 characters


class BrowserProcess:
    """Playwright and one Chromium, from launch to close; runs work in their event loop."""

    def __init__(self, options: LaunchOptions, profile: Profile) -> None:
        remove_stale_folders()
        self._folder = ProfileFolder()
        screenshots = Path(options.screenshots or self._folder.path / "screenshots")
        self.context = PageContext(options, profile, screenshots)
        self._loop_thread = LoopThread(self._folder.path)
        self._playwright: Playwright | None = None

    def start(self) -> None:
        """Starts Chromium with one empty tab."""
        self._loop_thread.call(self._start, _START_S)

    def run(self, work: Callable[[PageContext], Awaitable[T]], timeout_s: float) -> T:
        """Runs work in the event loop and translates errors of Playwright."""
        return self._loop_thread.call(lambda: self._run(work), timeout_s + _OVERHEAD_S)

    def is_alive(self) -> bool:
        """Whether the browser answers."""
        if self.context.is_closed:
            return False
        try:
            self.run(lambda context: context.ping(), _PING_S)
        except AthandError:
            return False
        return True

    def close(self) -> None:
        """Ends browser and thread and removes the profile; may be called again."""
        if self._loop_thread.is_current:  # called by the garbage collector in the loop's thread, which cannot wait
            threading.Thread(target=self.close, name="athand-browser-end").start()
            return
        if not self._loop_thread.is_running:
            return
        try:
            self._loop_thread.call(self._stop, _STOP_S)
        except AthandError:
            pid = self._read_pid()
            if pid is not None:
                with suppress(ProcessLookupError):  # it has ended after all
                    os.kill(pid, signal.SIGKILL)  # what it might still write is deleted anyway
        self._loop_thread.stop()
        self._folder.remove()

    async def _start(self) -> None:
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise chromium.no_playwright() from error
        self._playwright = await async_playwright().start()
        try:
            self.context.attach(await self._launch_chromium(self._playwright))
        except Error as error:
            raise Unavailable(f"The browser did not start: {first_line(error)}", code="LAUNCH_FAILED") from error

    async def _launch_chromium(self, playwright: "Playwright") -> "BrowserContext":
        options = self.context.options
        extension = None if options.extension is None else Path(options.extension).resolve()
        is_headless = options.headless and extension is None  # the headless shell loads no extensions
        own = playwright.chromium.executable_path
        width, height = options.viewport
        return await playwright.chromium.launch_persistent_context(
            self._folder.profile,
            executable_path=chromium.find_executable(options.executable, own, is_headless),
            headless=options.headless,
            args=chromium.launch_flags(extension),
            ignore_default_args=["--disable-extensions"] if extension else None,
            viewport={"width": width, "height": height},
            accept_downloads=False,
            timeout=60_000,
        )

    async def _stop(self) -> None:
        self.context.is_closed = True
        if self._playwright is not None:
            try:
                await self.context.close()
            finally:
                await self._playwright.stop()

    async def _run(self, work: Callable[[PageContext], Awaitable[T]]) -> T:
        from playwright.async_api import Error

        try:
            return await work(self.context)
        except Error as error:
            raise self.context.translate_error(error) from error

    def _read_pid(self) -> int | None:
        """The process id of Chromium, which it writes into its profile; the headless shell does not."""
        lock = self._folder.profile / "SingletonLock"
        number = str(lock.readlink()).rpartition("-")[2] if lock.is_symlink() else ""
        return int(number) if number.isdigit() else _find_process(f"--user-data-dir={self._folder.profile}")


class ProfileFolder:
    """A temporary folder that only the user can read, for the profile of a browser and all it writes."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_temp_dir()))
        new = self.path / "new.lock"
        self._lock: int | None = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        new.rename(self.path / _LOCK)  # the file only appears under its name once it is locked

    @property
    def profile(self) -> Path:
        """Chromium's user data directory."""
        return self.path / "profile"

    def remove(self) -> None:
        """Removes the folder; may be called again."""
        if self._lock is not None:
            _remove_tree(self.path, _LAST_WRITES_S)
            os.close(self._lock)
            self._lock = None


def _find_process(option: str) -> int | None:
    """The first process that was started with an option, where the system lists processes as files."""
    for file in sorted(Path("/proc").glob("[0-9]*/cmdline"), key=lambda each: int(each.parent.name)):
        with suppress(OSError):  # it has ended meanwhile
            if option.encode() in file.read_bytes().split(b"\0"):
                return int(file.parent.name)
    return None


def remove_stale_folders() -> None:
    """Removes the profile folders of processes that were killed before they could do it."""
    for folder in _temp_dir().glob(f"{_PREFIX}*"):
        try:
            _remove_if_stale(folder)
        except OSError:
            continue  # its owner lives or has just created it, or another process removes it too


def _remove_if_stale(folder: Path) -> None:
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or stat.S_IMODE(facts.st_mode) != 0o700 or facts.st_uid != os.geteuid():
        return
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_tree(folder, 0.0)
    finally:
        os.close(lock)


def _remove_tree(folder: Path, seconds: float) -> None:
    """Removes a folder; tries again so long while the last process of the browser still writes into it."""
    ends_at = time.monotonic() + seconds
    shutil.rmtree(folder, ignore_errors=True)
    while folder.exists() and time.monotonic() < ends_at:
        time.sleep(0.1)
        shutil.rmtree(folder, ignore_errors=True)


def _temp_dir() -> Path:
    usual = tempfile.gettempdir()
    return Path(usual if len(usual) <= _MAX_TEMP_PATH else "/tmp")  # noqa: S108 - mkdtemp makes it safe

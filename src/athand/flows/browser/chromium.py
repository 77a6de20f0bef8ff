"""Which browser to use, how to start it quietly, and how to get one."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from athand.errors import InvalidInput, Unavailable

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge")
_PLACES = (
    "/usr/lib/chromium/chromium",
    "/snap/bin/chromium",
    "/opt/google/chrome/chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Chromium\Application\chrome.exe",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NO_PLAYWRIGHT = "Browsers need Playwright, which is not installed. Run: pip install 'athand[browser]'"
_NO_BROWSER = "No Chromium was found on this machine. Run `athand flows setup-browser`, or name one with executable=."
_INSTALL_LIMIT_S = 1800


def find(executable: str | None, own: str | None = None) -> str:
    """The browser to start: the one that was named, else Playwright's own, else what this machine has."""
    if executable:
        found = shutil.which(executable)
        if found is None:
            raise InvalidInput(f"There is no browser {executable!r} that can be started. Give the path of one.")
        return found
    known = [own or "", *(shutil.which(name) or "" for name in _NAMES), *_PLACES]
    chosen = next((path for path in known if path and Path(path).is_file()), None)
    if chosen is None:
        raise Unavailable(_NO_BROWSER)
    return chosen


def located(executable: str | None = None) -> str:
    """The browser that a launch would start, Playwright's own among them."""
    return find(executable, None if executable else _playwright_path())


def flags(extension: Path | None = None) -> list[str]:
    """What it is started with: nothing that calls home, and an unpacked extension where one is wanted."""
    wanted = list(_QUIET)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        wanted.append("--no-sandbox")  # Chromium refuses to run as root with one
    if extension is not None:
        wanted += [
            f"--disable-extensions-except={extension}",
            f"--load-extension={extension}",
            "--disable-features=DisableLoadExtensionCommandLineSwitch",
        ]
    return wanted


def install(progress: Callable[[str], None] = lambda line: None) -> str:
    """Get a browser: Playwright's own, or as root on Debian the system's; returns its path."""
    own = _playwright_path()
    failures: list[str] = []
    for command in _installers():
        progress(" ".join(command))
        failure = _run(command, progress)
        if failure is not None:
            failures.append(failure)
        elif "install" in command:
            return find(None, own)
    raise Unavailable(f"No browser could be installed. {' '.join(failures)} Install Chromium by hand.")


def _installers() -> list[Sequence[str]]:
    known: list[Sequence[str]] = [(sys.executable, "-m", "playwright", "install", "chromium")]
    if shutil.which("apt-get") and os.geteuid() == 0:
        known.append(("apt-get", "update"))  # a new machine knows of no packages yet
        known.append(("apt-get", "install", "--yes", "--no-install-recommends", "chromium"))
    return known


def _run(command: Sequence[str], progress: Callable[[str], None]) -> str | None:
    """Run an installer, passing on what it says; its last words if it failed."""
    said: list[str] = []
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quietly
    ) as process:
        for line in process.stdout or ():
            said.append(line.strip())
            progress(line.rstrip())
        code = process.wait(_INSTALL_LIMIT_S)
    return None if code == 0 else f"`{' '.join(command[-3:])}` failed with status {code}: {' '.join(said[-2:])}."


def _playwright_path() -> str:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise Unavailable(NO_PLAYWRIGHT) from error
    with sync_playwright() as playwright:
        return playwright.chromium.executable_path

"""Finds the Chromium executable, its launch flags, and installs one where there is none."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from athand.distribution import install_hint
from athand.errors import InvalidInput, Unavailable

_EXECUTABLE_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
_EXECUTABLE_PATHS = (
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
_QUIET_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NO_BROWSER = "No Chromium was found on this machine. Run `athand flows setup-browser`, or name one with executable=."
_INSTALL_TIMEOUT_S = 1800


def no_playwright() -> Unavailable:
    """The error that says which package browsers need, and how to install it."""
    return Unavailable(f"Browsers need Playwright, which is not installed. Run: {install_hint('browser')}")


def find_executable(executable: str | None, own: str | None = None) -> str:
    """The browser to start: the named one, else Playwright's own (`own`), else one of this machine."""
    if executable:
        found = shutil.which(executable)
        if found is None:
            raise InvalidInput(f"No browser {executable!r} was found that can be started. Give the path of one.")
        return found
    candidates = [own or "", *(shutil.which(name) or "" for name in _EXECUTABLE_NAMES), *_EXECUTABLE_PATHS]
    chosen = next((path for path in candidates if path and Path(path).is_file()), None)
    if chosen is None:
        raise Unavailable(_NO_BROWSER)
    return chosen


def find_launch_executable(executable: str | None = None) -> str:
    """The browser that a launch would start; asks Playwright for the path of its own."""
    return find_executable(executable, None if executable else _playwright_executable())


def launch_flags(extension: Path | None = None) -> list[str]:
    """Command-line flags: no background network traffic, and an unpacked extension if one is given."""
    flags = list(_QUIET_FLAGS)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium refuses to run as root with one
    if extension is not None:
        flags += [
            f"--disable-extensions-except={extension}",
            f"--load-extension={extension}",
            "--disable-features=DisableLoadExtensionCommandLineSwitch",
        ]
    return flags


def install_chromium(progress: Callable[[str], None] = lambda line: None) -> str:
    """Installs Playwright's Chromium, or as root on Debian the package of the system; returns its path."""
    own = _playwright_executable()
    failures: list[str] = []
    for command in _install_commands():
        progress(" ".join(command))
        failure = _run_installer(command, progress)
        if failure is not None:
            failures.append(failure)
        elif "install" in command:
            return find_executable(None, own)
    raise Unavailable(f"No browser could be installed. {' '.join(failures)} Install Chromium manually.")


def _install_commands() -> list[Sequence[str]]:
    commands: list[Sequence[str]] = [(sys.executable, "-m", "playwright", "install", "chromium")]
    if shutil.which("apt-get") and os.geteuid() == 0:
        commands.append(("apt-get", "update"))  # a new machine has no package lists yet
        commands.append(("apt-get", "install", "--yes", "--no-install-recommends", "chromium"))
    return commands


def _run_installer(command: Sequence[str], progress: Callable[[str], None]) -> str | None:
    """Runs an installer and passes its output on; returns an error text if it failed."""
    lines: list[str] = []
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        for line in process.stdout or ():
            lines.append(line.strip())
            progress(line.rstrip())
        code = process.wait(_INSTALL_TIMEOUT_S)
    return None if code == 0 else f"`{' '.join(command[-3:])}` failed with status {code}: {' '.join(lines[-2:])}."


def _playwright_executable() -> str:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise no_playwright() from error
    with sync_playwright() as playwright:
        return playwright.chromium.executable_path

"""Finds the Chromium executable, its launch flags, and installs one where there is none."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from athand.distribution import install_hint
from athand.errors import InvalidInput, Unavailable

# A Chromium that cannot have windows: it starts with half of the processor's work, and is used with a third of it.
_SHELL = "chromium-headless-shell"
_SHELL_PATHS = (f"/usr/lib/chromium/{_SHELL}",)  # before Debian's script of that name, which would stand in between
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


def check_playwright() -> None:
    """Raise Unavailable where Playwright is not installed: then no browser can be used, whatever there is."""
    if find_spec("playwright") is None:
        raise no_playwright()


def find_executable(executable: str | None, own: str | None = None, is_headless: bool = True) -> str:
    """The browser to start: the named one, else Playwright's own (`own`), else one of this machine.

    Without a window the machine's headless shell is taken, if it has one.
    """
    if executable:
        found = shutil.which(executable)
        if found is None:
            raise InvalidInput(f"No browser {executable!r} was found that can be started. Give the path of one.")
        return found
    named = [shutil.which(name) or "" for name in _EXECUTABLE_NAMES]
    shells = [*_SHELL_PATHS, shutil.which(_SHELL) or ""] if is_headless else []
    candidates = [own or "", *shells, *named, *_EXECUTABLE_PATHS]
    chosen = next((path for path in candidates if path and Path(path).is_file()), None)
    if chosen is None:
        raise Unavailable(_NO_BROWSER)
    return chosen


def find_launch_executable(executable: str | None = None) -> str:
    """The browser that a launch without a window would start; asks Playwright for the path of its own."""
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
    """Installs Playwright's Chromium, or as root on Debian the packages of the system; returns its path."""
    own = _playwright_executable()
    failures = _install(_install_commands(), progress)
    if failures is not None:
        raise Unavailable(f"No browser could be installed. {' '.join(failures)} Install Chromium manually.")
    return find_executable(None, own)


def install_headless_shell(found: str, progress: Callable[[str], None] = lambda line: None) -> str:
    """Installs the headless shell beside Debian's Chromium, as root; returns the browser to use."""
    if found != shutil.which("chromium"):
        return found  # it is the shell, or a browser of another origin
    failures = _install(_system_commands(_SHELL), progress)
    return find_executable(None) if failures is None else found


def _install_commands() -> list[Sequence[str]]:
    return [(sys.executable, "-m", "playwright", "install", "chromium"), *_system_commands("chromium", _SHELL)]


def _system_commands(*packages: str) -> list[Sequence[str]]:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return []
    return [  # a new machine has no package lists yet
        ("apt-get", "update"),
        ("apt-get", "install", "--yes", "--no-install-recommends", *packages),
    ]


def _install(commands: Sequence[Sequence[str]], progress: Callable[[str], None]) -> list[str] | None:
    """Tries one after another until one has installed something; else returns what failed."""
    failures: list[str] = []
    for command in commands:
        progress(" ".join(command))
        failure = _run_installer(command, progress)
        if failure is not None:
            failures.append(failure)
        elif "install" in command:
            return None
    return failures


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

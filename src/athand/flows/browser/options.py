"""How a browser is to be launched: checked before anything is started."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from athand.errors import InvalidInput
from athand.flows.model import DEFAULT_APP
from athand.inputs import check_choice, check_text

SCHEMES = ("http", "https", "file", "chrome-extension", "about", "data")
DIALOGS = ("dismiss", "accept")
_LONGEST_WAIT_S = 300


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What a launch may say; the session is described by the first half, the browser by the second."""

    goal: str | None = None
    flow_tags: Sequence[str] = ()
    tags: Sequence[str] = ()
    app: str = DEFAULT_APP
    app_version: str | None = None
    git: Mapping[str, Any] | None = None  # read from the working folder when it is not given
    session: str | None = None  # goes on with this one if it exists
    notes: Mapping[str, Any] | None = None  # kept with the session's launch options
    url: str | None = None
    headless: bool = True
    executable: str | None = None
    extension: str | Path | None = None  # the folder of an unpacked one
    viewport: tuple[int, int] = (1280, 720)
    timeout_s: float = 10.0
    dialogs: str = "dismiss"  # what is answered to alert, confirm and prompt
    screenshots: str | Path | None = None  # the folder they are saved in
    local_files: bool = True  # whether files of this machine may be opened as pages

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> "LaunchOptions":
        """The options, or the error that names what is wrong."""
        known = [each.name for each in fields(cls)]
        if unknown := sorted(set(given) - set(known)):
            raise InvalidInput(f"launch has no option {', '.join(unknown)}. Known: {', '.join(known)}.")
        options = cls(**given)
        if options.url is not None:
            check_url(options.url, local_files=options.local_files)
        check_choice("dialogs", options.dialogs, DIALOGS)
        check_seconds("timeout_s", options.timeout_s)
        _check_viewport(options.viewport)
        _check_extension(options.extension)
        return options

    @property
    def shown(self) -> dict[str, Any]:
        """What the session keeps of them."""
        kept = {"url": self.url, "headless": self.headless, "extension": self.extension and Path(self.extension).name}
        return {key: value for key, value in kept.items() if value is not None} | dict(self.notes or {})


def check_url(value: object, *, local_files: bool = True) -> str:
    """An address that a browser may be sent to."""
    url = check_text("url", value, longest=100_000)
    scheme = urlsplit(url.strip()).scheme.lower()
    if scheme not in SCHEMES:
        raise InvalidInput(
            f"{url[:100]!r} is no address to go to. Begin it with one of: {', '.join(SCHEMES)}.", code="BAD_URL"
        )
    if scheme == "file" and not local_files:
        raise InvalidInput("This browser opens no files of the machine. Serve them over http.", code="BAD_URL")
    return url.strip()


def check_seconds(what: str, value: object) -> float:
    """A time to wait that ends."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= _LONGEST_WAIT_S:
        raise InvalidInput(f"{what} must be a number above 0 and up to {_LONGEST_WAIT_S}, not {value!r}.")
    return float(value)


def _check_viewport(value: object) -> None:
    sizes = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(sizes) != 2 or not all(isinstance(each, int) and 1 <= each <= 10_000 for each in sizes):
        raise InvalidInput(f"viewport must be a width and a height in pixels, such as (1280, 720), not {value!r}.")


def _check_extension(value: str | Path | None) -> None:
    if value is not None and not (Path(value) / "manifest.json").is_file():
        raise InvalidInput(f"{str(value)!r} is no unpacked extension: there is no manifest.json in it.")


def git_here() -> dict[str, Any] | None:
    """Branch, commit and whether there are changes, of the folder we are in; None where it is no repository."""
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return None
    return {"branch": _git("rev-parse", "--abbrev-ref", "HEAD"), "commit": commit, "dirty": bool(_git("status", "-s"))}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=2, check=False)  # noqa: S603, S607
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

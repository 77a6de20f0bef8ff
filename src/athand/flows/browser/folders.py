"""The folder that a browser has for itself and that goes with it; those of owners that were killed are found later."""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

_PREFIX = "athand-browser-"
_LOCK = "owner.lock"  # held by the process that made the folder, as long as it lives
_LONGEST = 31  # Chromium has a socket in there, and the path of a socket may have 103 characters


class ProfileFolder:
    """A folder for the user's eyes only: the profile of a browser, and all it writes for a while."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_parent()))
        new = self.path / "new.lock"
        self._lock: int | None = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        new.rename(self.path / _LOCK)  # never to be seen without its lock

    @property
    def profile(self) -> Path:
        """Where the browser keeps what it knows."""
        return self.path / "profile"

    def remove(self) -> None:
        """Take it away; again is no harm."""
        if self._lock is not None:
            _remove(self.path)
            os.close(self._lock)
            self._lock = None


def sweep() -> None:
    """Take away the folders of processes that ended before they could do it."""
    for folder in _parent().glob(f"{_PREFIX}*"):
        try:
            _remove_if_left(folder)
        except OSError:
            continue  # its owner lives, or has just made it, or another process sweeps too


def _remove_if_left(folder: Path) -> None:
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or stat.S_IMODE(facts.st_mode) != 0o700 or facts.st_uid != os.geteuid():
        return
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Take a folder away; the last process of a browser may still be writing into it."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def _parent() -> Path:
    usual = tempfile.gettempdir()
    return Path(usual if len(usual) <= _LONGEST else "/tmp")  # noqa: S108 - mkdtemp makes it safe

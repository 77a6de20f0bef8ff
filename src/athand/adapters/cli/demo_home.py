"""The folder of the demo: a store, servers and a token of its own, made anew each time, and who is using it."""

import fcntl
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from athand.config import Settings
from athand.errors import Conflict

_LOCK = "in-use"
_PATIENCE = 20.0  # seconds that a server has to end what it is doing
_A_LOOK = 0.05


@dataclass(frozen=True, slots=True)
class Home:
    """A folder that stands for all places Athand knows: so nothing of the user's is read or written."""

    folder: Path

    @property
    def settings(self) -> Settings:
        """What holds in here, whatever the user has chosen elsewhere."""
        return Settings(home=str(self.folder))

    def environment(self, outside: Mapping[str, str]) -> dict[str, str]:
        """The same for another process."""
        kept = {name: value for name, value in outside.items() if not name.startswith("ATHAND_")}
        return kept | {"ATHAND_HOME": str(self.folder), "ATHAND_CONFIG": str(self.folder / "config.toml")}

    @contextmanager
    def taken(self) -> Iterator[int]:
        """Empty the folder, and keep all others out: for as long as we, or who was given the handle, hold it."""
        self._check_ours()
        for folder in (self.folder.parent, self.folder):  # parents=True alone would leave the first open to others
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _end_the_last(handle)
            os.ftruncate(handle, 0)
            self._empty()
            yield from self._or_nothing(handle)
        finally:
            os.close(handle)

    def _or_nothing(self, handle: int) -> Iterator[int]:
        """What was begun and not finished is taken away."""
        try:
            yield handle
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    def remove(self) -> bool:
        """End the server, if one is left, and take everything away; whether there was something."""
        if not self.folder.exists():
            return False
        with self.taken():
            shutil.rmtree(self.folder)
        return True

    def _check_ours(self) -> None:
        is_ours = (self.folder / _LOCK).is_file() and not self.folder.is_symlink()
        if os.path.lexists(self.folder) and not is_ours:
            raise Conflict(f"{self.folder} was not made by a demo. Move it away, or name another --data-dir.")

    def _empty(self) -> None:
        for each in self.folder.iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            elif each.name != _LOCK:
                each.unlink()


def note_server(handle: int, process_id: int) -> None:
    """Write down who holds the folder from now on."""
    os.pwrite(handle, str(process_id).encode(), 0)


def _end_the_last(handle: int) -> None:
    """Wait until nobody holds the folder, after a server that does was told to stop."""
    if _is_free(handle):
        return
    noted = os.pread(handle, 20, 0)
    if not noted:
        raise Conflict("Another demo is running just now. Wait until it is done, then try again.")
    _tell(int(noted), signal.SIGTERM)
    patience = time.monotonic() + _PATIENCE
    while not _is_free(handle):
        if time.monotonic() > patience:
            _tell(int(noted), signal.SIGKILL)
        time.sleep(_A_LOOK)


def _tell(process_id: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it has just ended by itself
        os.kill(process_id, what)


def _is_free(handle: int) -> bool:
    """Whether nobody else holds the folder; then we do."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

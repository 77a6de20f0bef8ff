"""The files of hooks in the data folder: what each session was told, and a log of what went wrong."""

import hashlib
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from athand.files import make_private_folder, open_regular, private_opener

LOG = "errors.log"
_MOST_LOG = 100_000  # bytes; what is older is dropped
_MOST_BYTES = 1_000_000  # of ids that a session was told
_KEPT_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class HookFiles:
    """The folder `hooks` of a data folder."""

    folder: Path

    def known_ids(self, session: str) -> set[str]:
        """The ids of what a session was told."""
        try:
            with open_regular(self._file(session), follow_links=False) as file:
                return set(file.read(_MOST_BYTES).decode().splitlines())
        except FileNotFoundError:
            return set()

    def note(self, session: str, ids: Iterable[str]) -> None:
        """Adds to what a session was told; sessions of long ago are forgotten."""
        if not session:
            return
        make_private_folder(self.folder)
        if not self._file(session).exists():
            self._drop_old()
        with open(self._file(session), "ab", opener=private_opener) as file:
            file.write("".join(f"{id_}\n" for id_ in ids).encode())

    def forget(self, session: str) -> None:
        """A session knows nothing any more of what it was told."""
        self._file(session).unlink(missing_ok=True)

    def remove(self) -> None:
        """Removes all of it."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)

    def log(self, message: str) -> None:
        """Adds a line to the log; where that is not possible, nothing is left to tell it to."""
        with suppress(OSError):
            make_private_folder(self.folder)
            file = self.folder / LOG
            if file.exists() and file.stat().st_size > _MOST_LOG:
                file.unlink()
            with open(file, "ab", opener=private_opener) as log:
                log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {' '.join(message.split())}\n".encode())

    def _file(self, session: str) -> Path:
        return self.folder / f"{hashlib.sha256(session.encode()).hexdigest()[:32]}.told"

    def _drop_old(self) -> None:
        oldest = time.time() - _KEPT_SECONDS
        for file in os.scandir(self.folder):
            if file.name.endswith(".told") and file.stat(follow_symlinks=False).st_mtime < oldest:
                Path(file.path).unlink(missing_ok=True)

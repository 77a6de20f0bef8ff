"""Where `athand open` finds a server that runs: a file in the data folder, locked as long as the server lives."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from athand.files import open_regular, private_opener


@contextmanager
def note_server(folder: Path, store: str, url: str) -> Iterator[None]:
    """While it lasts, `find_server` finds this address; of several servers of a data folder, the first one's."""
    with open(_path(folder), "ab", opener=private_opener) as file:
        if not _try_lock(file.fileno(), fcntl.LOCK_EX):  # another server is noted already
            yield
            return
        os.ftruncate(file.fileno(), 0)
        file.write(json.dumps({"url": url, "store": store}).encode())
        file.flush()
        try:
            yield
        finally:
            _path(folder).unlink(missing_ok=True)


def find_server(folder: Path, store: str) -> str | None:
    """The address of the server that runs on this store; None if none does."""
    try:
        with open_regular(_path(folder), follow_links=False) as file:
            if _try_lock(file.fileno(), fcntl.LOCK_SH):  # no server holds it: it was killed
                return None
            noted = json.loads(file.read())
    except (FileNotFoundError, ValueError):
        return None
    return str(noted["url"]) if noted["store"] == store else None


def _try_lock(handle: int, kind: int) -> bool:
    """Lock a file if nobody else has; whether that worked."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _path(folder: Path) -> Path:
    return folder / "serving.json"

"""Files of ours: those that others could read, and those that a process left when it died."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from athand.adapters.cli.session import Session
    from athand.config import Settings

_UNFINISHED = re.compile(r"\..+\.unfinished-(\d+)(-|$)")
_PRIVATE = ("token", "tokens.json")
_OTHERS = 0o077


def exposed(session: "Session", settings: "Settings") -> list[Path]:
    """What is private, and can be read by others."""
    return [path for path in _private(session, settings) if path.stat().st_mode & _OTHERS]


def leftovers(session: "Session", settings: "Settings") -> list[Path]:
    """Files that were to become something, of processes that are no more."""
    folders = {settings.data_folder, _store(session, settings).parent}
    found = [file for folder in folders if folder.is_dir() for file in folder.iterdir()]
    return sorted(file for file in found if (name := _UNFINISHED.match(file.name)) and not _lives(int(name[1])))


def _private(session: "Session", settings: "Settings") -> Iterator[Path]:
    """The files that are for their owner alone, as far as they exist and are no links."""
    from athand.config import config_file

    store = _store(session, settings)
    files = [store, *(Path(f"{store}{end}") for end in ("-wal", "-shm")), *_secrets(settings), config_file()]
    for file in files:
        if file.is_file() and not file.is_symlink():
            yield file
    is_ours = not settings.data_dir and not settings.home  # a folder that somebody chose may be for more than us
    if is_ours and settings.data_folder.is_dir():
        yield settings.data_folder


def _secrets(settings: "Settings") -> list[Path]:
    return [settings.data_folder / name for name in _PRIVATE] + [settings.servers_file]


def _store(session: "Session", settings: "Settings") -> Path:
    """Where the store is, if it is a file; else where it would be."""
    location = session.store or settings.location
    return settings.data_folder / "athand.db" if "://" in location else Path(location).expanduser().absolute()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

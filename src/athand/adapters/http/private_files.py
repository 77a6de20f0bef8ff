"""Files that only their owner can read (mode 0600); files that others can read or write are refused."""

import fcntl
import os
import secrets
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from athand.errors import Unavailable

_MAX_BYTES = 1_000_000
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # NONBLOCK: opening a pipe must not wait


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder, created if it is missing; fsync it at the end."""
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _check_folder(folder, os.fstat(handle))
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_folder(folder: Path, stat_result: os.stat_result) -> None:
    """Refuse a folder in which others could place files."""
    if stat_result.st_uid != os.getuid():
        raise Unavailable(f"{folder} belongs to another user. Choose another folder with: --data-dir")
    if stat_result.st_mode & 0o022:
        raise Unavailable(f"Others may write in {folder}. Run: chmod 700 {shlex.quote(str(folder))}")


def read_private(path: Path) -> bytes | None:
    """The content; None if there is no file. It must be a regular file of this user that nobody else can read."""
    try:
        with os.fdopen(os.open(path, _READ_FLAGS), "rb") as file:
            _check_file(path, os.fstat(file.fileno()))
            return file.read(_MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise Unavailable(f"{path} is not used: {why}. Remove it: rm {shlex.quote(str(path))}") from error


def _check_file(path: Path, stat_result: os.stat_result) -> None:
    name = shlex.quote(str(path))
    if not stat.S_ISREG(stat_result.st_mode):
        raise Unavailable(f"{path} is not used: it is not a regular file. Remove it.")
    if stat_result.st_uid != os.getuid():
        raise Unavailable(f"{path} is not used: it belongs to another user. Remove it: rm {name}")
    if stat_result.st_mode & 0o077:
        raise Unavailable(f"Others can read or write {path}, so it is no secret. Run: chmod 600 {name}")


def create_private(path: Path, data: bytes) -> None:
    """Write a new file; an error if the name exists, even as a symlink."""
    with os.fdopen(os.open(path, _CREATE_FLAGS, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_private(path: Path, data: bytes) -> None:
    """Replace a file atomically."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        create_private(new, data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)

"""Files that only their owner may read: made without a moment in which others could, refused when others can."""

import fcntl
import os
import secrets
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from athand.errors import Unavailable

_LARGEST = 1_000_000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not make us wait


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else of us writes secrets in this folder meanwhile; it is made where it is missing."""
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


def _check_folder(folder: Path, found: os.stat_result) -> None:
    """Whoever may write in the folder could put a secret of his own there."""
    if found.st_uid != os.getuid():
        raise Unavailable(f"{folder} belongs to another user. Choose another folder with: --data-dir")
    if found.st_mode & 0o022:
        raise Unavailable(f"Others may write in {folder}. Run: chmod 700 {shlex.quote(str(folder))}")


def read_secret(path: Path) -> bytes | None:
    """All of the file, or None where there is none; it must be a file of ours that nobody else can read."""
    try:
        with os.fdopen(os.open(path, _OLD), "rb") as file:
            _check_file(path, os.fstat(file.fileno()))
            return file.read(_LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise Unavailable(f"{path} is not used: {why}. Remove it: rm {shlex.quote(str(path))}") from error


def _check_file(path: Path, found: os.stat_result) -> None:
    name = shlex.quote(str(path))
    if not stat.S_ISREG(found.st_mode):
        raise Unavailable(f"{path} is not used: it is not a regular file. Remove it.")
    if found.st_uid != os.getuid():
        raise Unavailable(f"{path} is not used: it belongs to another user. Remove it: rm {name}")
    if found.st_mode & 0o077:
        raise Unavailable(f"Others can read or write {path}, so it is no secret. Run: chmod 600 {name}")


def create_secret(path: Path, data: bytes) -> None:
    """Write a new file; whatever is there under the name already, also a link, is an error."""
    with os.fdopen(os.open(path, _NEW, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_secret(path: Path, data: bytes) -> None:
    """Write the file as a whole: readers see the old one or the new one."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        create_secret(new, data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)

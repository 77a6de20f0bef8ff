"""Files: read a regular one, write one privately and atomically, lock one.

Errors of the system pass through: the caller knows what the file is for and says so. Links are followed in the folders
above a file, and never at its own name when it is written.
"""

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600  # its owner may read and write it, nobody else


def open_regular(path: Path, *, follow_links: bool = True) -> BinaryIO:
    """Open a regular file for reading; an error for a folder, pipe or device, and no wait for a pipe's writer."""
    refused = os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | refused))  # noqa: SIM115  # the caller closes it
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def private_opener(path: str, flags: int) -> int:
    """The `opener` of `open` for a file that only its owner may read; a link at its name is an error."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)


def create_private(path: Path, data: bytes = b"") -> None:
    """Write a new private file and flush it to the disk; FileExistsError if the name exists, even as a link."""
    with open(path, "xb", opener=private_opener) as file:
        file.write(data)
        flush(file)


@contextmanager
def replace_atomically(path: Path, *, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` when it is complete: readers see the old one or the new one.

    It is flushed to the disk before. Where the file system can, it has no name until then, so that nothing of it is
    left if the process is killed. Its folder is the caller's to `sync`.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with _open_unnamed(path.parent) or open(unfinished, "xb", opener=private_opener) as file:
            os.fchmod(file.fileno(), mode)
            yield file
            flush(file)
            if not unfinished.exists():
                _give_name(file, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _open_unnamed(folder: Path) -> BinaryIO | None:
    """A new private file without a name in a folder; None where the system or the file system has no such files."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.fdopen(os.open(folder, flag | os.O_RDWR | os.O_CLOEXEC, PRIVATE), "w+b")
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            return None
        raise


def _give_name(file: BinaryIO, path: Path) -> None:
    """Give a name to a file that has none."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # With the descriptor of a folder the link in /proc is followed, and the file itself gets the name.
        os.link(f"/proc/self/fd/{file.fileno()}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def flush(file: BinaryIO) -> None:
    """Write what is buffered for a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def lock(path: Path) -> Iterator[int]:
    """Hold the exclusive lock of a file or folder, waiting for other processes; the descriptor."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def make_private_folder(folder: Path) -> None:
    """Create a folder and those above it that are missing, each for its owner alone."""
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=0o700, exist_ok=True)

"""Who holds the lock of a database for writing: read off the list of locks that Linux keeps."""

import os
from datetime import UTC, datetime
from pathlib import Path

_LOCKS = Path("/proc/locks")
_WRITE_LOCK = 120  # the byte of the file of shared memory that a writer locks: a part of SQLite's file format


def name_writer(location: str) -> str:
    """(now by process 123: athand reindex, running since 12:00:01 UTC), or nothing where that is not known."""
    try:
        shared = Path(f"{location}-shm").stat()
        # number, kind, mode, WRITE or READ, process, device:inode, first and last byte
        held = (line.split() for line in _LOCKS.read_text().splitlines() if "->" not in line)
        process = next(each[4] for each in held if _is_write_lock(each, shared))
        words = Path("/proc", process, "cmdline").read_bytes().decode(errors="replace").split("\0")
        began = datetime.fromtimestamp(Path("/proc", process).stat().st_ctime, UTC)
    except (OSError, StopIteration):  # no Linux, or nobody writes just now
        return ""
    command = " ".join(Path(word).name if at < 2 else word for at, word in enumerate(words[:4])).strip()
    who = "this process" if int(process) == os.getpid() else f"process {process}: {command}"
    return f" (now by {who}, running since {began:%H:%M:%S} UTC)"


def _is_write_lock(lock: list[str], shared: os.stat_result) -> bool:
    inode, (first, last) = lock[5].split(":")[2], lock[6:8]
    return lock[3] == "WRITE" and int(inode) == shared.st_ino and int(first) <= _WRITE_LOCK <= int(last)

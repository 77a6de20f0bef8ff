"""Resource limits that the sandbox process sets on itself before it reads a file."""

import os
import resource
import signal
import sys
import threading
from pathlib import Path
from select import poll
from time import process_time

_MAX_OPEN_FILES = 16
_POLL_MS = 500


def restrict_process() -> None:
    """Forbids writing files and core dumps, and limits open files."""
    for limit, maximum in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
    ):
        resource.setrlimit(limit, (maximum, maximum))


def set_limits(seconds: float, memory: int) -> None:
    """Limits CPU and wall time from now, and on Linux the address space, for one file."""
    cpu = int(process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)  # ends the process even without its parent
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))


def clear_limits() -> None:
    """Lifts the time limits between two files."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def address_space_bytes() -> int:
    """The size of the address space of this process; 0 without /proc."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def exit_with_parent(pipe: int) -> None:
    """Starts a thread that ends this process when its parent is gone, even while it reads a file."""
    parent, watched = os.getppid(), poll()
    watched.register(pipe, 0)  # POLLHUP is always reported

    def watch() -> None:
        while not watched.poll(_POLL_MS) and os.getppid() == parent:
            pass
        os._exit(0)

    threading.stack_size(256 * 1024)
    threading.Thread(target=watch, daemon=True).start()
    threading.stack_size(0)

"""Supervisor of one server process: starts it, and ends it with all its descendants when the parent is gone.

A program of its own, `python -I -S supervisor.py FD`, that imports nothing of the package. FD is the reading end of a
pipe: it carries the command as one line of JSON, and its end of file means that the parent is gone. The server inherits
the three standard streams; the supervisor never writes to them.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any

GRACE, TERM, KILL = 1.0, 1.0, 5.0  # seconds to exit by itself, after SIGTERM, and after SIGKILL
_POLL_SECONDS = 2.0  # between checks whether the parent is still the same
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main(lifeline: int) -> int:
    """Start the command from the pipe and wait until it has ended; returns its exit code."""
    parent = os.getppid()
    command = json.loads(_read_line(lifeline))
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signals: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: signals.append(number))
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    server = _start(command)
    _detach_streams()
    status: int | None = None
    while status is None and not signals and os.getppid() == parent:
        ready, _, _ = select.select([lifeline, woken], [], [], _POLL_SECONDS)
        status = _reap(server)
        if lifeline in ready and not os.read(lifeline, 1024):
            break
        if woken in ready:
            os.read(woken, 1024)
    return _terminate(server, status)


def _read_line(lifeline: int) -> bytes:
    pieces = []
    while piece := os.read(lifeline, 65_536):
        pieces.append(piece)
        if piece.endswith(b"\n"):
            return b"".join(pieces)
    sys.exit(0)  # the parent is already gone


def _start(command: dict[str, Any]) -> int:
    """Fork the server in a session of its own, with only the given environment."""
    server = os.fork()
    if server:
        return server
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _exec(command)
    finally:
        os._exit(127)


def _exec(command: dict[str, Any]) -> None:
    words, what = command["argv"], "its folder"
    try:
        if command["cwd"]:
            os.chdir(command["cwd"])
        what = words[0]
        os.execvpe(words[0], words, command["env"])  # noqa: S606 - without a shell is what we want
    except (OSError, ValueError) as error:
        is_missing = isinstance(error, FileNotFoundError) and what == words[0]
        reason = f"command not found: {what}" if is_missing else f"{what} cannot be used: {error}"
        os.write(2, reason.encode("utf-8", "replace") + b"\n")


def _detach_streams() -> None:
    """Release the standard streams, so that their reader sees when the server closes them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _reap(server: int) -> int | None:
    """Reap all dead children; the exit code of the server if it was among them."""
    code = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return code
            if pid == server:
                code = os.waitstatus_to_exitcode(status)
    except ChildProcessError:  # no children left
        return code


def _terminate(server: int, status: int | None) -> int:
    """End all remaining processes: wait, SIGTERM, SIGKILL; returns the exit code as a shell does."""
    leave = [] if status is not None else [(None, GRACE)]
    for number, seconds in [*leave, (signal.SIGTERM, TERM), (signal.SIGKILL, KILL)]:
        until = time.monotonic() + seconds
        if number:
            _signal_all(server, status, number)
        while time.monotonic() < until and _has_children(server, status):
            time.sleep(0.01)
            found = _reap(server)
            status = found if status is None else status
            if number == signal.SIGKILL:
                _signal_all(server, status, number)
            elif number is None and status is not None:
                break  # the server has exited by itself: continue with its descendants
    code = 0 if status is None else status
    return 128 - code if code < 0 else code


def _has_children(server: int, status: int | None) -> bool:
    return bool(_children(os.getpid())) if sys.platform == "linux" else status is None


def _signal_all(server: int, status: int | None, number: int) -> None:
    """Send a signal to the process group of the server and, on Linux, to all descendants."""
    if status is None:  # after it was reaped, its pid may belong to another process
        _kill(-server, number)
    waiting = _children(os.getpid())
    while waiting:
        pid = waiting.pop()
        waiting += _children(pid)
        _kill(pid, number)


def _kill(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # already gone, or not permitted
        os.kill(pid, number)


def _children(pid: int) -> list[int]:
    """The child pids from /proc; empty where there is no /proc."""
    found: list[int] = []
    with suppress(OSError), os.scandir(f"/proc/{pid}/task") as threads:
        for thread in threads:
            with open(f"{thread.path}/children", encoding="ascii") as file:  # noqa: PTH123 - quick to start
                found += map(int, file.read().split())
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

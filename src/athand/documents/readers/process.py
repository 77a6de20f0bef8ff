"""The child process of a workshop, seen from its parent: started, asked, ended."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import IO

from athand.documents.extract import Unreadable

MOST_OF_AN_ANSWER = 200_000_000
_HEADER = 9  # eight bytes of size, one that tells whether the child retires
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_DELIBERATE = ("SIGABRT", "SIGTRAP", "SIGILL")
_OUT_OF_MEMORY = ", perhaps for want of memory"
_OWN_LIMITS = ("SIGALRM", "SIGXCPU")
_PACKAGES = ("athand", "athand.documents", "athand.documents.readers")
_START = """
import json, sys, types
packages, others = json.loads(sys.argv[1])
for name, path in packages.items():  # empty ones, so that nothing is loaded but the readers
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
sys.path += others
from athand.documents.readers.child import main
main()
"""


class Child:
    """A running child process; after an error it is of no more use."""

    def __init__(self) -> None:
        self.retired = False
        self.owner = os.getpid()
        self._late = False
        self.ended_by_us = False
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-I", "-B", "-c", _START, json.dumps(_paths())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise Unreadable(f"no process could be started to read it ({error.strerror})") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        """Whether it can be asked; a copy of it that came about by a fork cannot."""
        return not self.retired and self.owner == os.getpid() and self._process.poll() is None

    def ask(self, kind: str, data: bytes, seconds: float, memory: int) -> bytes:
        """Its answer about a file; Unreadable when it has to be ended, or ends, before it gives one."""
        order = json.dumps({"kind": kind, "size": len(data), "seconds": seconds, "memory": memory})
        clock = Timer(seconds, self._too_late)
        clock.daemon = True
        clock.start()
        try:
            answer = self._exchange(order.encode("ascii") + b"\n", data)
        finally:
            clock.cancel()
            clock.join()
        if answer is None:
            raise Unreadable(self._reason(seconds))
        return answer

    def end(self) -> None:
        """Kill and bury it, and all it may have started."""
        if self.owner == os.getpid():
            self._kill()
            self._process.wait()
        for pipe in self._pipes():
            with suppress(OSError):
                pipe.close()

    def _pipes(self) -> list[IO[bytes]]:
        return [pipe for pipe in (self._process.stdin, self._process.stdout) if pipe]

    def _exchange(self, order: bytes, data: bytes) -> bytes | None:
        requests, answers = self._pipes()
        try:
            requests.write(order)
            requests.write(data)
            requests.flush()
        except OSError:
            return None
        header = answers.read(_HEADER)
        size = int.from_bytes(header[:-1], "big")
        if len(header) < _HEADER or size > MOST_OF_AN_ANSWER:
            return None
        answer = answers.read(size)
        self.retired = bool(header[-1]) or self._late
        return answer if len(answer) == size else None

    def _too_late(self) -> None:
        self._late = True
        self.kill()

    def kill(self) -> None:
        """End what it does at once; whoever waits for its answer gets none."""
        self.ended_by_us = True
        self._kill()

    def _kill(self) -> None:
        if self.owner == os.getpid() and self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _reason(self, seconds: float) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"
        if self._late or name in _OWN_LIMITS:
            return f"took longer than {seconds:g} s to read"
        return f"the reader crashed on it ({name})" + (_OUT_OF_MEMORY if name in _DELIBERATE else "")


def _paths() -> tuple[dict[str, str], list[str]]:
    """Where the child finds this very package, and what it needs beside it."""
    folders = reversed(Path(__file__).parents[:3])
    packages = {name: str(folder) for name, folder in zip(_PACKAGES, folders, strict=True)}
    return packages, [path for path in sys.path if Path(path).is_absolute()]


def _environment() -> dict[str, str]:
    """Nothing that could be a secret; one arena, since others only reserve memory."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"}

"""The sandbox process as its parent sees it: start, request over pipes, timeout, kill."""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import IO

from athand.documents.extract import UnreadableFile

MAX_RESPONSE_BYTES = 200_000_000
_HEADER_BYTES = 9  # eight bytes of size, one flag whether the worker exits after this response
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_ABORT_SIGNALS = ("SIGABRT", "SIGTRAP", "SIGILL")
_OUT_OF_MEMORY = ", perhaps because memory ran out"
_TIME_LIMIT_SIGNALS = ("SIGALRM", "SIGXCPU")
_PACKAGES = ("athand", "athand.documents", "athand.documents.readers")
_BOOTSTRAP = """
import json, sys, types
packages, others = json.loads(sys.argv[1])
for name, path in packages.items():  # empty ones, so that nothing is loaded but the readers
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
sys.path += others
from athand.documents.readers.sandbox_worker import main
main()
"""


class SandboxProcess:
    """A running worker process; not usable any more after an error."""

    def __init__(self) -> None:
        self.is_retiring = False
        self.owner = os.getpid()
        self._timed_out = False
        self.killed_by_us = False
        import subprocess

        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-I", "-B", "-c", _BOOTSTRAP, json.dumps(_paths())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise UnreadableFile(f"no process could be started to read it ({error.strerror})") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether it accepts requests; not in a forked copy of its parent."""
        return not self.is_retiring and self.owner == os.getpid() and self._process.poll() is None

    def request(self, kind: str, data: bytes, seconds: float, memory: int) -> bytes:
        """Its response for a file; raises UnreadableFile when it crashes or has to be killed."""
        header_line = json.dumps({"kind": kind, "size": len(data), "seconds": seconds, "memory": memory})
        timer = Timer(seconds, self._on_timeout)
        timer.daemon = True
        timer.start()
        try:
            response = self._exchange(header_line.encode("ascii") + b"\n", data)
        finally:
            timer.cancel()
            timer.join()
        if response is None:
            raise UnreadableFile(self._failure_reason(seconds))
        return response

    def stop(self) -> None:
        """Kills its process group, reaps it and closes the pipes."""
        if self.owner == os.getpid():
            self._kill()
            self._process.wait()
        for pipe in self._pipes():
            with suppress(OSError):
                pipe.close()

    def _pipes(self) -> list[IO[bytes]]:
        return [pipe for pipe in (self._process.stdin, self._process.stdout) if pipe]

    def _exchange(self, header_line: bytes, data: bytes) -> bytes | None:
        requests, responses = self._pipes()
        try:
            requests.write(header_line)
            requests.write(data)
            requests.flush()
        except OSError:
            return None
        header = responses.read(_HEADER_BYTES)
        size = int.from_bytes(header[:-1], "big")
        if len(header) < _HEADER_BYTES or size > MAX_RESPONSE_BYTES:
            return None
        response = responses.read(size)
        self.is_retiring = bool(header[-1]) or self._timed_out
        return response if len(response) == size else None

    def _on_timeout(self) -> None:
        self._timed_out = True
        self.kill()

    def kill(self) -> None:
        """Kills it at once; a pending request fails."""
        self.killed_by_us = True
        self._kill()

    def _kill(self) -> None:
        if self.owner == os.getpid() and self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _failure_reason(self, seconds: float) -> str:
        from subprocess import TimeoutExpired

        with suppress(TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"
        if self._timed_out or name in _TIME_LIMIT_SIGNALS:
            return f"took longer than {seconds:g} s to read"
        return f"the reader crashed on it ({name})" + (_OUT_OF_MEMORY if name in _ABORT_SIGNALS else "")


def _paths() -> tuple[dict[str, str], list[str]]:
    """The paths of this package and of other imports, for the worker."""
    folders = reversed(Path(__file__).parents[:3])
    packages = {name: str(folder) for name, folder in zip(_PACKAGES, folders, strict=True)}
    return packages, [path for path in sys.path if Path(path).is_absolute()]


def _environment() -> dict[str, str]:
    """A minimal environment without secrets; one malloc arena, since more only reserve address space."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"}

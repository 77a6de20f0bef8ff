"""Sandboxed reading of rich formats in a child process: a hostile file can crash only that process."""

import json
from threading import Lock
from types import TracebackType
from typing import Any

from athand.documents.extract import Extract, FileKind, Marker, UnreadableFile
from athand.documents.readers.kinds import RICH
from athand.documents.readers.sandbox_process import SandboxProcess

TIMEOUT_SECONDS = 20.0
MEMORY_BYTES = 512_000_000
_POLL_SECONDS = 0.01


class ReaderSandbox:
    """Reads one file at a time in a worker process, which starts with the first file and is replaced when it fails."""

    def __init__(self, seconds: float = TIMEOUT_SECONDS, memory: int = MEMORY_BYTES) -> None:
        self._seconds = seconds
        self._memory = memory
        self._lock = Lock()
        self._worker: SandboxProcess | None = None

    @property
    def worker_pid(self) -> int | None:
        """The process id of the worker; None without one."""
        return self._worker.pid if self._worker else None

    def read(self, kind: FileKind, data: bytes) -> Extract:
        """The text of a file; raises UnreadableFile with the reason, also for too much time or memory."""
        if kind.name not in RICH:
            raise ValueError(f"{kind.name} is not read in the sandbox")
        with self._lock:
            response = self._request(kind.name, data)
        return self._decode_response(response)

    def close(self) -> None:
        """Ends the worker, even while it reads; the next file starts another."""
        # A worker that is just being started is killed in a later round.
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            if worker := self._worker:
                worker.kill()
        try:
            self._stop_worker()
        finally:
            self._lock.release()

    def __enter__(self) -> "ReaderSandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(self, kind: str, data: bytes) -> bytes:
        """The response of a worker; a new one is tried if an idle one has died, which others may have killed."""
        idle = self._worker if self._worker and self._worker.is_alive() else None
        try:
            return self._request_once(kind, data)
        except UnreadableFile:
            if idle is None or idle.killed_by_us:
                raise
        return self._request_once(kind, data)

    def _request_once(self, kind: str, data: bytes) -> bytes:
        worker, is_usable = self._ensure_worker(), False
        try:
            response = worker.request(kind, data, self._seconds, self._memory)
            is_usable = not worker.is_retiring
        finally:
            if not is_usable:  # also after an interrupted exchange: its late response would belong to this file
                self._stop_worker()
        return response

    def _ensure_worker(self) -> SandboxProcess:
        if self._worker and not self._worker.is_alive():
            self._stop_worker()
        self._worker = self._worker or SandboxProcess()
        return self._worker

    def _stop_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker:
            worker.stop()

    def _decode_response(self, response: bytes) -> Extract:
        """Validates a response as an extract: a compromised worker may send anything."""
        try:
            fields = json.loads(response)
            reason = fields.get("reason")
            if reason is None:
                return _to_extract(fields)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise UnreadableFile("the reader gave no sensible answer") from error
        memory = f"needed more than {self._memory // 1_000_000} MB to read"
        raise UnreadableFile(memory if reason == "memory" else str(reason)[:300])


def _to_extract(fields: dict[str, Any]) -> Extract:
    text, title, note = (fields[key] for key in ("text", "title", "note"))
    markers = [Marker(int(at), str(kind), str(label), int(level)) for at, kind, label, level in fields["markers"]]
    if not all(isinstance(each, str) for each in (text, title, note)):
        raise TypeError("a response has no text")
    return Extract(text, tuple(markers), title, note=note)

"""Rich formats read in a child process: a hostile file can cost that process, never ours."""

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
    """Reads one file at a time in a child process, which starts with the first and is replaced when it fails."""

    def __init__(self, seconds: float = TIMEOUT_SECONDS, memory: int = MEMORY_BYTES) -> None:
        self._seconds = seconds
        self._memory = memory
        self._lock = Lock()
        self._worker: SandboxProcess | None = None

    @property
    def worker_pid(self) -> int | None:
        """The process that reads, while there is one."""
        return self._worker.pid if self._worker else None

    def read(self, kind: FileKind, data: bytes) -> Extract:
        """The text of a file; Unreadable with the reason when it has none, or takes too much to read."""
        if kind.name not in RICH:
            raise ValueError(f"{kind.name} is not read in a workshop")
        with self._lock:
            response = self._request(kind.name, data)
        return self._decode_response(response)

    def close(self) -> None:
        """End the child process, if there is one, even while it reads; the next file would start another."""
        while not self._lock.acquire(timeout=_POLL_SECONDS):  # a child that was just being started is killed next time
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
        """The answer of a child; one that has worked before may have been ended by others, so another is tried."""
        known = self._worker if self._worker and self._worker.is_alive() else None
        try:
            return self._request_once(kind, data)
        except UnreadableFile:
            if known is None or known.killed_by_us:
                raise
        return self._request_once(kind, data)

    def _request_once(self, kind: str, data: bytes) -> bytes:
        worker, is_usable = self._ensure_worker(), False
        try:
            response = worker.request(kind, data, self._seconds, self._memory)
            is_usable = not worker.is_retiring
        finally:
            if not is_usable:  # an interrupted exchange too: the next answer would be that to this file
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
        """An answer as an extract; a child that was taken over could say anything."""
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
        raise TypeError("an answer has no text")
    return Extract(text, tuple(markers), title, note=note)

"""Rich formats read in a child process: a hostile file can cost that process, never ours."""

import json
from threading import Lock
from types import TracebackType
from typing import Any

from athand.documents.extract import Extract, Kind, Mark, Unreadable
from athand.documents.readers.kinds import RICH
from athand.documents.readers.process import Child

SECONDS = 20.0
MEMORY = 512_000_000
_POLL_SECONDS = 0.01


class Workshop:
    """Reads one file at a time in a child process, which starts with the first and is replaced when it fails."""

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._seconds = seconds
        self._memory = memory
        self._lock = Lock()
        self._child: Child | None = None

    @property
    def child_pid(self) -> int | None:
        """The process that reads, while there is one."""
        return self._child.pid if self._child else None

    def read(self, kind: Kind, data: bytes) -> Extract:
        """The text of a file; Unreadable with the reason when it has none, or takes too much to read."""
        if kind.name not in RICH:
            raise ValueError(f"{kind.name} is not read in a workshop")
        with self._lock:
            answer = self._ask(kind.name, data)
        return self._understood(answer)

    def close(self) -> None:
        """End the child process, if there is one, even while it reads; the next file would start another."""
        while not self._lock.acquire(timeout=_POLL_SECONDS):  # a child that was just being started is killed next time
            if child := self._child:
                child.kill()
        try:
            self._end()
        finally:
            self._lock.release()

    def __enter__(self) -> "Workshop":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, kind: str, data: bytes) -> bytes:
        """The answer of a child; one that has worked before may have been ended by others, so another is tried."""
        known = self._child if self._child and self._child.alive() else None
        try:
            return self._ask_child(kind, data)
        except Unreadable:
            if known is None or known.ended_by_us:
                raise
        return self._ask_child(kind, data)

    def _ask_child(self, kind: str, data: bytes) -> bytes:
        child, answered = self._running(), False
        try:
            answer = child.ask(kind, data, self._seconds, self._memory)
            answered = not child.retired
        finally:
            if not answered:  # an interrupted exchange too: the next answer would be that to this file
                self._end()
        return answer

    def _running(self) -> Child:
        if self._child and not self._child.alive():
            self._end()
        self._child = self._child or Child()
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child:
            child.end()

    def _understood(self, answer: bytes) -> Extract:
        """An answer as an extract; a child that was taken over could say anything."""
        try:
            told = json.loads(answer)
            reason = told.get("reason")
            if reason is None:
                return _extract(told)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise Unreadable("the reader gave no sensible answer") from error
        memory = f"needed more than {self._memory // 1_000_000} MB to read"
        raise Unreadable(memory if reason == "memory" else str(reason)[:300])


def _extract(told: dict[str, Any]) -> Extract:
    text, title, note = (told[key] for key in ("text", "title", "note"))
    marks = [Mark(int(offset), str(kind), str(label), int(level)) for offset, kind, label, level in told["marks"]]
    if not all(isinstance(each, str) for each in (text, title, note)):
        raise TypeError("an answer has no text")
    return Extract(text, tuple(marks), title, note=note)

"""The records of a JSON Lines file from an offset on: streamed, and tolerant of lines that are no records."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

LONGEST_LINE = 8_000_000  # bytes; a longer line is left out
_PIECE = 1 << 20


@dataclass(slots=True)
class Lines:
    """The lines of a file that is open for reading. `end` is where the last line that was whole has ended."""

    file: BinaryIO
    end: int = 0
    skipped: int = 0  # lines that are too long, or no JSON objects

    def read(self, start: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The records from an offset on, each with its own; a last line without an end is still being written."""
        self.file.seek(start)
        self.end = start
        while line := self.file.readline(LONGEST_LINE):
            begin = self.end
            if not line.endswith(b"\n"):
                length = self._skip_rest(len(line))
                if length is None:
                    return
                self.end += length
                self.skipped += 1
                continue
            self.end += len(line)
            if (record := self._parse(line)) is not None:
                yield begin, record

    def _skip_rest(self, length: int) -> int | None:
        """The length of a line that is too long; None if the file ends before the line does."""
        while piece := self.file.readline(_PIECE):
            length += len(piece)
            if piece.endswith(b"\n"):
                return length
        return None

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            self.skipped += 1
            return None
        return record

"""All vectors of one corpus and model as a matrix for brute-force search: sign bits preselect, float16 rescores.

A derived copy of the database: full blocks in memory-mapped files beside it, the newest rows in memory. Passage
numbers only grow, so a process finds new rows by asking for larger numbers. The row of a deleted passage stays until
the next rebuild; searches drop it, because its passage cannot be loaded.
"""

import logging
import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from athand.store.sqlite.embeddings import STORED, is_whole
from athand.store.sqlite.matrix_files import BLOCK, MatrixFiles, Rows, StaleFiles, empty_block
from athand.store.sqlite.sql import rows as read_rows
from athand.types import Vector

log = logging.getLogger("athand")

# This many of the best by sign bits are rescored exactly (recall: benchmarks/latency.py).
RESCORED = 512
# Up to this many rows, scoring every one exactly is faster than preselecting by sign.
EXACT = 2048

_AT_ONCE = 512  # rows per matrix product, so that they fit into the processor's cache
# Error bound of a cosine in single precision.
_ROUNDING = 1e-5
# Constants for decoding float16 by shifting its bits into float32.
_SIGN_AND_REST, _BIAS = np.int32(~0x7000_0000), np.float32(2.0**112)

Numbers = npt.NDArray[np.int64]
Neighbours = tuple[Numbers, npt.NDArray[np.float32]]


class VectorMatrix:
    """The rows of one corpus and model; thread-safe."""

    def __init__(self, folder: Path | None, corpus: str, model: int, dimensions: int) -> None:
        self._corpus, self._model, self._dimensions = corpus, model, dimensions
        self._files = MatrixFiles(folder, corpus, model, dimensions) if folder else None
        self._lock = threading.Lock()
        self._epoch = -1
        self._rows: list[Rows] = []
        self._last = 0
        self._view: MatrixView | None = None

    def refresh(self, connection: apsw.Connection) -> "MatrixView":
        """Reads new rows and returns a view of all rows of this connection's snapshot, and perhaps newer ones."""
        with self._lock:
            epoch, live, newest = self._state(connection)
            if epoch != self._epoch:
                self._restart(epoch, self._files.load(connection, epoch) if self._files else None)
            elif sum(map(len, self._rows)) > 2 * live + 2 * BLOCK:
                self._restart(epoch, None)
            if newest != self._last:
                self._read_new(connection)
            if self._view is None:
                self._view = MatrixView(tuple(rows.first_rows(len(rows)) for rows in self._rows))
            return self._view

    @property
    def has_unsaved_blocks(self) -> bool:
        """Whether full blocks are in memory only, though there are files to write them to."""
        return self._files is not None and any(rows.in_memory and rows.is_full for rows in self._rows)

    def save(self, connection: apsw.Connection) -> None:
        """Moves full blocks from memory to the files; the connection must not be in a transaction (see MatrixFiles)."""
        with self._lock:
            if self._files and self.has_unsaved_blocks:
                self._move_to_files(self._files, connection)

    def erase(self, numbers: Iterable[int]) -> None:
        """Overwrites the vectors of these passages with zeros, in memory and in the files."""
        gone = np.fromiter(numbers, np.int64)
        with self._lock:
            for rows in self._rows:
                rows.erase(gone)
            if self._files:
                self._files.erase(gone)

    def discard(self) -> None:
        """Drops all rows, also on disk."""
        with self._lock:
            self._restart(-1, None)

    def _state(self, connection: apsw.Connection) -> tuple[int, int, int]:
        """The epoch, how many passages there are, and the number of the newest."""
        [(epoch, live, newest)] = read_rows(
            connection,
            "SELECT (SELECT CAST(epoch AS INTEGER) FROM coverage WHERE corpus = ?1 AND model = ?2), "
            "(SELECT passages FROM spaces WHERE corpus = ?1 AND space = ''), "
            "(SELECT seq FROM sqlite_sequence WHERE name = ?3)",
            (self._corpus, self._model, f"{self._corpus}_passages"),
        )
        return epoch or 0, live or 0, newest or 0

    def _restart(self, epoch: int, known: Rows | None) -> None:
        """Starts again from `known` rows, or from none; without them the files are deleted."""
        if known is None and self._files:
            self._files.discard()
        self._epoch, self._view = epoch, None
        self._rows = [known] if known else []
        self._last = int(known.numbers[-1]) if known else 0

    def _read_new(self, connection: apsw.Connection) -> None:
        cursor = connection.execute(
            # CROSS JOIN: SQLite must begin with the few new passages, not with all vectors.
            f"SELECT p.number, p.space, {STORED} FROM {self._corpus}_passages p "
            "CROSS JOIN vectors v ON v.hash = p.hash AND v.model = ? WHERE p.number > ? ORDER BY p.number",
            (self._model, self._last),
        )
        while batch := list(islice(cursor, BLOCK)):
            self._last, self._view = batch[-1][0], None
            self._append([row for row in batch if is_whole(row[2], row[3])])

    def _append(self, batch: Sequence[tuple[int, int, bytes, int]]) -> None:
        while batch:
            if not self._rows or not self._rows[-1].in_memory or self._rows[-1].is_full:
                self._rows.append(empty_block(self._dimensions))
            taken = self._rows[-1].fill(batch)
            batch = batch[taken:]

    def _move_to_files(self, files: MatrixFiles, connection: apsw.Connection) -> None:
        """Appends full blocks to the files; where another process was faster, starts again from its rows."""
        self._view = None
        stored = [rows for rows in self._rows if not rows.in_memory]
        full = [rows for rows in self._rows if rows.in_memory and rows.is_full]
        after = int(stored[0].numbers[-1]) if stored else 0
        try:
            moved = files.append(connection, self._epoch, after, full)
        except StaleFiles:
            return self._restart(self._epoch, None)
        if moved is None:
            self._files = None
        elif moved.numbers[-1] == full[-1].numbers[-1]:
            self._rows = [moved, *(rows for rows in self._rows if rows.in_memory and not rows.is_full)]
        else:
            self._restart(self._epoch, moved)


def _to_float32(halves: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]:
    """Converts float16 to float32 by shifting bits, in half the time of numpy's conversion."""
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _SIGN_AND_REST
    floats: npt.NDArray[np.float32] = bits.view(np.float32)
    floats *= _BIAS
    return floats


class MatrixView:
    """An immutable view of the rows."""

    def __init__(self, rows: Sequence[Rows]) -> None:
        self._rows = rows
        self.numbers: Numbers = np.concatenate([np.zeros(0, np.int64), *(each.numbers for each in rows)])
        self._spaces = np.concatenate([np.zeros(0, np.int32), *(each.spaces for each in rows)])

    def nearest(self, query: Vector, count: int, spaces: Sequence[int] | None = None) -> Neighbours:
        """The `count` passages with the highest cosine in these spaces, best first, and their cosines."""
        eligible = None if spaces is None else np.logical_or.reduce([self._spaces == space for space in spaces])
        candidates = len(self.numbers) if eligible is None else int(eligible.sum())
        if candidates > max(EXACT, count):
            chosen = self._nearest_by_sign(query, max(count, RESCORED, candidates // RESCORED), eligible)
        else:
            chosen = np.arange(len(self.numbers)) if eligible is None else np.flatnonzero(eligible)
        cosines = self._cosines(chosen, query)
        best = np.lexsort((-self.numbers[chosen], -cosines))[:count]
        return self.numbers[chosen[best]], cosines[best]

    def within_cosine(
        self, queries: Sequence[Vector], cosines: Sequence[float], spaces: Sequence[int] | None = None
    ) -> list[set[int]]:
        """For each least cosine, the numbers of all passages in these spaces that reach it for one of the queries."""
        asked = np.stack(queries).T.astype(np.float32)
        found: list[set[int]] = [set() for _ in cosines]
        for rows in self._rows:
            known, places, halves = map(np.asarray, (rows.numbers, rows.spaces, rows.vectors))
            for start in range(0, len(rows), _AT_ONCE):
                numbers, vectors = known[start : start + _AT_ONCE], halves[start : start + _AT_ONCE]
                if spaces is not None and not (inside := np.isin(places[start : start + _AT_ONCE], spaces)).all():
                    numbers, vectors = numbers[inside], vectors[inside]
                nearest = (_to_float32(vectors) @ asked).max(axis=1, initial=-1.0) + _ROUNDING
                for each, least in zip(found, cosines, strict=True):
                    each.update(numbers[nearest >= least].tolist())
        return found

    def cosines(self, numbers: Numbers, query: Vector) -> npt.NDArray[np.float64]:
        """The cosine of each passage; NaN where it has no vector.

        In double precision and rounded: the last digits of a sum depend on which rows are multiplied together, and a
        score must not.
        """
        places = np.searchsorted(self.numbers, numbers)
        places[places == len(self.numbers)] = 0
        known = self.numbers[places] == numbers if len(self.numbers) else np.zeros(len(numbers), bool)
        found = np.full(len(numbers), np.nan)
        found[known] = self._cosines(places[known], query.astype(np.float64)).round(9)
        return found

    def _nearest_by_sign(self, query: Vector, count: int, eligible: npt.NDArray[np.bool_] | None) -> Numbers:
        distances = np.concatenate([rows.sign_distances(query) for rows in self._rows])
        if eligible is not None:
            distances[~eligible] = np.iinfo(np.uint16).max
        # All rows up to a distance, ties included, so that the result does not depend on the order of rows.
        at_most = np.cumsum(np.bincount(distances))
        return np.flatnonzero(distances <= np.searchsorted(at_most, count))

    def _cosines(self, places: Numbers, query: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found = np.empty(len(places), query.dtype)
        start = 0
        for rows in self._rows:
            here = (places >= start) & (places < start + len(rows))
            halves = np.asarray(rows.vectors[places[here] - start])
            found[here] = _to_float32(halves).astype(query.dtype, copy=False) @ query
            start += len(rows)
        return found

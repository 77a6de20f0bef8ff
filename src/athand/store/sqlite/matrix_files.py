"""Rows of vectors, in memory or in memory-mapped files that processes share.

Files only grow, by full blocks, and the header is replaced last, so a reader sees complete blocks or none. They can be
deleted at any time and are rebuilt from the database.
"""

import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import apsw
import numpy as np
import numpy.typing as npt

from athand.files import PRIVATE, flush, lock, private_opener
from athand.store.sqlite.sql import rows as rows_of
from athand.store.sqlite.sql import value
from athand.types import Vector

log = logging.getLogger("athand")

BLOCK = 8192
# Quantiles of the absolute values of a query (measured: benchmarks/latency.py).
WEAK_QUANTILE, STRONG_QUANTILE = 0.2, 0.65


@dataclass(slots=True)
class Rows:
    """Rows by passage number. Sign bits are stored per block, one plane per 64 dimensions, for fast scans."""

    numbers: npt.NDArray[np.int64]
    spaces: npt.NDArray[np.int32]
    vectors: npt.NDArray[np.float16]
    bits: npt.NDArray[np.uint64]
    count: int
    in_memory: bool = True

    def __len__(self) -> int:
        return self.count

    @property
    def is_full(self) -> bool:
        return self.count % BLOCK == 0 and self.count > 0

    def first_rows(self, count: int) -> "Rows":
        """A view of the first rows; rows added later are not visible in it."""
        return replace(
            self, numbers=self.numbers[:count], spaces=self.spaces[:count], vectors=self.vectors[:count], count=count
        )

    def fill(self, batch: Sequence[tuple[int, int, bytes, int]]) -> int:
        """Adds rows (number, space, vector, …) while there is room; returns how many were added."""
        taken = batch[: BLOCK - self.count]
        start, end = self.count, self.count + len(taken)
        self.numbers[start:end] = [row[0] for row in taken]
        self.spaces[start:end] = [row[1] for row in taken]
        self.vectors[start:end] = np.frombuffer(b"".join(row[2] for row in taken), "<f2").reshape(len(taken), -1)
        self.bits[0, :, start:end] = sign_planes(self.vectors[start:end])
        self.count = end
        return len(taken)

    def sign_distances(self, query: Vector) -> npt.NDArray[np.uint16]:
        """Weighted Hamming distance of each row's sign bits to the query's.

        Dimensions where the query is weak do not count, those where it is strong count twice: this keeps as many of
        the true neighbours as twice the bits would.
        """
        strength = np.abs(query)
        weakest_first = np.sort(strength)
        weak, strong = (weakest_first[int(part * len(query))] for part in (WEAK_QUANTILE, STRONG_QUANTILE))
        signs, relevant, decisive = (sign_planes(each[None, :]) for each in (query, strength > weak, strength > strong))
        found = np.empty((len(self.bits), BLOCK), np.uint16)
        for at, block in enumerate(self.bits):
            differing = block ^ signs
            counts = np.bitwise_count(differing & relevant)
            counts += np.bitwise_count(differing & decisive)
            counts.sum(axis=0, dtype=np.uint16, out=found[at])
        return found.ravel()[: self.count]

    def erase(self, numbers: npt.NDArray[np.int64]) -> None:
        """Overwrites the vectors of these passages with zeros, if the rows are in memory."""
        if self.in_memory:
            for at in np.flatnonzero(np.isin(self.numbers[: self.count], numbers)):
                self.vectors[at] = 0
                self.bits[at // BLOCK, :, at % BLOCK] = 0


def empty_block(dimensions: int) -> Rows:
    """An empty block in memory."""
    return Rows(
        np.zeros(BLOCK, np.int64),
        np.zeros(BLOCK, np.int32),
        np.zeros((BLOCK, dimensions), np.float16),
        np.zeros((1, _planes(dimensions), BLOCK), np.uint64),
        0,
    )


def sign_planes(vectors: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """One bit per dimension, 64 dimensions a plane: shape (planes, rows)."""
    signs = np.pad(vectors > 0, ((0, 0), (0, -vectors.shape[1] % 64)))
    packed = np.packbits(signs, axis=1, bitorder="little").view(np.uint64)
    return np.ascontiguousarray(packed.T)


def _planes(dimensions: int) -> int:
    return -(-dimensions // 64)


class StaleFiles(Exception):
    """The files were deleted or replaced by another process; all rows must be read from the database again."""


def _is_increasing(numbers: npt.NDArray[np.int64]) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


class MatrixFiles:
    """The files beside the database with the blocks of one corpus and model."""

    def __init__(self, folder: Path, corpus: str, model: int, dimensions: int) -> None:
        self._folder = folder / f"{corpus}-{model}"
        self._corpus, self._dimensions = corpus, dimensions
        self._shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
            "numbers": (np.int64, (BLOCK,)),
            "spaces": (np.int32, (BLOCK,)),
            "vectors": (np.float16, (BLOCK, dimensions)),
            "bits": (np.uint64, (1, _planes(dimensions), BLOCK)),
        }

    def load(self, connection: apsw.Connection, epoch: int) -> Rows | None:
        """The stored rows, if they belong to this database and epoch."""
        header = self._header()
        if header is None or header["epoch"] != epoch or header["rows"] == 0:
            return None
        if header["identity"] is None or header["identity"] != self._identity(connection, header["last"]):
            return None
        try:
            rows = self._map(header["rows"])
        except (OSError, ValueError):  # a file is missing or cut off
            return None
        return rows if _is_increasing(rows.numbers) and rows.numbers[-1] == header["last"] else None

    def append(self, connection: apsw.Connection, epoch: int, after: int, blocks: Sequence[Rows]) -> Rows | None:
        """Appends full blocks behind the row `after`; returns all stored rows, also those that another process added.

        Returns None if nothing can be written; raises StaleFiles if the rows up to `after` are gone.
        """
        try:
            with self._lock():
                header = self._header()
                stored = header["last"] if header and header["epoch"] == epoch else 0
                if stored != after:
                    return self._reload(connection, epoch, after)
                before = header["rows"] if header and stored else 0
                for block in blocks:
                    block.erase(self._deleted_numbers(connection, block))
                self._write(blocks, before)
                last, rows = int(blocks[-1].numbers[-1]), before + BLOCK * len(blocks)
                self._write_header(
                    {"rows": rows, "last": last, "epoch": epoch, "identity": self._identity(connection, last)}
                )
                return self._map(rows)
        except OSError as error:
            log.warning("Vectors are kept in memory only, so each start reads them anew: %s", error)
            return None

    def _deleted_numbers(self, connection: apsw.Connection, block: Rows) -> npt.NDArray[np.int64]:
        """The numbers of deleted passages, which must not be written to disk.

        Read while the lock is held and outside a transaction: a deletion erases the files after its commit, so it is
        either committed and visible here, or erases after this.
        """
        first, last = int(block.numbers[0]), int(block.numbers[-1])
        sql = f"SELECT number FROM {self._corpus}_passages WHERE number BETWEEN ? AND ?"
        existing = np.array([row[0] for row in rows_of(connection, sql, (first, last))], np.int64)
        return np.setdiff1d(block.numbers, existing)

    def _reload(self, connection: apsw.Connection, epoch: int, after: int) -> Rows:
        rows = self.load(connection, epoch)
        if rows is None or rows.numbers[-1] < after:
            raise StaleFiles
        return rows

    def erase(self, numbers: npt.NDArray[np.int64]) -> None:
        """Overwrites the vectors of these passages with zeros on disk."""
        if self._header() is None:
            return
        with self._lock():
            header = self._header()
            if header is None:
                return
            try:
                rows = self._map(header["rows"])  # check the size first: "r+" would extend a truncated file
                rows = self._map(header["rows"], mode="r+")
            except (OSError, ValueError):
                shutil.rmtree(self._folder, ignore_errors=True)
                return
            replace(rows, in_memory=True).erase(numbers)
            for array in (rows.vectors, rows.bits):
                assert isinstance(array, np.memmap)  # noqa: S101 - _map makes nothing else
                array.flush()

    def discard(self) -> None:
        """Deletes the files; processes that have them mapped keep their view."""
        if self._folder.exists():
            with self._lock():
                shutil.rmtree(self._folder, ignore_errors=True)

    def _identity(self, connection: apsw.Connection, last: int) -> str | None:
        """Identifies the database and its last row, so that files of a restored backup are recognized as stale."""
        identity: str | None = value(
            connection,
            "SELECT (SELECT value FROM settings WHERE name = 'store_id') || '-' || lower(hex(hash)) || '-' || id || "
            f"created_at FROM {self._corpus}_passages WHERE number = ?",
            (last,),
        )
        return identity

    def _map(self, rows: int, mode: Literal["r", "r+"] = "r") -> Rows:
        blocks = rows // BLOCK
        arrays = {
            name: np.memmap(self._folder / name, dtype=dtype, mode=mode, shape=(blocks * shape[0], *shape[1:]))
            for name, (dtype, shape) in self._shapes.items()
        }
        return Rows(**arrays, count=rows, in_memory=False)

    def _write(self, blocks: Sequence[Rows], before: int) -> None:
        for name, (dtype, shape) in self._shapes.items():
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            if not before:  # a new file, as others may have the old one mapped
                (self._folder / name).unlink(missing_ok=True)
            with open(self._folder / name, "r+b" if before else "xb", opener=private_opener) as file:
                file.seek(before // BLOCK * size)
                for block in blocks:
                    file.write(getattr(block, name).tobytes())
                flush(file)

    def _header(self) -> dict[str, Any] | None:
        try:
            header: dict[str, Any] = json.loads((self._folder / "header.json").read_text("utf-8"))
            rows, _, _, _ = header["rows"], header["last"], header["epoch"], header["identity"]
            return header if rows > 0 and rows % BLOCK == 0 else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _write_header(self, header: dict[str, Any]) -> None:
        new = self._folder / "header.new"
        with open(new, "w", encoding="utf-8", opener=private_opener) as file:
            json.dump(header, file)
        new.replace(self._folder / "header.json")

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Holds the file lock: one process writes at a time."""
        self._folder.parent.mkdir(exist_ok=True, mode=0o700)
        path = self._folder.with_suffix(".lock")
        path.touch(PRIVATE)
        with lock(path):
            self._folder.mkdir(exist_ok=True, mode=0o700)
            yield

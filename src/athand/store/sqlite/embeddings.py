"""Vectors of passages, and coverage: a model is searched only if every passage of the corpus has its vector."""

import zlib
from collections.abc import Sequence
from dataclasses import replace

import apsw
import numpy as np

from athand.store.sqlite.sql import rows, value
from athand.types import Vector, Vectors

# What is read as the type that it should have: damaged text cannot be read, and `reindex` puts it right.
STORED = "CAST(v.vector AS BLOB), CAST(v.checksum AS INTEGER)"
DIMENSIONS = "CAST(dimensions AS INTEGER)"
NEXT_EPOCH = "coalesce(CAST(epoch AS INTEGER), 0) + 1"


def is_whole(vector: object, checksum: object) -> bool:
    """Whether a stored vector is as it was written."""
    return isinstance(vector, bytes) and zlib.crc32(vector) == checksum


def update_coverage(connection: apsw.Connection, corpus: str, vectors: Vectors | None) -> None:
    """After new passages: marks all models but that of their vectors as incomplete."""
    model = model_number(connection, vectors.model_id, vectors.dimensions) if vectors else None
    connection.execute(
        "UPDATE coverage SET complete = 0 WHERE corpus = ? AND model IS NOT ? AND complete", (corpus, model)
    )
    known = value(connection, "SELECT 1 FROM coverage WHERE corpus = ? AND model = ?", (corpus, model))
    if model is not None and not known:
        connection.execute(
            "INSERT INTO coverage (corpus, model, complete) VALUES (?1, ?2, "
            f"NOT EXISTS (SELECT 1 FROM {corpus}_passages p WHERE NOT EXISTS "
            "(SELECT 1 FROM vectors v WHERE v.model = ?2 AND v.hash = p.hash)))",
            (corpus, model),
        )


def covering_model(connection: apsw.Connection, corpus: str, model_id: str) -> tuple[int, int] | None:
    """Number and dimensions of the model, if every passage of the corpus has its vector."""
    return connection.execute(
        f"SELECT m.number, {DIMENSIONS} FROM models m JOIN coverage c ON c.model = m.number "
        "WHERE m.model_id = ? AND c.corpus = ? AND c.complete",
        (model_id, corpus),
    ).fetchone()


def missing_vectors(
    connection: apsw.Connection, corpus: str, model_id: str, after: int, limit: int
) -> list[tuple[int, str, str]]:
    """Number, space and item id of the next passages after `after` without a vector of this model."""
    found = rows(
        connection,
        f"SELECT p.number, s.space, p.item_id FROM {corpus}_passages p JOIN spaces s ON s.number = p.space "
        "WHERE p.number > ? AND NOT EXISTS "
        "(SELECT 1 FROM vectors v JOIN models m ON m.number = v.model WHERE v.hash = p.hash AND m.model_id = ?) "
        "ORDER BY p.number LIMIT ?",
        (after, model_id, limit),
    )
    return [(number, space, item_id) for number, space, item_id in found]


def activate_model(connection: apsw.Connection, corpus: str, model_id: str) -> bool:
    """Switches vector search to this model once every passage has its vector; drops those of other models."""
    if missing_vectors(connection, corpus, model_id, 0, 1):
        return False
    model = value(connection, "SELECT number FROM models WHERE model_id = ?", (model_id,))
    connection.execute("INSERT OR IGNORE INTO coverage (corpus, model, complete) VALUES (?, ?, 0)", (corpus, model))
    connection.execute(
        f"UPDATE coverage SET complete = 1, epoch = {NEXT_EPOCH} WHERE corpus = ? AND model = ?", (corpus, model)
    )
    connection.execute("DELETE FROM coverage WHERE corpus = ? AND model <> ?", (corpus, model))
    connection.execute("DELETE FROM vectors WHERE model NOT IN (SELECT model FROM coverage)")
    return True


def put_vectors(connection: apsw.Connection, vectors: Vectors) -> None:
    """Stores vectors as float16: half the size, cosines differ by less than 0.001."""
    model = model_number(connection, vectors.model_id, vectors.dimensions)
    rows = []
    for address, vector in vectors.by_hash.items():
        packed = np.asarray(vector, dtype="<f2").tobytes()
        rows.append((model, address, packed, zlib.crc32(packed)))
    connection.executemany("INSERT OR REPLACE INTO vectors (model, hash, vector, checksum) VALUES (?, ?, ?, ?)", rows)


def put_changed_vectors(connection: apsw.Connection, vectors: Vectors) -> None:
    """Stores those vectors that are not there already, just so and undamaged; does not write if there are none."""
    sql = f"SELECT {STORED} FROM vectors v JOIN models m ON m.number = v.model WHERE m.model_id = ? AND hash = ?"
    changed = {}
    for address, vector in vectors.by_hash.items():
        packed = np.asarray(vector, dtype="<f2").tobytes()
        if rows(connection, sql, (vectors.model_id, address)) != [(packed, zlib.crc32(packed))]:
            changed[address] = vector
    if changed:
        put_vectors(connection, replace(vectors, by_hash=changed))


def cached_vectors(connection: apsw.Connection, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
    """The stored vectors of these text hashes; damaged ones are left out."""
    found = {}
    for address in hashes:
        row = connection.execute(
            f"SELECT {STORED} FROM vectors v JOIN models m ON m.number = v.model WHERE v.hash = ? AND m.model_id = ?",
            (address, model_id),
        ).fetchone()
        if row and is_whole(*row):
            found[address] = np.frombuffer(row[0], dtype="<f2").astype(np.float32)
    return found


def model_number(connection: apsw.Connection, model_id: str, dimensions: int) -> int:
    """The number of a model, assigned on first use; a damaged number of dimensions is put right."""
    connection.execute(
        "INSERT INTO models (model_id, dimensions) VALUES (?, ?) ON CONFLICT (model_id) "
        "DO UPDATE SET dimensions = excluded.dimensions WHERE dimensions IS NOT excluded.dimensions",
        (model_id, dimensions),
    )
    number: int = value(connection, "SELECT number FROM models WHERE model_id = ?", (model_id,))
    return number

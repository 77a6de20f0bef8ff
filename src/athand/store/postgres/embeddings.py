"""Vectors of passages, and coverage: a model is searched only if every passage of the corpus has its vector."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from athand.store.contract import Passage
from athand.store.postgres.schema import list_corpora
from athand.store.postgres.sql import Connection, execute, insert, rows, value
from athand.text import text_hash
from athand.types import Vector, Vectors

_COVERAGE_LOCK = 0x4154_4802  # advisory lock: one process changes the coverage at a time


@dataclass(frozen=True, slots=True)
class Model:
    """A model whose vectors are stored."""

    number: int
    dimensions: int


def model_number(connection: Connection, model_id: str, dimensions: int) -> int:
    """The number of a model, assigned on first use."""
    known = "SELECT number FROM models WHERE model_id = :model"
    number: int | None = value(connection, known, {"model": model_id})
    if number is None:
        _lock(connection)
        execute(
            connection,
            "INSERT INTO models (number, model_id, dimensions) "
            "SELECT coalesce(max(number), 0) + 1, :model, :dimensions FROM models ON CONFLICT DO NOTHING",
            {"model": model_id, "dimensions": dimensions},
        )
        number = value(connection, known, {"model": model_id})
    return int(number or 0)


def update_coverage(connection: Connection, corpus: str, vectors: Vectors | None) -> None:
    """Before new passages: marks all models but that of their vectors as incomplete."""
    model = model_number(connection, vectors.model_id, vectors.dimensions) if vectors else 0
    covered = rows(connection, "SELECT model, complete FROM coverage WHERE corpus = :corpus", {"corpus": corpus})
    others = any(done for number, done in covered if number != model)
    if not others and (model in {number for number, _ in covered} if model else _has_passages(connection, corpus)):
        return
    # Concurrent writers that begin with a model, or write without one, must see each other.
    _lock(connection)
    values = {"corpus": corpus, "model": model}
    execute(
        connection,
        "UPDATE coverage SET complete = FALSE WHERE corpus = :corpus AND model <> :model AND complete",
        values,
    )
    if model:
        execute(
            connection,
            "INSERT INTO coverage (corpus, model, complete) SELECT :corpus, :model, "
            f"NOT EXISTS (SELECT 1 FROM {corpus}_passages) ON CONFLICT DO NOTHING",
            values,
        )


def _has_passages(connection: Connection, corpus: str) -> bool:
    return bool(value(connection, f"SELECT 1 FROM {corpus}_passages LIMIT 1"))


def covering_model(connection: Connection, corpus: str, model_id: str) -> Model | None:
    """The model, if every passage of the corpus has its vector."""
    found = rows(
        connection,
        "SELECT m.number, m.dimensions FROM models m JOIN coverage c ON c.model = m.number "
        "WHERE m.model_id = :model AND c.corpus = :corpus AND c.complete",
        {"model": model_id, "corpus": corpus},
    )
    return Model(*found[0]) if found else None


def missing_vectors(
    connection: Connection, corpus: str, model_id: str, after: int, limit: int
) -> list[tuple[int, str, str]]:
    """Number, space and item id of the next passages after `after` without a vector of this model."""
    model = value(connection, "SELECT number FROM models WHERE model_id = :model", {"model": model_id})
    found = rows(
        connection,
        f"SELECT p.number, p.space, p.item_id FROM {corpus}_passages p LEFT JOIN {corpus}_vectors v "
        "ON v.space = p.space AND v.hash = p.hash AND v.model = :model "
        "WHERE p.number > :after AND v.hash IS NULL ORDER BY p.number LIMIT :limit",
        {"model": model or 0, "after": after, "limit": limit},
    )
    return [(number, space, item_id) for number, space, item_id in found]


def activate_model(connection: Connection, corpus: str, model_id: str) -> bool:
    """Switches vector search to this model once every passage has its vector; drops those of other models."""
    if missing_vectors(connection, corpus, model_id, 0, 1):
        return False
    _lock(connection)
    model = value(connection, "SELECT number FROM models WHERE model_id = :model", {"model": model_id})
    if model is None:
        return True  # no passages, and no vectors
    values = {"corpus": corpus, "model": model}
    execute(
        connection,
        "INSERT INTO coverage (corpus, model, complete) VALUES (:corpus, :model, TRUE) "
        "ON CONFLICT (corpus, model) DO UPDATE SET complete = TRUE",
        values,
    )
    execute(connection, "DELETE FROM coverage WHERE corpus = :corpus AND model <> :model", values)
    execute(connection, f"DELETE FROM {corpus}_vectors WHERE model <> :model", values)
    return True


def _lock(connection: Connection) -> None:
    execute(connection, "SELECT pg_advisory_xact_lock(:lock)", {"lock": _COVERAGE_LOCK})


def put_vectors(connection: Connection, corpus: str, passages: Sequence[Passage], vectors: Vectors) -> None:
    """Stores vectors in their passages' spaces as float16: half the size, cosines differ by less than 0.001."""
    model = model_number(connection, vectors.model_id, vectors.dimensions)
    places = sorted({(each.space, text_hash(each.text)) for each in passages})
    new = [
        (space, model, address, *_pack(vectors.by_hash[address]))
        for space, address in places
        if address in vectors.by_hash
    ]
    table = f"{corpus}_vectors"
    columns = {"space": "text", "model": "integer", "hash": "bytea", "vector": "halfvec", "checksum": "bigint"}
    replace = "ON CONFLICT (space, model, hash) DO UPDATE SET vector = excluded.vector, checksum = excluded.checksum"
    insert(connection, table, columns, new, f"{replace} WHERE {table}.checksum <> excluded.checksum")


def _pack(vector: Vector) -> tuple[str, int]:
    """The vector as text for pgvector, and the CRC-32 of its float16 bytes, as in SQLite."""
    half = np.asarray(vector, dtype="<f2")
    return f"[{','.join(map(str, half.tolist()))}]", zlib.crc32(half.tobytes())


def unpack(sent: bytes) -> npt.NDArray[np.float16]:
    """Decodes halfvec_send: a header of four bytes, then big-endian float16."""
    return np.frombuffer(sent, dtype=">f2", offset=4).astype("<f2")


def matches_checksum(vector: npt.NDArray[np.float16], checksum: int) -> bool:
    """Whether a vector is undamaged."""
    return zlib.crc32(vector.tobytes()) == checksum


def cached_vectors(
    connection: Connection, model_id: str, hashes: Sequence[bytes], spaces: Sequence[str] | None
) -> dict[bytes, Vector]:
    """The stored vectors of these text hashes, of some spaces or of any; damaged ones are left out."""
    inside = "" if spaces is None else "AND v.space = ANY(:spaces)"
    known = " UNION ALL ".join(
        f"SELECT v.hash, halfvec_send(v.vector), v.checksum FROM {corpus}_vectors v "
        f"JOIN models m ON m.number = v.model WHERE v.hash = ANY(:hashes) AND m.model_id = :model {inside}"
        for corpus in list_corpora(connection)
    )
    found = {}
    for address, sent, checksum in rows(
        connection, known, {"hashes": list(hashes), "model": model_id, "spaces": list(spaces or ())}
    ):
        vector = unpack(sent)
        if matches_checksum(vector, checksum):
            found[bytes(address)] = vector.astype(np.float32)
    return found

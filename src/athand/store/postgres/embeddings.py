"""Which corpora have a vector of a model for every passage: only those are searched by vector."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from athand.store.contract import Passage
from athand.store.postgres.schema import CORPORA
from athand.store.postgres.sql import Connection, execute, insert, rows, value
from athand.text import text_hash
from athand.types import Vector, Vectors

_COVERAGE_LOCK = 0x4154_4802  # an advisory lock: what covers a corpus is changed by one at a time


@dataclass(frozen=True, slots=True)
class Model:
    """A model whose vectors are kept."""

    number: int
    dimensions: int


def model_number(connection: Connection, model_id: str, dimensions: int) -> int:
    """The number of a model, made on first use."""
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
    """New passages have vectors of at most one model: the others do not cover the corpus any more."""
    model = model_number(connection, vectors.model_id, vectors.dimensions) if vectors else 0
    covered = rows(connection, "SELECT model, complete FROM coverage WHERE corpus = :corpus", {"corpus": corpus})
    others = any(done for number, done in covered if number != model)
    if not others and (model in {number for number, _ in covered} if model else _has_passages(connection, corpus)):
        return
    # Whoever else begins with a model, or writes without one, must see this, and this must see them.
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
    """The model, if it covers the corpus."""
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
    """Number, space and item id of the next passages that have no vector of this model yet."""
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
    """Search by this model's vectors from now on, if no passage is without one; drop those of other models."""
    if missing_vectors(connection, corpus, model_id, 0, 1):
        return False
    _lock(connection)
    model = value(connection, "SELECT number FROM models WHERE model_id = :model", {"model": model_id})
    if model is None:
        return True  # there is nothing to cover, and nothing that covers it
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
    """Keep the vectors in their passages' spaces, as float16: half the size, and cosines differ by less than 0.001."""
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
    """The vector as pgvector reads it, and a checksum of its bytes as SQLite keeps them."""
    half = np.asarray(vector, dtype="<f2")
    return f"[{','.join(map(str, half.tolist()))}]", zlib.crc32(half.tobytes())


def unpack(sent: bytes) -> npt.NDArray[np.float16]:
    """The vector as pgvector sends it: two numbers of two bytes, then halves, the first byte first."""
    return np.frombuffer(sent, dtype=">f2", offset=4).astype("<f2")


def matches_checksum(vector: npt.NDArray[np.float16], checksum: int) -> bool:
    """Whether a vector is what was written."""
    return zlib.crc32(vector.tobytes()) == checksum


def cached_vectors(connection: Connection, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
    """What is known of these texts, in whichever space; an entry that fails its checksum does not count."""
    known = " UNION ALL ".join(
        f"SELECT v.hash, halfvec_send(v.vector), v.checksum FROM {corpus}_vectors v "
        "JOIN models m ON m.number = v.model WHERE v.hash = ANY(:hashes) AND m.model_id = :model"
        for corpus in CORPORA
    )
    found = {}
    for address, sent, checksum in rows(connection, known, {"hashes": list(hashes), "model": model_id}):
        vector = unpack(sent)
        if matches_checksum(vector, checksum):
            found[bytes(address)] = vector.astype(np.float32)
    return found

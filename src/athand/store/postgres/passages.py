"""Writing the derived tables of a corpus: passages, their words, their vectors. Always in the caller's transaction."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from athand.store.contract import Index, Passage
from athand.store.postgres import counts
from athand.store.postgres.coverage import model_number
from athand.store.postgres.schema import CORPORA
from athand.store.postgres.sql import Connection, execute, insert, rows
from athand.text import analyze, terms_and_words, text_hash
from athand.types import Vector, Vectors


def put(connection: Connection, index: Index, passages: Sequence[Passage]) -> int:
    """Index these passages by their words; how many counts are to be folded."""
    words: dict[str, str] = {}
    indexed: list[tuple[Any, ...]] = []
    for each in passages:
        fields = []
        for terms, written in map(analyze, each.fields):
            words.update(written)
            fields.append(terms)
        indexed.append((each.space, each.id, each.item_id, text_hash(each.text), each.created_at, *fields))
    columns = {"space": "text", "id": "text", "item_id": "text", "hash": "bytea", "created_at": "bigint"}
    insert(connection, f"{index.corpus}_passages", columns | dict.fromkeys(index.fields, "text"), indexed)
    changes = counts.count_terms(index, ((row[0], row[5:]) for row in indexed), +1)
    return counts.append(connection, index.corpus, changes, words)


def remove(connection: Connection, index: Index, space: str, item_ids: Iterable[str]) -> int:
    """Take the items' passages out; how many counts are to be folded."""
    gone = rows(
        connection,
        f"DELETE FROM {index.corpus}_passages WHERE space = :space AND item_id = ANY(:ids) "
        f"RETURNING space, {', '.join(index.fields)}",
        {"space": space, "ids": list(item_ids)},
    )
    changes = counts.count_terms(index, ((row[0], row[1:]) for row in gone), -1)
    return counts.append(connection, index.corpus, changes, {})


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


def forget(connection: Connection, corpus: str, passage: Passage) -> None:
    """Delete the vectors of a text that no passage has any more, and its spelling of words that others have too."""
    values = {"space": passage.space, "hash": text_hash(passage.text)}
    execute(
        connection,
        f"DELETE FROM {corpus}_vectors WHERE space = :space AND hash = :hash AND NOT EXISTS "
        f"(SELECT 1 FROM {corpus}_passages p WHERE p.space = :space AND p.hash = :hash)",
        values,
    )
    pairs = sorted({pair for field in passage.fields for pair in terms_and_words(field)})
    execute(
        connection,
        f"UPDATE {corpus}_counts c SET word = c.term FROM unnest(:terms::text[], :words::text[]) AS n (term, word) "
        "WHERE c.space IN (:space, :everywhere) AND c.term = n.term AND c.word = n.word AND c.word <> c.term",
        {
            "space": passage.space,
            "everywhere": counts.ALL_SPACES,
            "terms": [term for term, _ in pairs],
            "words": [word for _, word in pairs],
        },
    )

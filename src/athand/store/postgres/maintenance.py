"""Maintenance: integrity checks, fingerprints, clearing an index, sizes."""

import json
from collections.abc import Iterator

from athand.store.contract import Index
from athand.store.postgres import citus, counts
from athand.store.postgres.embeddings import matches_checksum, unpack
from athand.store.postgres.schema import SCHEMA, list_corpora
from athand.store.postgres.sql import Connection, execute, rows, value
from athand.store.values import digest

_BATCH = 5_000


def check_integrity(connection: Connection) -> list[str]:
    """Lists every problem; empty if there is none."""
    return list(_find_problems(connection))


def _find_problems(connection: Connection) -> Iterator[str]:
    if value(connection, "SHOW fsync") == "off":
        yield "server: fsync is off, so what was acknowledged may be lost when the power fails"
    if left := citus.tables_with_local_rows(connection):
        yield f"{', '.join(left)}: rows from before the tables were distributed are left; run: athand store distribute"
    for corpus in list_corpora(connection):
        yield from _find_corpus_problems(connection, corpus)
        damaged = sum(
            not matches_checksum(unpack(sent), checksum) for sent, checksum in _stored_vectors(connection, corpus)
        )
        if damaged:
            yield f"{corpus}: {damaged} vectors are damaged; run: athand reindex"


def _find_corpus_problems(connection: Connection, corpus: str) -> Iterator[str]:
    passages = value(connection, f"SELECT count(*) FROM {corpus}_passages")
    for spaces in ("space <> ''", "(space = '' OR NOT compacted)"):
        counted = value(
            connection,
            f"SELECT coalesce(sum(frequency), 0)::bigint FROM {corpus}_counts WHERE term = :term AND {spaces}",
            {"term": counts.PASSAGES},
        )
        if counted != passages:
            yield f"{corpus}: {passages} passages, but the statistics say {counted}; run: athand reindex"
    for model_id, without in rows(
        connection,
        "SELECT m.model_id, count(*) FROM coverage c JOIN models m ON m.number = c.model "
        f"CROSS JOIN {corpus}_passages p "
        f"LEFT JOIN {corpus}_vectors v ON v.space = p.space AND v.hash = p.hash AND v.model = c.model "
        "WHERE c.corpus = :corpus AND c.complete AND v.hash IS NULL GROUP BY 1",
        {"corpus": corpus},
    ):
        yield f"{corpus}: {without} passages have no vector of {model_id}; run: athand reindex"


def items_without_passages(connection: Connection, corpus: str) -> list[tuple[str, str]]:
    """Space and id of every item that is not deleted and has no passage."""
    found = rows(
        connection,
        f"SELECT i.space, i.id FROM {corpus} i LEFT JOIN {corpus}_passages p ON p.space = i.space AND p.item_id = i.id "
        "WHERE i.is_deleted = 0 AND p.id IS NULL",
    )
    return [(space, item_id) for space, item_id in found]


def _stored_vectors(connection: Connection, corpus: str) -> Iterator[tuple[bytes, int]]:
    """All vectors with their checksums, read in batches."""
    place: tuple[str, int, bytes] = ("", 0, b"")
    sql = (
        f"SELECT space, model, hash, halfvec_send(vector), checksum FROM {corpus}_vectors "
        "WHERE (space, model, hash) > (:space, :model, :hash) ORDER BY space, model, hash LIMIT :limit"
    )
    values = ("space", "model", "hash")
    while batch := rows(connection, sql, {**dict(zip(values, place, strict=True)), "limit": _BATCH}):
        yield from ((row[3], row[4]) for row in batch)
        place = (batch[-1][0], batch[-1][1], batch[-1][2])


def drop_unused_vectors(connection: Connection) -> None:
    """Deletes the vectors of texts that no passage has any more."""
    for corpus in list_corpora(connection):
        execute(
            connection,
            f"DELETE FROM {corpus}_vectors v WHERE NOT EXISTS "
            f"(SELECT 1 FROM {corpus}_passages p WHERE p.space = v.space AND p.hash = v.hash)",
        )


def clear(connection: Connection, corpus: str) -> None:
    """Drops the derived data of a corpus; its items stay."""
    execute(connection, f"DELETE FROM {corpus}_passages")
    execute(connection, f"DELETE FROM {corpus}_counts")
    execute(connection, "UPDATE coverage SET complete = TRUE WHERE corpus = :corpus", {"corpus": corpus})


def size_bytes(connection: Connection) -> int:
    """The size of all tables and indexes on the disks of the server and of its cluster."""
    spread = citus.distributed_tables(connection)
    local = value(
        connection,
        "SELECT coalesce(sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass)), 0)::bigint "
        "FROM pg_tables WHERE schemaname = :schema AND NOT tablename = ANY(:spread)",
        {"schema": SCHEMA, "spread": spread},
    )
    return int(local) + sum(citus.size_of_shards(connection, table) for table in spread)


def fingerprint(connection: Connection, index: Index) -> str:
    """A hash over passages, vectors, vocabulary and statistics, equal to that of SQLite for the same items."""
    return digest(_passages(connection, index), _vocabulary(connection, index), _statistics(connection, index))


def _passages(connection: Connection, index: Index) -> Iterator[tuple[object, ...]]:
    fields = ", ".join(f"p.{field}" for field in index.fields)
    corpus = index.corpus
    place = {"space": "", "id": ""}
    while batch := rows(
        connection,
        f"SELECT p.space, p.id, p.item_id, p.created_at, {fields}, m.model_id, halfvec_send(v.vector) FROM "
        f"(SELECT * FROM {corpus}_passages WHERE (space, id) > (:space, :id) ORDER BY space, id LIMIT {_BATCH}) p "
        f"LEFT JOIN {corpus}_vectors v ON v.space = p.space AND v.hash = p.hash "
        "LEFT JOIN models m ON m.number = v.model ORDER BY 1, 2, m.model_id",
        place,
    ):
        for row in batch:
            yield (*row[:-1], unpack(row[-1]).tobytes() if row[-1] is not None else None)
        place = {"space": batch[-1][0], "id": batch[-1][1]}


def _vocabulary(connection: Connection, index: Index) -> Iterator[tuple[object, ...]]:
    summed = "sum(frequency)::bigint FROM {} WHERE term >= '!' GROUP BY {} HAVING sum(frequency) > 0 ORDER BY {}"
    everywhere = counts.source(index.corpus, None)
    yield from rows(connection, f"SELECT '', term, {summed.format(everywhere, '2', '2')}")
    inside = f"(SELECT * FROM {index.corpus}_counts WHERE space <> '') c"
    yield from rows(connection, f"SELECT space, term, {summed.format(inside, '1, 2', '1, 2')}")


def _statistics(connection: Connection, index: Index) -> Iterator[tuple[object, ...]]:
    lengths = ", ".join(f"sum(length({field}))::bigint" for field in index.fields)
    for columns, group in (("''", ""), ("space", "GROUP BY space ORDER BY space")):
        for space, passages, *totals in rows(
            connection, f"SELECT {columns}, count(*), {lengths} FROM {index.corpus}_passages {group}"
        ):
            if passages:
                yield space, passages, json.dumps(totals)

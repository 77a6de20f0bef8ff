"""Nearest neighbours: exact scan where that is fast, pgvector's HNSW index beyond."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from psycopg.errors import DiskFull

from athand.store.candidates import Ranking, initial_depth
from athand.store.postgres import counts
from athand.store.postgres.citus import count_on_shards, distributed_tables
from athand.store.postgres.embeddings import Model
from athand.store.postgres.schema import SCHEMA
from athand.store.postgres.sql import Connection, execute, rows, value
from athand.types import Query, Vector

log = logging.getLogger("athand")

# Cost model in milliseconds, measured on 100,000 vectors of 384 dimensions (docs/decisions/006): to read one vector,
# to ask the index, and to ask it again for every vector outside the searched spaces.
SCAN_MS, INDEX_MS, SKIP_MS = 0.0012, 6.0, 2.4
# Below this many passages there is no index: an exact scan is as fast.
INDEXED_FROM = 10_000
# HNSW parameters: larger is more exact and slower.
EF_SEARCH, EF_CONSTRUCTION = 200, 128
MOST_DIMENSIONS = 4000  # that pgvector can index
BUILD_MEMORY = "512MB"
_CACHE_SECONDS = 60.0


def scan_is_faster(passages: int, indexed: int) -> bool:
    """Whether an exact scan of the searched spaces is faster than the index, by the cost model."""
    return passages * SCAN_MS <= INDEX_MS + SKIP_MS * max(0, indexed / max(1, passages) - 1)


@dataclass(frozen=True, slots=True)
class AnnPolicy:
    """When to use the ANN index: never if `exact`; `run_async` runs an index search on another connection."""

    exact: bool
    run_async: Callable[[Callable[[Connection], list[int]]], Callable[[], list[int]] | None]
    _sizes: dict[tuple[str, int], tuple[float, int]] = field(default_factory=dict)

    def index_size(self, connection: Connection, corpus: str, model: Model) -> int:
        """About how many vectors the index of a model has; cached for a minute."""
        measured_at, size = self._sizes.get((corpus, model.number), (0.0, 0))
        if not measured_at or time.monotonic() - measured_at > _CACHE_SECONDS:
            size = index_size(connection, corpus, model)
            self._sizes[corpus, model.number] = time.monotonic(), size
        return size


def nearest(
    connection: Connection, corpus: str, query: Query, model: Model, passages: int, ann_policy: AnnPolicy
) -> Ranking:
    """Ranks passages by vector, regardless of the filter: by exact scan or by the ANN index."""
    indexed = 0 if ann_policy.exact or passages <= INDEXED_FROM else ann_policy.index_size(connection, corpus, model)
    if not indexed or scan_is_faster(passages, indexed):
        return lambda limit: _query_nearest(connection, corpus, query, "vector", model, limit)
    first, vector = initial_depth(query), f"vector::halfvec({model.dimensions})"
    # Runs beside the keyword search. It may see newer passages; those are not in this snapshot and not loaded.
    ahead = ann_policy.run_async(lambda other: _query_nearest(other, corpus, query, vector, model, first))

    def best(limit: int) -> list[int]:
        if limit == first:
            numbers = ahead() if ahead else _query_nearest(connection, corpus, query, vector, model, limit)
            if len(numbers) >= limit:  # else too few of the nearest lie in the searched spaces
                return numbers
        return _query_nearest(connection, corpus, query, "vector", model, limit)

    return best


def _query_nearest(
    connection: Connection, corpus: str, query: Query, vector: str, model: Model, limit: int
) -> list[int]:
    """The nearest passages, newest first among equals; cached vectors without a passage are skipped."""
    inside = "" if query.spaces is None else "AND {}.space = ANY(:spaces)"
    distance = f"({vector}) <#> :asked::{vector.partition('::')[2] or 'halfvec'}"
    values = {"model": model.number, "asked": vector_text(query.vector), "spaces": list(query.spaces or ())}
    wanted = limit
    while True:
        found = rows(
            connection,
            f"SELECT p.number FROM (SELECT space, hash, {distance} AS distance FROM {corpus}_vectors v "
            f"WHERE model = :model {inside.format('v')} ORDER BY distance LIMIT :wanted) n "
            f"LEFT JOIN {corpus}_passages p ON p.space = n.space AND p.hash = n.hash {inside.format('p')} "
            "ORDER BY n.distance, p.number DESC",
            {**values, "wanted": wanted},
        )
        numbers = [row[0] for row in found if row[0] is not None]
        if len(numbers) >= limit or len(found) < wanted:
            return numbers[:limit]
        wanted *= 4


def vector_text(vector: Vector | None) -> str:
    """A vector as text for pgvector."""
    return f"[{','.join(map(str, np.asarray(vector, np.float16).tolist()))}]"


def index_name(corpus: str, model: Model) -> str:
    """The name of the index of a model's vectors."""
    return f"{corpus}_vectors_{model.number}"


def index_size(connection: Connection, corpus: str, model: Model) -> int:
    """About how many vectors the index of a model has; 0 where there is none."""
    about = value(
        connection,
        "SELECT c.reltuples FROM pg_class c JOIN pg_index x ON x.indexrelid = c.oid "
        "WHERE c.oid = to_regclass(:name) AND x.indisvalid",
        {"name": f"{SCHEMA}.{index_name(corpus, model)}"},
    )
    if about is None:
        return 0
    table = f"{corpus}_vectors"
    spread = table in distributed_tables(connection)  # then the table here is empty
    return max(1, count_on_shards(connection, table) if spread else int(about))


def build_index(connection: Connection, corpus: str, model: Model) -> None:
    """Builds the HNSW index of a model's vectors concurrently; must not run in a transaction."""
    name = index_name(corpus, model)
    if model.dimensions > MOST_DIMENSIONS:
        log.warning("Vectors of %d numbers cannot be indexed by pgvector; they are all read.", model.dimensions)
        return
    execute(connection, f"DROP INDEX IF EXISTS {name}")  # left by an interrupted build
    execute(connection, f"SET maintenance_work_mem = '{BUILD_MEMORY}'")  # with less, it takes three times as long
    create = (
        f"CREATE INDEX CONCURRENTLY {name} ON {corpus}_vectors USING hnsw "
        f"((vector::halfvec({model.dimensions})) halfvec_ip_ops) WITH (ef_construction = {EF_CONSTRUCTION}) "
        f"WHERE model = {model.number}"
    )
    try:
        execute(connection, create)
    except DiskFull:  # of a container's shared memory, which workers need and one process alone does not
        execute(connection, f"DROP INDEX IF EXISTS {name}")
        execute(connection, "SET max_parallel_maintenance_workers = 0")
        execute(connection, create)


_BUILD_LOCK = 0x4154_4804  # advisory lock: one process builds at a time


def maintain_indexes(connection: Connection, corpus: str) -> None:
    """Builds missing indexes and drops unused ones, unless another process does; must not run in a transaction."""
    if not value(connection, "SELECT pg_try_advisory_lock(:lock)", {"lock": _BUILD_LOCK}):
        return
    try:
        valid = _valid_indexes(connection, corpus)
        needed = {index_name(corpus, model): model for model in _active_models(connection, corpus)}
        for name in valid.keys() - needed.keys():
            execute(connection, f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        if _passages(connection, corpus) >= INDEXED_FROM:
            for name in needed.keys() - {name for name, is_valid in valid.items() if is_valid}:
                build_index(connection, corpus, needed[name])
    finally:
        execute(connection, "SELECT pg_advisory_unlock(:lock)", {"lock": _BUILD_LOCK})


def _valid_indexes(connection: Connection, corpus: str) -> dict[str, bool]:
    """The HNSW indexes of a corpus by name, and whether their build was finished."""
    found = rows(
        connection,
        "SELECT c.relname, x.indisvalid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid "
        "JOIN pg_am a ON a.oid = c.relam WHERE x.indrelid = to_regclass(:table) AND a.amname = 'hnsw'",
        {"table": f"{SCHEMA}.{corpus}_vectors"},
    )
    return {name: is_valid for name, is_valid in found}


def _active_models(connection: Connection, corpus: str) -> list[Model]:
    sql = "SELECT m.number, m.dimensions FROM models m JOIN coverage c ON c.model = m.number WHERE c.corpus = :corpus"
    return [Model(*row) for row in rows(connection, sql, {"corpus": corpus})]


def _passages(connection: Connection, corpus: str) -> int:
    source = counts.source(corpus, None)
    found = value(connection, f"SELECT sum(frequency) FROM {source} WHERE term = :term", {"term": counts.PASSAGES})
    return int(found or 0)

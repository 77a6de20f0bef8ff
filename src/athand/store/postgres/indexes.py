"""The indexes over vectors: one per model that is searched, once there are enough vectors to need it."""

from athand.store.postgres import counts
from athand.store.postgres.coverage import Model
from athand.store.postgres.nearest import INDEXED_FROM, index_name, make_index
from athand.store.postgres.schema import SCHEMA
from athand.store.postgres.sql import Connection, execute, rows, value

_TENDING = 0x5243_4C04  # an advisory lock: one builds at a time


def tend(connection: Connection, corpus: str) -> None:
    """Make the missing indexes and drop those nobody needs, unless another process does; not in a transaction."""
    if not value(connection, "SELECT pg_try_advisory_lock(:lock)", {"lock": _TENDING}):
        return
    try:
        valid = _valid_indexes(connection, corpus)
        needed = {index_name(corpus, model): model for model in _searched(connection, corpus)}
        for name in valid.keys() - needed.keys():
            execute(connection, f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        if _passages(connection, corpus) >= INDEXED_FROM:
            for name in needed.keys() - {name for name, is_valid in valid.items() if is_valid}:
                make_index(connection, corpus, needed[name])
    finally:
        execute(connection, "SELECT pg_advisory_unlock(:lock)", {"lock": _TENDING})


def _valid_indexes(connection: Connection, corpus: str) -> dict[str, bool]:
    """The indexes over a corpus's vectors by name, and whether their build was finished."""
    found = rows(
        connection,
        "SELECT c.relname, x.indisvalid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid "
        "JOIN pg_am a ON a.oid = c.relam WHERE x.indrelid = to_regclass(:table) AND a.amname = 'hnsw'",
        {"table": f"{SCHEMA}.{corpus}_vectors"},
    )
    return {name: is_valid for name, is_valid in found}


def _searched(connection: Connection, corpus: str) -> list[Model]:
    sql = "SELECT m.number, m.dimensions FROM models m JOIN coverage c ON c.model = m.number WHERE c.corpus = :corpus"
    return [Model(*row) for row in rows(connection, sql, {"corpus": corpus})]


def _passages(connection: Connection, corpus: str) -> int:
    source = counts.source(corpus, None)
    found = value(connection, f"SELECT sum(frequency) FROM {source} WHERE term = :term", {"term": counts.PASSAGES})
    return int(found or 0)

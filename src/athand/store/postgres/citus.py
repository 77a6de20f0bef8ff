"""Spreading the tables over the machines of a Citus cluster, by space."""

from athand.errors import Unavailable
from athand.store.postgres.schema import REFERENCE_TABLES, SCHEMA
from athand.store.postgres.sql import Connection, execute, rows, value
from athand.store.postgres.upkeep import tables


def distribute(connection: Connection, shown: str) -> dict[str, str]:
    """Turn every table that is not yet into a distributed or a reference table; what was done, by table."""
    if not value(connection, "SELECT 1 FROM pg_extension WHERE extname = 'citus'"):
        raise Unavailable(
            f"{shown} has no Citus, so its tables stay on one machine and nothing was changed. To spread them, install "
            "Citus on the server and its workers, run CREATE EXTENSION citus as a superuser, then: "
            "athand store distribute"
        )
    spread = {name for (name,) in rows(connection, "SELECT logicalrelid::regclass::text FROM pg_dist_partition")}
    done: dict[str, str] = {}
    with connection.transaction():
        for table in REFERENCE_TABLES:
            if not spread & {table, f"{SCHEMA}.{table}"}:
                execute(connection, f"SELECT create_reference_table('{SCHEMA}.{table}')")
                done[table] = "copied to every machine"
        for table in tables(connection):
            if not spread & {table, f"{SCHEMA}.{table}"}:
                _loosen_unique_indexes(connection, table)
                execute(connection, f"SELECT create_distributed_table('{SCHEMA}.{table}', 'space')")
                done[table] = "spread by space"
    return done


def _loosen_unique_indexes(connection: Connection, table: str) -> None:
    """Citus can only watch over what is unique within a space: other unique indexes become plain ones."""
    found = rows(
        connection,
        "SELECT c.relname, pg_get_indexdef(x.indexrelid) FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid "
        "JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attname = 'space' "
        "WHERE x.indrelid = to_regclass(:table) AND x.indisunique AND NOT a.attnum = ANY(x.indkey)",
        {"table": f"{SCHEMA}.{table}"},
    )
    for name, definition in found:
        execute(connection, f"DROP INDEX {name}")
        execute(connection, definition.replace("CREATE UNIQUE INDEX", "CREATE INDEX", 1))

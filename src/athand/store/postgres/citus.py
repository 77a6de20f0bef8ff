"""Distribution over a Citus cluster: every table by its space, those without a space copied to every machine."""

from athand.errors import StoreError, Unavailable
from athand.store.postgres.schema import REFERENCE_TABLES, SCHEMA, list_tables
from athand.store.postgres.sql import Connection, execute, rows, value


def distribute(connection: Connection, shown: str) -> dict[str, str]:
    """Distributes the remaining local tables, and removes their old rows here; returns what was done by table."""
    if not _has_citus(connection):
        raise Unavailable(
            f"{shown} has no Citus, so its tables stay on one machine and nothing was changed. To spread them, install "
            "Citus on the server and its workers, run CREATE EXTENSION citus as a superuser, then: "
            "athand store distribute"
        )
    spread = set(distributed_tables(connection))
    done: dict[str, str] = {}
    with connection.transaction():
        for table in REFERENCE_TABLES:
            if table not in spread:
                execute(connection, f"SELECT create_reference_table('{SCHEMA}.{table}')")
                done[table] = "copied to every machine"
        for table in list_tables(connection):
            if table not in spread:
                _loosen_unique_indexes(connection, table)
                execute(connection, f"SELECT create_distributed_table('{SCHEMA}.{table}', 'space')")
                done[table] = "spread by space"
    for table in _remove_local_rows(connection, shown):
        done[table] = f"{done.get(table, 'spread before')}; its old rows were removed here"
    return done


def distributed_tables(connection: Connection) -> list[str]:
    """The tables of ours that Citus distributes; none where there is no Citus."""
    if not _has_citus(connection):
        return []
    found = rows(
        connection,
        "SELECT c.relname FROM pg_dist_partition d JOIN pg_class c ON c.oid = d.logicalrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema ORDER BY 1",
        {"schema": SCHEMA},
    )
    return [name for (name,) in found]


def tables_with_local_rows(connection: Connection) -> list[str]:
    """The distributed tables whose own files here hold rows: Citus copies rows to the workers and hides the old ones.

    Read off the size of the files, since a query would be sent to the workers.
    """
    found = rows(
        connection,
        "SELECT relname FROM pg_class WHERE relname = ANY(:tables) AND relnamespace = to_regnamespace(:schema) "
        "AND pg_relation_size(oid) + coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0) > 0 ORDER BY relname",
        {"tables": distributed_tables(connection), "schema": SCHEMA},
    )
    return [name for (name,) in found]


def _remove_local_rows(connection: Connection, shown: str) -> list[str]:
    """Removes the rows that distributed tables had here before, and looks again; returns which tables had any."""
    had = tables_with_local_rows(connection)
    for table in had:
        execute(connection, f"SELECT truncate_local_data_after_distributing_table('{SCHEMA}.{table}')")
    if left := tables_with_local_rows(connection):
        raise StoreError(
            f"{shown} distributed its tables, but old rows of {', '.join(left)} are still on it, deleted ones among "
            "them. Run again: athand store distribute"
        )
    return had


def _has_citus(connection: Connection) -> bool:
    return bool(value(connection, "SELECT 1 FROM pg_extension WHERE extname = 'citus'"))


def _loosen_unique_indexes(connection: Connection, table: str) -> None:
    """Turns unique indexes without the space column into plain ones, as Citus cannot enforce them."""
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

"""Distribution over a Citus cluster: every table by its space, those without a space copied to every machine."""

from collections.abc import Iterator, Mapping

from athand.errors import StoreError, Unavailable
from athand.store.postgres.schema import REFERENCE_TABLES, SCHEMA, list_tables
from athand.store.postgres.sql import Connection, execute, rows, value


def distribute(connection: Connection, shown: str, settings: Mapping[str, object]) -> dict[str, str]:
    """Distributes the remaining local tables, and removes their old rows here; returns what was done by table.

    The settings are made for the database on every machine: those of a connection end at the coordinator.
    """
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
    if any(find_node_problems(connection, settings)):
        _set_on_all_nodes(connection, shown, settings)
        done["settings"] = "made for this database on every machine"
    return done


def find_node_problems(connection: Connection, settings: Mapping[str, object]) -> Iterator[str]:
    """The machines of the cluster that cannot be asked, or whose database lacks some of these settings."""
    wanted = {f"{name}={setting}" for name, setting in settings.items()}
    for node, is_done, result in _run_on_all_nodes(connection, _DATABASE_SETTINGS):
        missing = wanted.difference(result.split(" ")) if is_done else ()
        if not is_done:
            yield f"{node} cannot be asked ({' '.join(result.split())})"
        elif missing:
            yield f"{node} lacks the settings {', '.join(sorted(missing))}; run: athand store distribute"


_DATABASE_SETTINGS = (
    "SELECT coalesce(string_agg(one, ' '), '') FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase, "
    "unnest(s.setconfig) one WHERE d.datname = current_database() AND s.setrole = 0"
)


def _set_on_all_nodes(connection: Connection, shown: str, settings: Mapping[str, object]) -> None:
    name = value(connection, "SELECT quote_ident(current_database())")
    for setting, wanted in settings.items():
        for node, is_done, result in _run_on_all_nodes(connection, f"ALTER DATABASE {name} SET {setting} = '{wanted}'"):
            if not is_done:
                raise StoreError(
                    f"{shown} spread its tables, but {node} refused the setting {setting} "
                    f"({' '.join(result.split())}). Run again, as a superuser: athand store distribute"
                )


def _run_on_all_nodes(connection: Connection, command: str) -> list[tuple[str, bool, str]]:
    """Runs a command on every machine: its name, whether it could be done, and the answer or the error."""
    found = rows(
        connection,
        "SELECT concat(n.nodename, ':', n.nodeport), r.success, r.result FROM run_command_on_all_nodes(:command) r "
        "JOIN pg_dist_node n ON n.nodeid = r.nodeid ORDER BY 1",
        {"command": command},
    )
    return [(node, is_done, result or "") for node, is_done, result in found]


def size_of_shards(connection: Connection, table: str) -> int:
    """The bytes of a distributed table and its indexes on all machines."""
    return int(value(connection, "SELECT citus_total_relation_size(:table)", {"table": f"{SCHEMA}.{table}"}))


def count_on_shards(connection: Connection, table: str) -> int:
    """About how many rows a distributed table has on the machines that answer."""
    return int(
        value(
            connection,
            "SELECT coalesce(sum(result::bigint) FILTER (WHERE success), 0) FROM run_command_on_shards(:table, "
            "'SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = ''%s''::regclass')",
            {"table": f"{SCHEMA}.{table}"},
        )
    )


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

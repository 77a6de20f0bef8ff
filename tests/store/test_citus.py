"""Distribution over a Citus cluster, with a stand-in where Citus is absent."""

import tempfile
from pathlib import Path

import psycopg
import pytest

from athand import Athand
from athand.errors import StoreError
from athand.store.postgres.citus import count_on_shards
from athand.store.postgres.schema import REFERENCE_TABLES, SCHEMA, list_tables

# As on a cluster, the rows are copied into a table of their own (here: one that inherits), and the old ones stay where
# they were until they are truncated. What is written afterwards would not go to the copy.
STAND_IN = """
CREATE SCHEMA shards;
CREATE TABLE pg_dist_partition (logicalrelid regclass, partmethod text);
CREATE TABLE pg_dist_node (nodeid int, nodename text, nodeport int);
INSERT INTO pg_dist_node VALUES (1, 'coordinator', 5432);
CREATE FUNCTION run_command_on_all_nodes(command text) RETURNS TABLE (nodeid int, success boolean, result text)
LANGUAGE plpgsql AS $$
BEGIN
    IF command LIKE 'SELECT%' THEN EXECUTE command INTO result; ELSE EXECUTE command; result := 'done'; END IF;
    RETURN QUERY SELECT 1, TRUE, result;
END $$;
CREATE FUNCTION run_command_on_shards(name regclass, command text)
RETURNS TABLE (shardid bigint, success boolean, result text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(command, 'shards.' || (SELECT relname FROM pg_class WHERE oid = name)) INTO result;
    RETURN QUERY SELECT 1::bigint, TRUE, result;
    RETURN QUERY SELECT 2::bigint, FALSE, 'connection failed';
END $$;
CREATE FUNCTION citus_total_relation_size(name regclass) RETURNS bigint LANGUAGE sql AS $$
    SELECT pg_total_relation_size('shards.' || relname) FROM pg_class WHERE oid = name
$$;
CREATE FUNCTION copy_rows(name regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    shard text := 'shards.' || (SELECT relname FROM pg_class WHERE oid = name);
    columns text := (
        SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
        WHERE attrelid = name AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    );
BEGIN
    EXECUTE format('CREATE TABLE %s () INHERITS (%s)', shard, name);
    EXECUTE format('INSERT INTO %s (%s) SELECT %s FROM ONLY %s', shard, columns, columns, name);
END $$;
CREATE FUNCTION create_reference_table(name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM copy_rows(name);
    INSERT INTO pg_dist_partition VALUES (name, 'n');
END $$;
CREATE FUNCTION create_distributed_table(name regclass, spread_by text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM pg_index x JOIN pg_attribute a ON a.attrelid = name AND a.attname = spread_by
        WHERE x.indrelid = name AND x.indisunique AND NOT a.attnum = ANY(x.indkey)
    ) THEN
        RAISE EXCEPTION 'a unique index without the distribution column';
    END IF;
    PERFORM copy_rows(name);
    INSERT INTO pg_dist_partition VALUES (name, 'h');
END $$;
CREATE FUNCTION truncate_local_data_after_distributing_table(name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = name) THEN
        RAISE EXCEPTION 'supplied parameter is not a distributed relation';
    END IF;
    EXECUTE format('TRUNCATE ONLY %s', name);
END $$;
"""
TRUNCATE = "truncate_local_data_after_distributing_table(regclass)"


@pytest.fixture
def readable_folder():
    """A folder that the server can read, whoever runs it: those of pytest are made private whenever a pytest starts."""
    with tempfile.TemporaryDirectory(prefix="athand-extensions-") as made:
        folder = Path(made, "extension")
        folder.mkdir()
        for each in (folder, folder.parent):
            each.chmod(0o755)
        yield folder


@pytest.fixture
def with_citus(postgres, new_postgres_url, readable_folder):
    """A database whose Citus is a stand-in: it keeps the rule about unique indexes and copies the rows."""
    folder = readable_folder
    (folder / "citus.control").write_text("default_version = '1'\nrelocatable = false\nschema = public\n")
    (folder / "citus--1.sql").write_text(STAND_IN)
    name = psycopg.conninfo.conninfo_to_dict(new_postgres_url)["dbname"]
    postgres.execute(f"ALTER DATABASE {name} SET extension_control_path = '$system:{folder.parent}'")
    postgres.execute("CREATE EXTENSION citus", name)
    return new_postgres_url


AWAY = """connection to the remote node me@worker-2:5432 failed with the following error: could not connect
        Is the server running on that host and accepting TCP/IP connections?"""


def test_what_a_connection_sets_is_set_on_every_machine(with_citus):
    with Athand(with_citus) as athand:
        assert athand.distribute()["settings"] == "made for this database on every machine"
        assert athand.check() == []
    with psycopg.connect(with_citus, autocommit=True) as connection:
        assert connection.execute("SHOW hnsw.iterative_scan").fetchone() == ("relaxed_order",)
        assert connection.execute("SHOW lock_timeout").fetchone() == ("10s",)
        connection.execute(f"ALTER DATABASE {connection.info.dbname} RESET lock_timeout")
    with Athand(with_citus) as athand:
        assert athand.check() == ["coordinator:5432 lacks the settings lock_timeout=10s; run: athand store distribute"]
        assert athand.distribute() == {"settings": "made for this database on every machine"}
        assert athand.check() == []


def test_sizes_are_those_of_the_shards(with_citus):
    with Athand(with_citus) as athand:
        athand.memories.add_many({"content": f"Note {number} on the pier"} for number in range(400))
        athand.distribute()
        with psycopg.connect(with_citus, options="-c search_path=athand,public,shards") as connection:
            sizes = "SELECT sum(pg_total_relation_size('shards.' || relname)) FROM pg_class c JOIN pg_namespace n "
            [(spread,)] = connection.execute(
                f"{sizes} ON n.oid = relnamespace WHERE nspname = 'shards' AND relkind = 'r'"
            )
            assert athand.status().store["bytes"] >= spread > 400 * 768
            connection.execute("ANALYZE shards.memories_vectors")
            assert count_on_shards(connection, "memories_vectors") == 400


def test_a_worker_that_is_away_is_named_in_one_line(new_postgres_url):
    """Its error is raised by a view, as no other machine is at hand."""
    with Athand(new_postgres_url) as athand, psycopg.connect(new_postgres_url) as connection:
        athand.memories.add("Staging deploys need the VPN", project="shop")
        connection.execute(
            "CREATE FUNCTION athand.fail() RETURNS boolean LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{AWAY}' USING ERRCODE = 'connection_failure'; END $$;"
            "ALTER TABLE athand.memories_counts RENAME TO away;"
            "CREATE VIEW athand.memories_counts AS SELECT * FROM athand.away WHERE athand.fail()"
        )
        connection.commit()
        with pytest.raises(StoreError) as search:
            athand.memories.search("VPN", project="shop")
        with pytest.raises(StoreError) as add:
            athand.memories.add("Production deploys do not", project="shop")
        assert athand.memories.get(athand.memories.list(project="shop")[0].id).content.startswith("Staging")
    for error in (search, add):
        assert str(error.value).startswith("worker-2:5432, a machine of the cluster of postgresql://")
        assert "\n" not in str(error.value)


def rows_on_coordinator(url):
    """How many rows each table of ours has itself, where it has any."""
    with psycopg.connect(url, options=f"-c search_path={SCHEMA}") as connection:
        names = [*REFERENCE_TABLES, *list_tables(connection)]
        counted = {name: connection.execute(f"SELECT count(*) FROM ONLY {name}").fetchone()[0] for name in names}
    return {name: count for name, count in counted.items() if count}


def test_with_citus_every_table_is_spread_by_space_or_copied(with_citus, run):
    with Athand(with_citus) as athand:
        athand.memories.add("Staging deploys need the VPN", id="a", project="shop")
    done = run("store", "distribute", "--store", with_citus, "--json").json["tables"]
    assert done["flows"] == "spread by space"
    assert done["memories"] == done["memories_vectors"] == "spread by space; its old rows were removed here"
    assert done["models"] == "copied to every machine; its old rows were removed here"
    with Athand(with_citus) as athand:
        assert [hit.id for hit in athand.memories.search("VPN", project="shop")] == ["a"]
        assert athand.distribute() == {}


def test_no_row_is_left_on_the_coordinator_once_the_tables_are_distributed(with_citus):
    with Athand(with_citus) as athand:
        athand.memories.add(f"The password is zorblax {'x' * 9_000}", id="a", project="shop")
        athand.memories.delete("a", hard=True)
        athand.memories.add("Staging deploys need the VPN", id="b", project="shop")
    assert rows_on_coordinator(with_citus)["memories"] == 1
    with Athand(with_citus) as athand:
        athand.distribute()
    assert rows_on_coordinator(with_citus) == {}


def test_old_rows_that_are_left_are_reported_and_removed_by_the_same_command(with_citus):
    with psycopg.connect(with_citus, autocommit=True) as connection:
        [(real,)] = connection.execute(f"SELECT pg_get_functiondef('{TRUNCATE}'::regprocedure)").fetchall()
        connection.execute(real.replace("EXECUTE format", "PERFORM format"))
        with Athand(with_citus) as athand:
            athand.memories.add("Staging deploys need the VPN", id="a", project="shop")
            with pytest.raises(
                StoreError, match=r"old rows of .*memories, .* are still on it.*athand store distribute"
            ):
                athand.distribute()
            assert any("memories_passages" in each and "athand store distribute" in each for each in athand.check())
            connection.execute(real)
            assert athand.distribute()["memories"] == "spread before; its old rows were removed here"
            assert athand.distribute() == {}
            assert athand.check() == []
    assert rows_on_coordinator(with_citus) == {}

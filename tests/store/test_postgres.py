"""What only PostgreSQL has: addresses, passwords, versions, extensions, and machines to spread over."""

import json
import os
import traceback
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest
from psycopg import sql

from athand import Athand, Settings
from athand.app import SCHEMAS
from athand.errors import DataError, InvalidInput, StoreError
from athand.store import open_store
from athand.store.postgres import schema
from athand.store.postgres.counts import compact
from athand.store.postgres.schema import list_tables
from athand.store.postgres.vector_index import scan_is_faster

SECRET = "correct horse"


def one_sentence_about(error, *parts):
    """An error that says what is wrong and what to do, and does not tell the password."""
    text = str(error.value)
    assert all(part in text for part in parts), text
    assert SECRET not in text
    assert "\n" not in text


@pytest.fixture
def stranger(postgres, postgres_url):
    """The address of a user who must give a password."""
    hba = postgres.folder / "data" / "pg_hba.conf"
    before = hba.read_text()
    postgres.execute(sql.SQL("CREATE ROLE stranger LOGIN PASSWORD {}").format(SECRET))
    hba.write_text(f"local all stranger scram-sha-256\n{before}")
    postgres.execute("SELECT pg_reload_conf()")
    yield lambda password: postgres_url.replace("postgres@", f"stranger:{password}@")
    hba.write_text(before)
    postgres.execute("SELECT pg_reload_conf()")
    postgres.execute("DROP ROLE stranger")


def test_a_wrong_password_is_said_in_one_sentence(stranger):
    for address in (stranger("wrong"), stranger("").replace(":@", "@")):
        with pytest.raises(StoreError) as error:
            open_store(address, SCHEMAS)
        one_sentence_about(error, "refuses the user or the password", "PGPASSWORD")


def test_a_user_without_rights_is_told_so(stranger):
    with pytest.raises(StoreError) as error:
        open_store(stranger(SECRET.replace(" ", "%20")), SCHEMAS)
    one_sentence_about(error, "may not do this", "Grant")


def test_an_unknown_database_is_said_in_one_sentence(postgres):
    with pytest.raises(StoreError) as error:
        open_store(postgres.url("nowhere"), SCHEMAS)
    one_sentence_about(error, "no database nowhere", "createdb nowhere")


def test_an_unknown_user_is_said_in_one_sentence(postgres):
    with pytest.raises(StoreError) as error:
        open_store(postgres.url("postgres").replace("postgres@", "nobody@"), SCHEMAS)
    one_sentence_about(error, "knows no user nobody", "createuser nobody")


def test_a_server_that_is_away_is_said_in_one_sentence(tmp_path):
    for address in ("postgresql://me@127.0.0.1:1/db", f"postgresql://me@/db?host={tmp_path}"):
        with pytest.raises(StoreError) as error:
            open_store(address, SCHEMAS)
        one_sentence_about(error, "cannot be reached", "Start the server", "ATHAND_STORE")


def test_a_server_without_pgvector_is_said_in_one_sentence(postgres):
    url = postgres.create("bare", "template1")
    postgres.execute("ALTER DATABASE bare SET extension_control_path = '/nowhere'")
    with pytest.raises(StoreError) as error:
        open_store(url, SCHEMAS)
    one_sentence_about(error, "has no pgvector", "install it")
    postgres.drop(url)


def test_an_old_server_is_said_in_one_sentence(postgres_url, monkeypatch):
    monkeypatch.setattr(schema, "OLDEST_SERVER", 99)
    with pytest.raises(StoreError) as error:
        open_store(postgres_url, SCHEMAS)
    one_sentence_about(error, "is of version 18", "needs 99 or newer", "Upgrade")


def test_an_old_pgvector_is_said_in_one_sentence(postgres_url, monkeypatch):
    monkeypatch.setattr(schema, "OLDEST_PGVECTOR", (9, 9))
    with pytest.raises(StoreError) as error:
        open_store(postgres_url, SCHEMAS)
    one_sentence_about(error, "has pgvector 0.8", "ALTER EXTENSION vector UPDATE")


def test_an_address_that_cannot_be_read_is_not_repeated(monkeypatch):
    with pytest.raises(InvalidInput) as error:
        open_store(f"postgresql://me:{SECRET}@host/db?colour=blue", SCHEMAS)
    one_sentence_about(error, "cannot be read", "postgresql://user@host")


@pytest.mark.parametrize("password", ["sec/ret", "se@cret", "100%secret"])
def test_a_password_that_breaks_the_address_is_not_shown(password):
    with pytest.raises(InvalidInput) as error:
        open_store(f"postgresql://me:{password}@127.0.0.1:1/db", SCHEMAS)
    shown = "".join(traceback.format_exception(error.value))
    assert "ret@" not in shown.replace("user@", "")
    assert "%40" in str(error.value)


def test_the_password_is_shown_nowhere(postgres_url):
    url = postgres_url.replace("postgres@", f"postgres:{SECRET.replace(' ', '%20')}@")
    with Athand(url) as athand:
        assert "correct" not in json.dumps(athand.status().to_dict())
    assert "correct" not in repr(Settings(store=url))


def test_a_write_with_a_part_refused_is_not_acknowledged(postgres_url):
    with Athand(postgres_url) as athand:
        with pytest.raises(StoreError, match="nothing of it was kept"), athand._store.transaction() as transaction:
            transaction.execute("INSERT INTO settings VALUES ('a', 'b')")
            with suppress(psycopg.Error):
                transaction.execute("INSERT INTO settings VALUES ('a', 'b')")
        with athand._store.snapshot() as snapshot:
            assert snapshot.rows("SELECT value FROM settings WHERE name = 'a'") == []


def test_a_database_that_cannot_hold_all_text_is_refused(postgres):
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match=r"LATIN1.*createdb -E UTF8"):
        open_store(postgres.url("latin"), SCHEMAS)
    postgres.drop(postgres.url("latin"))


def test_the_client_may_have_another_encoding(postgres_url, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with Athand(postgres_url) as athand:
        athand.memories.add("日本語のメモ", id="a")
        assert athand.memories.get("a").content == "日本語のメモ"


def test_a_newer_database_is_refused_and_left_alone(new_postgres_url):
    open_store(new_postgres_url, SCHEMAS).close()
    with psycopg.connect(new_postgres_url) as connection:
        connection.execute("UPDATE athand.settings SET value = '999' WHERE name = 'version'")
    with pytest.raises(DataError, match=r"newer Athand .*pip install --upgrade athand"):
        open_store(new_postgres_url, SCHEMAS)


def test_a_failing_migration_changes_nothing(new_postgres_url):
    with Athand(new_postgres_url) as athand:
        athand.memories.add("kept", id="a")
    memories, *others = SCHEMAS
    newer = replace(memories, steps=(*memories.steps, "ALTER TABLE memories ADD mood TEXT; SELECT broken"))
    with pytest.raises(StoreError, match="broken"):
        open_store(new_postgres_url, (newer, *others))
    with Athand(new_postgres_url) as athand:
        assert athand.memories.get("a").content == "kept"
        assert athand.check() == []


def test_two_processes_may_make_the_tables_at_once(postgres):
    url = postgres.create("race", "template1")
    pids = [os.fork() for _ in range(3)]
    if 0 in pids:  # a child: exits without the parent's clean-up
        try:
            open_store(url, SCHEMAS).close()
            os._exit(0)
        finally:
            os._exit(1)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0, 0, 0]
    postgres.drop(url)


def test_text_that_postgres_cannot_keep_is_refused_and_asking_for_it_finds_nothing(postgres_url):
    with Athand(postgres_url) as athand:
        with pytest.raises(InvalidInput):
            athand.memories.add("a\0b")
        assert athand.memories.search("a\0b") == []
        assert athand.memories.list() == []


def test_the_statistics_are_the_same_after_folding(postgres_url):
    with Athand(postgres_url) as athand:
        for number in range(30):
            athand.memories.add(f"Note {number} on the lighthouse", id=f"n{number}", project=f"p{number % 3}")
        for number in range(0, 30, 4):
            athand.memories.delete(f"n{number}")
        before = athand.memories.fingerprint()
        typo = athand.memories.search("lighthuose", reinforce=False).did_you_mean
        for again in range(2):
            with athand._store.transaction() as transaction:
                compact(transaction._connection, "memories")
            assert athand.memories.fingerprint() == before
            assert (
                athand.memories.search("lighthuose", reinforce=False).did_you_mean
                == typo
                == {"lighthuose": "lighthouse"}
            )
            assert athand.check() == []
            athand.memories.add("Note on the lighthouse keeper", id=f"more{again}", project="p0")
            athand.memories.delete(f"more{again}")


def _rows_by_statistics(url):
    """How many rows the planner believes each table to have: -1 where it does not know."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT relname, reltuples FROM pg_class WHERE relkind = 'r' AND relnamespace = 'athand'::regnamespace"
        )
        return {name: int(rows) for name, rows in found}


@pytest.fixture
def without_autovacuum(new_postgres_url):
    open_store(new_postgres_url, SCHEMAS).close()
    with psycopg.connect(new_postgres_url, options=f"-c search_path={schema.SCHEMA}") as connection:
        for table in list_tables(connection):
            connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    return new_postgres_url


def test_after_folders_are_indexed_the_planner_knows_how_much_there_is(without_autovacuum, tmp_path):
    for number in range(250):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\nThe pier has {number} planks.\n")
    with Athand(without_autovacuum) as athand:
        athand.documents.add(tmp_path, folder_id="notes")
        known = _rows_by_statistics(without_autovacuum)
        tables = ("documents", "document_chunks", "documents_passages", "documents_vectors")
        assert {name: known[name] >= 200 for name in tables} == dict.fromkeys(tables, True)
        assert athand.documents.search_content(semantic_concepts=["planks of the pier"]).data.results


def test_after_a_bulk_add_a_copy_and_a_reindex_the_planner_knows_how_much_there_is(without_autovacuum, tmp_path):
    with Athand(tmp_path / "source.db") as source:
        source.memories.add_many({"content": f"Note {number} on the pier"} for number in range(120))
        source.copy_to(without_autovacuum)
    assert _rows_by_statistics(without_autovacuum)["memories_passages"] == 120
    with Athand(without_autovacuum) as athand:
        athand.memories.add_many({"content": f"Another note on pier {number}"} for number in range(130))
        assert _rows_by_statistics(without_autovacuum)["memories"] == 250
        athand.memories.reindex()
        assert _rows_by_statistics(without_autovacuum)["memories_passages"] == 250


def test_reading_wins_in_small_spaces_and_the_index_in_large_ones():
    assert scan_is_faster(1_000, 1_000_000)
    assert scan_is_faster(20_000, 1_000_000)
    assert not scan_is_faster(100_000, 100_000)
    assert not scan_is_faster(500_000, 1_000_000)


def test_without_citus_the_command_says_so(run, postgres_url):
    done = run("store", "distribute", "--store", postgres_url)
    assert done.code == 69
    assert "has no Citus" in done.err
    assert "CREATE EXTENSION citus" in done.err


def test_a_file_is_not_spread_over_machines(run):
    done = run("store", "distribute")
    assert done.code == 69
    assert "athand store copy" in done.err


def test_every_primary_key_begins_with_the_space(postgres_url):
    open_store(postgres_url, SCHEMAS).close()
    with psycopg.connect(postgres_url, options=f"-c search_path={schema.SCHEMA}") as connection:
        for table in list_tables(connection):
            [(definition,)] = connection.execute(
                "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'p' AND conrelid = %s::regclass",
                (f"{schema.SCHEMA}.{table}",),
            ).fetchall()
            assert definition.startswith(("PRIMARY KEY (space,", "PRIMARY KEY (space)")), table

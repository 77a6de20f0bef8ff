import json
import logging
import os
import sys
from dataclasses import dataclass

import psycopg
import pytest
from tests.postgres import Server

from recollect import Recollect
from recollect.adapters.cli import main


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs the command line in this process, on a store of its own."""
    monkeypatch.setenv("RECOLLECT_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["recollect", *arguments])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        shown = capsys.readouterr()
        return Outcome(code, shown.out, shown.err)

    yield run
    logging.getLogger("recollect").setLevel(logging.NOTSET)  # --quiet is for its own process


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path, monkeypatch):
    """No test sees the user's own store, settings or models."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)


@pytest.fixture(params=["sqlite", "postgres"])
def location(request):
    """An empty store of each engine."""
    return ":memory:" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def recollect(location):
    with Recollect(location) as opened:
        yield opened


@pytest.fixture
def memories(recollect):
    return recollect.memories


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, started by the first test that needs one."""
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def older_postgres():
    with Server(version=16) as server:
        yield server


@pytest.fixture
def postgres_url(postgres):
    """An empty store on the server."""
    url = postgres.create()
    yield url
    postgres.drop(url)


@pytest.fixture(scope="session")
def emptied(postgres):
    """One database for many tests, and how it is emptied: making one for each takes longer than most tests."""
    url = postgres.create()
    with psycopg.connect(url, autocommit=True) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'recollect' AND tablename <> 'settings'"
        deletes = [f"DELETE FROM recollect.{name}" for (name,) in connection.execute(query)]
        deletes.append("DELETE FROM recollect.settings WHERE name NOT IN ('version', 'store_id')")
        connection.execute("SET synchronous_commit = off")

        def emptied():
            connection.execute("; ".join(deletes))
            return url

        yield emptied
    postgres.drop(url)


@pytest.fixture
def postgres16_url(older_postgres):
    url = older_postgres.create()
    yield url
    older_postgres.drop(url)

import json
import logging
import os
import signal
import sys
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from tests.postgres import Database, Server

from athand import Athand
from athand.adapters.cli import main

# The same examples in every run, however slow the machine is; `make soak` draws others each time.
SLOW_OR_SHARED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("soak", deadline=None, suppress_health_check=SLOW_OR_SHARED)
settings.register_profile("repeatable", settings.get_profile("soak"), derandomize=True)
settings.load_profile("repeatable")
# Tests keep nothing in the keyring of whoever runs them.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"


def pytest_configure():
    """Ctrl-C works as at a terminal: a shell starts a background job with SIGINT ignored, and children inherit it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
    monkeypatch.setenv("ATHAND_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("ATHAND_PROJECT", "default")  # not the repository that the tests run in

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["athand", *arguments])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        shown = capsys.readouterr()
        return Outcome(code, shown.out, shown.err)

    yield run
    logging.getLogger("athand").setLevel(logging.NOTSET)  # --quiet is for its own process


@pytest.fixture(autouse=True, scope="session")
def a_home_for_what_tests_share(tmp_path_factory):
    """What is made once for many tests does not see the user's own store, settings or models either."""
    with pytest.MonkeyPatch.context() as patch:
        _move_home(patch, tmp_path_factory.mktemp("home"))
        yield


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path, monkeypatch):
    """No test sees the user's own store, settings or models."""
    _move_home(monkeypatch, tmp_path)


def _move_home(patch, folder):
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        patch.setenv(name, str(folder / name.lower()))
    for name in [name for name in os.environ if name.startswith("ATHAND_")]:
        patch.delenv(name)


@pytest.fixture(params=["sqlite", "postgres"])
def location(request):
    """An empty store of each engine; of SQLite alone for tests marked with `tests.engines.one_engine`."""
    return ":memory:" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def athand(location):
    with Athand(location) as opened:
        yield opened


@pytest.fixture
def memories(athand):
    return athand.memories


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, started by the first test that needs one."""
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def older_postgres():
    with Server(version=16) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_database(postgres):
    return Database(postgres)


@pytest.fixture
def postgres_url(postgres_database):
    """An empty store on the server: the one database of this worker, emptied."""
    return postgres_database.emptied()


@pytest.fixture
def new_postgres_url(postgres):
    """A database of its own, for a test that changes more than rows."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="module")
def module_postgres_url(postgres):
    """A database of its own for all tests of a module."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def postgres16_database(older_postgres):
    return Database(older_postgres)


@pytest.fixture
def postgres16_url(postgres16_database):
    return postgres16_database.emptied()

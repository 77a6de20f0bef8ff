import os
import secrets
import shutil
from pathlib import Path
from random import Random

import pytest

pytest.register_assert_rewrite("stores", "servers")


@pytest.fixture
def seed():
    """Where the chance of a test comes from: printed, and given by FAULT_SEED to play a failure again."""
    chosen = int(os.environ.get("FAULT_SEED") or secrets.randbits(32))
    print(f"FAULT_SEED={chosen}")  # noqa: T201 - pytest shows it when the test fails
    return chosen


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """A closed database whose first memory is a secret, and which has enough others that vectors go to files."""
    from stores import SECRET, fill, opened

    path = tmp_path_factory.mktemp("filled") / "r.db"
    with opened(path) as (_, memories):
        memories.add(SECRET, id="secret")
        fill(memories, Random("filled"))
    return path


@pytest.fixture
def large(filled, tmp_path):
    """A copy of it for one test; nobody has searched it yet."""
    return shutil.copy(filled, tmp_path / "r.db")


@pytest.fixture
def proxy(postgres):
    from proxy import Proxy

    with Proxy(Path(postgres.host) / ".s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture
def far_url(postgres_url, proxy):
    """The store, reached through the proxy."""
    import psycopg

    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    return f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}"


@pytest.fixture
def hasty(monkeypatch):
    """All waits are short but those of writers."""
    from servers import LIMIT

    from recollect.store.postgres import connections, engine

    monkeypatch.setattr(connections, "CONNECTING", LIMIT)
    monkeypatch.setattr(connections.LimitedConnection, "limit", LIMIT)
    monkeypatch.setitem(connections._NETWORK, "connect_timeout", LIMIT)
    monkeypatch.setattr(engine, "READING", LIMIT)

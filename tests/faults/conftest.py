import os
import secrets
import shutil
from functools import cache
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


@pytest.fixture(params=[512, pytest.param(8192, marks=pytest.mark.slow)])
def block(request, monkeypatch):
    """From how many on vectors live in files: fewer than usual, and all other limits of the matrix in proportion."""
    from athand.store.sqlite import engine, matrix, matrix_files

    smaller = matrix_files.BLOCK // request.param
    for module, name in (
        *((module, "BLOCK") for module in (engine, matrix, matrix_files)),
        *((matrix, name) for name in ("EXACT", "RESCORED")),
    ):
        monkeypatch.setattr(module, name, getattr(module, name) // smaller)
    return request.param


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """Closed databases by block: the first memory is a secret, and there are enough others that vectors go to files."""
    from stores import SECRET, fill, opened

    @cache
    def made(block):
        path = tmp_path_factory.mktemp("filled") / "r.db"
        with opened(path) as (_, memories):
            memories.add(SECRET, id="secret")
            fill(memories, Random("filled"), block + 100)
        return path

    return made


@pytest.fixture
def large(filled, block, tmp_path):
    """A copy of one for one test; nobody has searched it yet."""
    return shutil.copy(filled(block), tmp_path / "r.db")


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
def often(monkeypatch):
    """What happens seldom happens often: changes are compacted, and lost connections are tried again."""
    import psycopg_pool.base

    from athand.store.postgres import counts

    monkeypatch.setattr(counts, "COMPACTED_ROWS", 200)
    monkeypatch.setattr(psycopg_pool.base.AttemptWithBackoff, "INITIAL_DELAY", 0.1)

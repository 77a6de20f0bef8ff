import os
import secrets
import shutil
from random import Random

import pytest

pytest.register_assert_rewrite("stores")


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

import pytest

from athand.app import SCHEMAS
from athand.store import open_store


# A store in memory is that of a file with one connection, and what nearly all other tests have.
@pytest.fixture(
    params=[
        "file",
        "postgres",
        pytest.param("memory", marks=pytest.mark.slow),
        pytest.param("postgres16", marks=pytest.mark.slow),
    ]
)
def store(request, tmp_path):
    """One suite over every engine and kind of store."""
    if request.param.startswith("postgres"):
        location = request.getfixturevalue(f"{request.param}_url")
    else:
        location = ":memory:" if request.param == "memory" else str(tmp_path / "store.db")
    opened = open_store(location, SCHEMAS)
    yield opened
    opened.close()

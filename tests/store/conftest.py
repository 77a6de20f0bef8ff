import pytest

from recollect.store import open_store


@pytest.fixture(params=["memory", "file", "postgres", "postgres16"])
def store(request, tmp_path):
    """One suite over every engine and kind of store."""
    if request.param.startswith("postgres"):
        location = request.getfixturevalue(f"{request.param}_url")
    else:
        location = ":memory:" if request.param == "memory" else str(tmp_path / "store.db")
    opened = open_store(location)
    yield opened
    opened.close()

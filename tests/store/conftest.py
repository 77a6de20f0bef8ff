import pytest

from recollect.store import open_store


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    """One suite over every engine and kind of store."""
    opened = open_store(":memory:" if request.param == "memory" else str(tmp_path / "store.db"))
    yield opened
    opened.close()

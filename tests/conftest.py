import pytest

from recollect import Recollect


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path, monkeypatch):
    """No test sees the user's own store, settings or models."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("STORE", "DATA_DIR", "HOME", "MODEL", "DEVICE", "NO_CACHE", "CONFIG"):
        monkeypatch.delenv(f"RECOLLECT_{name}", raising=False)


@pytest.fixture
def recollect():
    with Recollect(":memory:") as opened:
        yield opened


@pytest.fixture
def memories(recollect):
    return recollect.memories

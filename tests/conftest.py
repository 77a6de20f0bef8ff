import json
import sys
from dataclasses import dataclass

import pytest

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

    return run


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

"""What is remembered is its owner's alone."""

import os
import stat
from pathlib import Path

import pytest
from stores import SECRET, opened

from athand import Athand


@pytest.fixture(params=[0o022, 0o000], ids=["umask 022", "umask 000"])
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(*paths):
    return {path.name: stat.filemode(path.stat().st_mode) for path in paths}


def test_a_new_database_and_its_log_are_private(umask, tmp_path):
    with Athand(tmp_path / "new" / "folders" / "r.db") as athand:
        athand.memories.add(SECRET)
        files = list((tmp_path / "new" / "folders").iterdir())
        assert {file.name for file in files} >= {"r.db", "r.db-wal"}
        assert set(modes(*files).values()) == {"-rw-------"}
    assert set(modes(tmp_path / "new", tmp_path / "new" / "folders").values()) == {"drwx------"}


def test_vectors_in_files_are_private(umask, large):
    with opened(large) as (_, memories):
        memories.search("deploy")
    folder = Path(f"{large}-vectors")
    inside = list(folder.rglob("*"))
    assert {file.name for file in inside} >= {"vectors", "bits"}
    assert set(modes(folder, *filter(Path.is_dir, inside)).values()) == {"drwx------"}
    assert set(modes(*filter(Path.is_file, inside)).values()) == {"-rw-------"}

from dataclasses import replace

import apsw
import pytest

from athand import Athand, app
from athand.app import SCHEMAS
from athand.errors import DataError
from athand.store import open_store


def newer_program(step):
    """The corpora of a program that knows one version more of memories."""
    memories, *others = SCHEMAS
    return (replace(memories, steps=(*memories.steps, step)), *others)


def test_an_older_database_is_copied_and_migrated(tmp_path, monkeypatch):
    path = tmp_path / "store.db"
    with Athand(str(path)) as athand:
        athand.memories.add("kept across versions", id="a")
    step = "ALTER TABLE memories ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';"
    monkeypatch.setattr(app, "SCHEMAS", newer_program(step))
    with Athand(str(path)) as athand:
        assert athand.memories.get("a").content == "kept across versions"
        assert athand.check() == []
    copy = tmp_path / "store.db.memories-v1.bak"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert apsw.Connection(str(copy)).execute("SELECT content FROM memories").get == "kept across versions"


def test_a_failing_migration_changes_nothing(tmp_path):
    path = tmp_path / "store.db"
    with Athand(str(path)) as athand:
        athand.memories.add("kept", id="a")
    with pytest.raises(Exception, match="broken"):
        open_store(str(path), newer_program("ALTER TABLE memories ADD COLUMN x; SELECT broken"))
    with Athand(str(path)) as athand:
        assert athand.memories.get("a").content == "kept"


def test_a_database_of_a_newer_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "store.db"
    Athand(str(path)).close()
    apsw.Connection(str(path)).pragma("user_version", 999)
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"newer Athand .*pip install --upgrade athand"):
        Athand(str(path))
    assert path.read_bytes() == before


def test_a_corpus_of_a_newer_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "store.db"
    open_store(str(path), newer_program("ALTER TABLE memories ADD COLUMN mood TEXT;")).close()
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"newer Athand \(schema 2 of memories, this one knows 1\)"):
        Athand(str(path))
    assert path.read_bytes() == before


def test_a_corpus_that_comes_later_gets_its_tables(tmp_path):
    path = tmp_path / "store.db"
    open_store(str(path), SCHEMAS[1:]).close()
    with Athand(str(path)) as athand:
        athand.memories.add("kept", id="a")
        assert athand.check() == []
    assert not list(tmp_path.glob("*.bak"))


def test_a_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "other.db"
    apsw.Connection(str(path)).execute("CREATE TABLE theirs (x)")
    with pytest.raises(DataError, match="another program"):
        Athand(str(path))

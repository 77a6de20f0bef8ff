from contextlib import closing
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
    version = SCHEMAS[0].version
    step = "ALTER TABLE memories ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';"
    monkeypatch.setattr(app, "SCHEMAS", newer_program(step))
    with Athand(str(path)) as athand:
        assert athand.memories.get("a").content == "kept across versions"
        assert athand.check() == []
    copy = tmp_path / f"store.db.memories-v{version}.bak"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert apsw.Connection(str(copy)).execute("SELECT content FROM memories").get == "kept across versions"


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_store_of_an_older_program_knows_its_relations_but_not_who_pinned(engine, request, tmp_path):
    is_file = engine == "sqlite"
    location = str(tmp_path / "store.db") if is_file else request.getfixturevalue("postgres").create(None, "template1")
    memories, *others = SCHEMAS
    store = open_store(location, (replace(memories, steps=memories.steps[:1]), *others))
    with closing(store), store.transaction() as transaction:
        transaction.execute(
            "INSERT INTO memories (space, id, content, created_at, updated_at, project, pinned) "
            "VALUES ('shop', 'old', 'Carts live in Redis', 1, 1, 'shop', 1), "
            "('shop', 'new', 'Carts live in PostgreSQL', 1, 1, 'shop', 0)"
        )
        transaction.execute(
            "INSERT INTO memories (space, id, content, created_at, updated_at, project, tier) "
            "VALUES ('*', 'all', 'Answers are short', 1, 1, 'blog', 'global')"
        )
        for space, source, target in (("shop", "new", "old"), ("blog", "new", "all")):
            transaction.execute(
                "INSERT INTO memory_relations (space, source_id, target_id, type, made_by, valid_from) "
                f"VALUES ('{space}', '{source}', '{target}', 'CONFIRMS', 'user', 1)"
            )
    with Athand(location) as athand:
        assert (athand.memories.get("old").pin_note, athand.memories.pin("old").pinned_by) == ("pinned", None)
        athand.memories.unpin("old")
        assert athand.memories.pin("old").pin_note == "pinned by agent"
        athand.memories.reindex()
        [hit] = athand.memories.search("Carts live in PostgreSQL", project="shop", limit=1)
        assert (hit.related_count, athand.memories.stats("shop").relations) == (2, 1)
        assert athand.check() == []


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
    before, version = path.read_bytes(), SCHEMAS[0].version
    with pytest.raises(
        DataError, match=rf"newer Athand \(schema {version + 1} of memories, this one knows {version}\)"
    ):
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

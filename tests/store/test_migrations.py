import apsw
import pytest

from athand import Athand
from athand.errors import DataError
from athand.store.sqlite import connections, schema


@pytest.fixture
def newer_program(monkeypatch):
    """A program that knows one migration more."""
    steps = (*schema.MIGRATIONS, "ALTER TABLE memories ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';")
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    monkeypatch.setattr(schema, "VERSION", len(steps))
    monkeypatch.setattr(connections, "VERSION", len(steps))


def test_an_older_database_is_copied_and_migrated(tmp_path, request):
    path = tmp_path / "store.db"
    with Athand(str(path)) as athand:
        athand.memories.add("kept across versions", id="a")
    request.getfixturevalue("newer_program")
    with Athand(str(path)) as athand:
        assert athand.memories.get("a").content == "kept across versions"
        assert athand.check() == []
    copy = tmp_path / f"store.db.v{len(schema.MIGRATIONS) - 1}.bak"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert apsw.Connection(str(copy)).execute("SELECT content FROM memories").get == "kept across versions"


def test_a_failing_migration_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "store.db"
    with Athand(str(path)) as athand:
        athand.memories.add("kept", id="a")
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "ALTER TABLE memories ADD COLUMN x; SELECT broken"))
        patched.setattr(schema, "VERSION", len(schema.MIGRATIONS))
        with pytest.raises(Exception, match="broken"):
            Athand(str(path))
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


def test_a_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "other.db"
    apsw.Connection(str(path)).execute("CREATE TABLE theirs (x)")
    with pytest.raises(DataError, match="another program"):
        Athand(str(path))

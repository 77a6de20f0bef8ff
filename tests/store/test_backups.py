"""A store copied while it is in use, and put back; also by processes that are killed in the middle."""

import os
import random
import resource
import stat
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from athand import Athand
from athand.app import SCHEMAS, restore
from athand.errors import Conflict, DataError, InvalidInput, StoreBusy, StoreError, Unavailable
from athand.store import open_store
from athand.store.sqlite import backup


@pytest.fixture
def place(tmp_path):
    """A store with one memory, closed."""
    with Athand(tmp_path / "store.db") as athand:
        athand.memories.add("first", id="first")
    return tmp_path / "store.db"


def ids(path):
    with Athand(path) as athand:
        assert athand.check() == []
        return [memory.id for memory in athand.memories.list()]


def test_every_engine_says_what_it_is(location):
    with closing(open_store(location, SCHEMAS)) as store:
        facts = store.facts()
    assert facts["engine"] in ("sqlite", "postgres")
    assert str(facts["version"])[0].isdigit()
    assert (facts["schema"] >= 1, facts["log"]) == (True, 0)


def test_a_backup_is_one_moment_while_others_write(place, tmp_path):
    with Athand(place) as one, Athand(place) as other:
        other.memories.add("second", id="second")
        copy = one.back_up(tmp_path / "copy.db")
        other.memories.add("third", id="third")
    assert ids(copy) == ["second", "first"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with Athand(place) as athand, pytest.raises(Conflict, match="--force"):
        athand.back_up(copy)
    with Athand(place) as athand:
        athand.back_up(copy, force=True)
    assert ids(copy) == ["third", "second", "first"]
    assert not list(tmp_path.glob(".*unfinished*"))


def test_a_server_is_copied_by_its_own_tools(postgres_url, tmp_path):
    with Athand(postgres_url) as athand, pytest.raises(Unavailable, match="pg_dump --schema=athand"):
        athand.back_up(tmp_path / "copy.db")
    with pytest.raises(InvalidInput, match="pg_restore"):
        restore(postgres_url, tmp_path / "copy.db")


def test_a_backup_takes_the_place_of_the_store_which_is_kept_aside(place, tmp_path):
    with Athand(place) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
        athand.memories.add("second", id="second")
        assert athand.search("second")
    aside = restore(str(place), copy)
    assert ids(place) == ["first"]
    assert ids(aside) == ["second", "first"]
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600
    with Athand(place) as athand:
        assert [hit.id for hit in athand.search("first")] == ["first"]


def test_a_backup_can_be_put_where_nothing_is(place, tmp_path):
    with Athand(place) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
    assert restore(str(tmp_path / "new" / "store.db"), copy) is None
    assert ids(tmp_path / "new" / "store.db") == ["first"]


def test_a_store_that_is_no_database_any_more_is_replaced_too(place, tmp_path):
    with Athand(place) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
    place.write_bytes(b"no database" * 1000)
    Path(f"{place}-wal").write_bytes(b"a log of something else")
    aside = restore(str(place), copy)
    assert ids(place) == ["first"]
    assert aside.read_bytes() == b"no database" * 1000


def test_a_store_with_damaged_pages_is_replaced_too(place, tmp_path):
    with Athand(place) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
    with place.open("r+b") as file:
        for page in range(4096, place.stat().st_size, 3 * 4096):
            file.seek(page)
            file.write(b"\xff" * 2048)
    restore(str(place), copy)
    assert ids(place) == ["first"]


@pytest.mark.parametrize("damage", ["junk", "cut", "other", "newer", "page"])
def test_what_is_no_whole_backup_changes_nothing(place, tmp_path, damage):
    with Athand(place) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
    if damage == "junk":
        copy.write_bytes(b"junk" * 5000)
    elif damage == "cut":
        os.truncate(copy, copy.stat().st_size // 2)
    elif damage == "page":
        with copy.open("r+b") as file:
            file.seek(copy.stat().st_size // 2)
            file.write(b"\xff" * 8192)
    else:
        with closing(apsw.Connection(str(copy))) as connection:
            connection.pragma(*(("application_id", 7) if damage == "other" else ("user_version", 99)))
    before = place.read_bytes()
    with pytest.raises(DataError):
        restore(str(place), copy)
    assert place.read_bytes() == before
    assert not list(tmp_path.glob(".*"))
    assert not list(tmp_path.glob("*.before-*"))


def test_a_store_that_is_open_elsewhere_is_not_replaced(place, tmp_path, monkeypatch):
    with Athand(place) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
    program = "import sys; from athand import Athand; r = Athand(sys.argv[1]); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"open\n"
        with monkeypatch.context() as impatient, pytest.raises(StoreBusy, match="Stop it first"):
            impatient.setattr(backup, "_BUSY_MILLISECONDS", 100)  # it is open for as long as it is waited for
            restore(str(place), copy)
        other.communicate(b"\n")
    restore(str(place), copy)


# Forks after the imports, so that many restores can be killed in little time.
KILLED = """
import os, random, signal, sys, time
from datetime import UTC, datetime
from pathlib import Path
from athand.store.sqlite.backup import restore
place, copy, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
dice = random.Random(seed)
for _ in range(int(sys.argv[4])):
    child = os.fork()
    if child == 0:
        restore(place, copy, datetime.now(UTC))
        os._exit(0)
    while not list(place.parent.glob("*.before-*")) and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.001)
    time.sleep(dice.uniform(0, 0.04))  # now the pages are being written
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    import apsw
    connection = apsw.Connection(str(place))
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    for aside in place.parent.glob("*.before-*"):
        aside.unlink()
    print(connection.execute("SELECT value FROM settings WHERE name = 'which'").get, flush=True)
    connection.execute("UPDATE settings SET value = 'old' WHERE name = 'which'")
    connection.close()
"""


@pytest.mark.parametrize("kills", [5, pytest.param(12, marks=pytest.mark.slow)])
def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(place, tmp_path, kills):
    fill = [(f"x{number}", "padding " * 12_000) for number in range(50)]
    with closing(apsw.Connection(str(place))) as connection:
        connection.executemany("INSERT INTO settings VALUES (?, ?)", [*fill, ("which", "new")])
    with Athand(place) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
    seed = random.SystemRandom().randrange(10_000)
    shown = subprocess.run(
        [sys.executable, "-c", KILLED, str(place), str(copy), str(seed), str(kills)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert shown.returncode == 0, (seed, shown.stderr)
    assert len(shown.stdout.split()) == kills, seed
    assert set(shown.stdout.split()) <= {"old", "new"}, seed
    restore(str(place), copy)
    assert ids(place) == ["first"]


@contextmanager
def files_of_at_most(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0.5, 0.99])
def test_a_disk_that_is_full_changes_nothing(place, tmp_path, room):
    with Athand(place) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
        athand.memories.add("second " * 1000, id="second")
        with files_of_at_most(copy.stat().st_size // 2), pytest.raises(StoreError, match="full"):
            athand.back_up(tmp_path / "other.db")
    with files_of_at_most(int(copy.stat().st_size * room)), pytest.raises(StoreError, match="full") as refused:
        restore(str(place), copy)
    assert not isinstance(refused.value, DataError)
    assert not list(tmp_path.glob(".*"))
    assert not list(tmp_path.glob("*.before-*"))
    assert ids(place) == ["second", "first"]

"""A disk that is full, a path that is no database: one clear sentence, the right exit code, nothing lost or changed."""

import os
import resource
import shutil
import subprocess
import sys
from contextlib import closing, suppress
from hashlib import sha256
from random import Random

import apsw
import pytest
from stores import assert_kept, assert_sides_agree, fill, opened, sentence, write_something
from tests.conftest import Outcome

from athand import Athand
from athand.errors import DataError, NotFound, StoreError

IO_ERROR, BAD_DATA = 74, 65


def in_a_process(*arguments, largest_file):
    """The command line in a process of its own, where no file may grow beyond a size: its exit code, what it says."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    done = subprocess.run(
        [sys.executable, "-c", "from athand.adapters.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def assert_one_sentence(done, exit_code, about):
    assert done.code == exit_code, done.err
    assert done.out == ""
    [line] = done.err.strip().splitlines()
    assert line.startswith("Error: ") and str(about) in line


def on_disk(folder):
    """Every file in a folder by its content; readers may leave an empty log and their shared memory behind."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.stat().st_size and file.suffix != ".db-shm")
    return {str(file): sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture
def limited():
    """Sets the size beyond which no file may grow, for this process, until the test is over."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [60_000, 300_000, 1_000_000])
def test_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_room_again(tmp_path, seed, limited, room):
    path, random, told, alive = tmp_path / "r.db", Random(seed), [], []
    with opened(path) as (store, memories):
        limited(room + path.stat().st_size)
        with pytest.raises(StoreError) as full:
            for _ in range(10_000):
                write_something(memories, random, alive, lambda *event: told.append(event))
        assert str(path) in str(full.value) and "full" in str(full.value)
        assert_kept(store, memories, told)
        limited(resource.RLIM_INFINITY)
        assert_kept(store, memories, told)
        alive[:] = [id_ for id_ in alive if told[-1][1] != [id_]]
        for _ in range(20):
            write_something(memories, random, alive, lambda *event: told.append(event))
    with opened(path) as (store, memories):
        assert_kept(store, memories, told)
        assert store.check_integrity() == []
    assert_sides_agree(path)


def test_vectors_that_do_not_fit_into_files_are_found_all_the_same(large, block, limited):
    limited(100 * block)
    with opened(large) as (_, memories):
        assert memories.search("zorblaxing")[0].id == "secret"
    assert list(large.parent.rglob("header.json")) == []


def test_the_command_line_says_that_the_disk_is_full(tmp_path, run):
    path = tmp_path / "r.db"
    with Athand(path) as athand:
        athand.memories.add("The first one")
    full = in_a_process("memory", "add", sentence(Random(1)) * 100, "--store", path, largest_file=16_384)
    assert_one_sentence(full, IO_ERROR, path)
    assert [each["content"] for each in _listed(run, path)] == ["The first one"]
    assert run("memory", "add", "The second one", "--store", str(path)).code == 0
    assert len(_listed(run, path)) == 2


def _listed(run, path):
    return run("memory", "list", "--store", str(path), "--json").json


def _folder(path):
    path.mkdir()


def _random_bytes(path):
    path.write_bytes(Random(1).randbytes(10_000))


def _short_text(path):
    path.write_text("Not a database.\n")


def _of_another_program(path):
    with closing(apsw.Connection(str(path))) as database:
        database.execute("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('Yesterday')")


def _newer(path):
    with Athand(path) as athand:
        athand.memories.add("From the future")
    with closing(apsw.Connection(str(path))) as database:
        database.execute("PRAGMA user_version = 999")


def _below_a_file(path):
    path.parent.write_text("I am a file.")


def _damaged_in_the_middle(path):
    with opened(path) as (_, memories):
        fill(memories, Random(1), 300)
    content = bytearray(path.read_bytes())
    content[4096:] = Random(1).randbytes(len(content) - 4096)
    path.write_bytes(content)


def _cut_off(path):
    with opened(path) as (_, memories):
        fill(memories, Random(1), 300)
    os.truncate(path, 3 * 4096)


@pytest.mark.parametrize(
    ("make", "exit_code"),
    [
        (_folder, IO_ERROR),
        (_below_a_file, IO_ERROR),
        (_random_bytes, BAD_DATA),
        (_short_text, BAD_DATA),
        (_of_another_program, BAD_DATA),
        (_newer, BAD_DATA),
        (_damaged_in_the_middle, BAD_DATA),
        (_cut_off, BAD_DATA),
    ],
)
def test_what_is_no_usable_database_is_refused_and_left_alone(tmp_path, run, make, exit_code):
    path = tmp_path / "some" / "r.db"
    if make is not _below_a_file:
        path.parent.mkdir()
    make(path)
    before = on_disk(tmp_path)
    for command in (("search", "deploy"), ("memory", "add", "Something new"), ("memory", "list"), ("reindex",)):
        assert_one_sentence(run(*command, "--store", str(path)), exit_code, path)
    with pytest.raises(DataError if exit_code == BAD_DATA else StoreError), Athand(path) as athand:
        athand.memories.search("deploy")
    assert on_disk(tmp_path) == before


def test_one_damaged_page_is_noticed_and_the_rest_can_be_read(tmp_path, seed):
    path, random = tmp_path / "r.db", Random(seed)
    with opened(path) as (_, memories):
        fill(memories, random, 300)
    pages = path.stat().st_size // 4096
    for page in random.sample(range(1, pages), 20):
        content = bytearray(path.read_bytes())
        content[page * 4096 : page * 4096 + 4096] = random.randbytes(4096)
        damaged = tmp_path / f"{page}.db"
        damaged.write_bytes(content)
        _use_as_far_as_possible(damaged)


def _use_as_far_as_possible(path):
    """The check finds something; after that, whatever cannot be done raises an error of ours."""
    try:
        with opened(path) as (store, memories):
            assert store.check_integrity()  # before reindex, which may mend what is derived
            for action in (lambda: memories.search("deploy"), lambda: memories.add("New"), memories.reindex):
                with suppress(StoreError):
                    action()
    except StoreError as error:
        assert str(path) in str(error)


def test_a_read_only_file_can_be_searched_but_not_written(tmp_path, run):
    path = tmp_path / "r.db"
    with Athand(path) as athand:
        athand.memories.add("Staging deploys need the VPN", id="vpn")
    path.chmod(0o444)
    before = on_disk(tmp_path)
    with Athand(path) as athand:
        assert [hit.id for hit in athand.search("deploy staging")] == ["vpn"]
        for write in (
            lambda: athand.memories.add("More"),
            lambda: athand.memories.delete("vpn"),
            lambda: athand.memories.delete("vpn", hard=True),
            athand.memories.reindex,
        ):
            with pytest.raises(StoreError, match="read-only"):
                write()
        assert athand.check() == []
    assert_one_sentence(run("memory", "add", "More", "--store", str(path)), IO_ERROR, path)
    assert "vpn" in run("search", "deploy", "--json", "--store", str(path)).out
    assert on_disk(tmp_path) == before


@pytest.fixture
def frozen(tmp_path):
    """A folder, and what makes all in it unchangeable, also for root."""
    folder = tmp_path / "frozen"
    folder.mkdir()
    is_root = os.geteuid() == 0
    if is_root:
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)

    def freeze():
        if is_root:
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        for path in (*folder.iterdir(), folder) if not is_root else ():
            path.chmod(0o555)

    yield folder, freeze
    if is_root:
        subprocess.run(["umount", folder], check=True)
    folder.chmod(0o755)


def test_a_store_on_a_read_only_file_system_that_was_closed_well_is_searched(frozen, run):
    folder, freeze = frozen
    with Athand(folder / "r.db") as athand:
        athand.memories.add("Staging deploys need the VPN", id="vpn")
    freeze()
    with Athand(folder / "r.db") as athand:
        assert [hit.id for hit in athand.search("deploy staging")] == ["vpn"]
        assert athand.check() == []
        with pytest.raises(StoreError, match="read-only"):
            athand.memories.add("More")
    assert "vpn" in run("search", "deploy", "--json", "--store", str(folder / "r.db")).out


def test_one_that_was_not_closed_well_says_what_to_copy(frozen):
    folder, freeze = frozen
    with Athand(folder / "open.db") as athand:
        athand.memories.add("Staging deploys need the VPN", id="vpn")
        for end in ("", "-wal"):
            shutil.copy(folder / f"open.db{end}", folder / f"r.db{end}")
    freeze()
    with pytest.raises(StoreError, match=r"not closed well.*r\.db-wal.*Copy both"):
        Athand(folder / "r.db")


def test_a_hard_delete_on_a_full_disk_says_that_it_deleted_and_what_stays(tmp_path, limited):
    path = tmp_path / "r.db"
    with opened(path) as (_, memories):
        ids = fill(memories, Random(1), 600)
    with opened(path) as (_, memories):
        assert path.stat().st_size > 500_000
        limited(400_000)
        with pytest.raises(StoreError, match=r"in no answer any more, but traces.*athand reindex"):
            memories.delete(ids[0], hard=True)
        limited(resource.RLIM_INFINITY)
        with pytest.raises(NotFound):
            memories.get(ids[0])
        memories.reindex()
        assert memories.store.check_integrity() == [] and memories.check() == []


def test_missing_folders_are_made(tmp_path, run):
    path = tmp_path / "a" / "b" / "r.db"
    assert run("memory", "add", "Something new", "--store", str(path)).code == 0
    assert path.is_file()

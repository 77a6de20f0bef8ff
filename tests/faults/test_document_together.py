"""Several at one folder, a store that is closed too early, a full disk, little memory: what was begun is completed."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from random import Random

import psutil
import pytest
from document_folders import assert_alike, children, edit, fill, indexed, listed, on_disk, write
from stores import fork, join_all
from tests.waiting import PATIENCE, until

from athand import Athand
from athand.errors import StoreError

ENDLESS = 2 * PATIENCE  # seconds that nobody waits


def left_open(folder):
    """The files of a folder that this process has open."""
    return [each.path for each in psutil.Process().open_files() if each.path.startswith(str(folder))]


# Several at once


def _add(location, folder, times=1):
    with indexed(location) as (_, documents):
        for _ in range(times):
            documents.add(folder)


@pytest.mark.parametrize(
    "times", [3, pytest.param(6, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.soak)]
)
def test_processes_may_index_one_folder_at_once(tmp_path, seed, times):
    random, folder, location = Random(seed), tmp_path / "folder", tmp_path / "r.db"
    fill(folder, random, 60)
    indexers = [fork(_add, location, folder, times) for _ in range(3)]
    while any(each.is_alive() for each in indexers):
        edit(folder, random, 1)
        time.sleep(0.02)
    join_all(indexers)
    assert_alike(location, tmp_path / "fresh.db", folder)


def test_a_file_that_another_process_indexes_meanwhile_is_not_taken_for_gone(tmp_path, monkeypatch):
    """One looks at the folder, a file comes and the other indexes it, then the first compares what it saw."""
    from athand.documents import index

    folder, location = tmp_path / "folder", tmp_path / "r.db"
    fill(folder, Random(1), 3)
    with indexed(location) as (_, one), indexed(location) as (_, other):
        one.add(folder)
        usual = index.walk_folder

        def slowly(*given):
            found = usual(*given)
            monkeypatch.setattr(index, "walk_folder", usual)
            write(folder, Random(2))
            other.refresh("folder")
            return found

        monkeypatch.setattr(index, "walk_folder", slowly)
        one.refresh("folder")
        assert len(on_disk(folder)) == one.list_folders()[0].documents


def test_a_file_that_is_changed_and_changed_back_while_two_look_is_right(tmp_path, monkeypatch):
    from athand.documents import index

    folder, location = tmp_path / "folder", tmp_path / "r.db"
    path = write(folder, Random(1), folder / "a.md")
    first = path.read_text()
    with indexed(location) as (_, one), indexed(location) as (_, other):
        one.add(folder)
        os.utime(path, (1_500_000_000, 1_500_000_000))
        usual = index.read_file

        def slowly(root, name):
            monkeypatch.setattr(index, "read_file", usual)
            path.write_text("something else")
            other.refresh("folder")
            path.write_text(first)
            os.utime(path, (1_500_000_000, 1_500_000_000))
            return usual(root, name)

        monkeypatch.setattr(index, "read_file", slowly)
        one.refresh("folder")
        one.refresh("folder")
        assert one.get_document_text("folder", path.relative_to(folder).as_posix()).text == first


def test_a_folder_that_another_process_removes_meanwhile_leaves_nothing_behind(tmp_path):
    folder, location = tmp_path / "folder", tmp_path / "r.db"
    fill(folder, Random(1), 300)
    with indexed(location) as (store, one), indexed(location) as (_, other):
        removed = []

        def remove(done, total):
            if not removed:
                removed.append(other.remove("folder"))

        with pytest.raises(Exception, match="folder"):
            one.add(folder, progress=remove)
        assert removed and one.list_folders() == [] and one.count() == {}
        with store.snapshot() as snapshot:
            for table in ("documents", "document_chunks", "document_problems"):
                assert snapshot.rows(f"SELECT count(*) FROM {table}") == [(0,)]
        assert store.check_integrity() == []


def test_threads_may_refresh_search_and_remove_at_once(tmp_path, seed):
    random, folder = Random(seed), tmp_path / "folder"
    fill(folder, random, 30)
    errors = []
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)

        def work(kind):
            try:
                for _ in range(10):
                    if kind == "refresh":
                        athand.documents.refresh("folder")
                    elif kind == "add":
                        athand.documents.add(folder, wait=False)
                    else:
                        athand.documents.search("deploy the staging server")
                        athand.documents.search_content(exact_terms=["deploy"])
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(kind,)) for kind in ("refresh", "add", "search", "search")]
        for each in threads:
            each.start()
        for _ in range(20):
            edit(folder, random, 1)
            time.sleep(0.01)
        for each in threads:
            each.join()
    assert errors == []
    assert_alike(tmp_path / "r.db", tmp_path / "fresh.db", folder)


# Closing


def own_threads():
    """Our threads, those of servers of other tests among them."""
    return {each for each in threading.enumerate() if each.name.startswith("athand")}


def test_a_store_that_is_closed_while_it_indexes_goes_on_when_it_is_opened_again(tmp_path, seed):
    random, folder = Random(seed), tmp_path / "folder"
    fill(folder, random, 200)
    rounds, before = 0, own_threads()
    while True:
        rounds += 1
        athand = Athand(tmp_path / "r.db")
        athand.documents.add(folder, wait=False)
        time.sleep(random.uniform(0, 0.1 * rounds))  # ever longer, so that a slow machine gets to the end, too
        athand.close()
        assert not own_threads() - before
        assert left_open(tmp_path) == []
        with indexed(tmp_path / "r.db") as (_, documents):
            [state] = documents.list_folders()
            assert state.state in ("pending", "indexing", "ready")
        if state.state == "ready" or rounds == 50:
            break
    assert state.state == "ready"
    assert_alike(tmp_path / "r.db", tmp_path / "fresh.db", folder)


def _slow_reader(monkeypatch):
    """Children that take ages for every page, and may."""
    from athand.documents import readers
    from athand.documents.readers import sandbox_process

    begin, end = sandbox_process._BOOTSTRAP.rsplit("main()", 1)
    slow = (
        "import time\nimport athand.documents.readers.sandbox_worker as worker\n"
        f"worker._run_reader = lambda *_: time.sleep({ENDLESS})\n"
    )
    monkeypatch.setattr(sandbox_process, "_BOOTSTRAP", f"{begin}{slow}main(){end}")
    monkeypatch.setattr(readers, "ReaderSandbox", partial(readers.ReaderSandbox, seconds=ENDLESS))


def test_closing_does_not_wait_for_a_file_that_takes_long_to_read(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    for at in range(5):
        (folder / f"{at}.html").write_text("<p>slow")
    _slow_reader(monkeypatch)
    before = children()
    athand = Athand(tmp_path / "r.db")
    athand.documents.add(folder, wait=False)
    until(lambda: athand.documents.readers._sandbox.worker_pid)
    begin = time.monotonic()
    athand.close()
    assert time.monotonic() - begin < PATIENCE
    assert children() == before
    monkeypatch.undo()
    _add(tmp_path / "r.db", folder)
    with indexed(tmp_path / "r.db") as (_, documents):
        assert listed(documents) == on_disk(folder) and documents.problems() == []


def test_nothing_is_left_after_closing(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.html").write_text("<p>words</p>")
    before, threads = children(), own_threads()
    for at in range(10):
        with Athand(tmp_path / f"{at}.db") as athand:
            athand.documents.add(folder)
            athand.documents.watch()
            assert children() != before
    assert children() == before
    assert not own_threads() - threads
    assert left_open(tmp_path) == []


_READING = """
import sys
from functools import partial
from athand import Athand
from athand.documents import readers
from athand.documents.readers import sandbox_process
readers.ReaderSandbox = partial(readers.ReaderSandbox, seconds={endless})
begin, end = sandbox_process._BOOTSTRAP.rsplit("main()", 1)
slow = "import athand.documents.readers.sandbox_worker as worker\\n{deed}\\n"
sandbox_process._BOOTSTRAP = begin + slow + "main()" + end
print("ready", flush=True)
Athand(sys.argv[1]).documents.add(sys.argv[2])
"""


@pytest.mark.parametrize(
    "deed",
    [
        pytest.param(f"import time; worker._run_reader = lambda *_: time.sleep({ENDLESS})", id="while it reads"),
        pytest.param("pass", id="between two files"),
    ],
)
def test_a_reader_ends_when_its_parent_is_killed(tmp_path, deed):
    folder = tmp_path / "folder"
    folder.mkdir()
    for at in range(300):
        (folder / f"{at}.html").write_text("<p>text" * 200)
    program = _READING.replace("{deed}", deed).replace("{endless}", str(ENDLESS))
    indexer = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "r.db"), str(folder)],
        stdout=subprocess.PIPE,
    )
    assert indexer.stdout.readline() == b"ready\n"
    parent = psutil.Process(indexer.pid)
    until(lambda: parent.children() or indexer.poll() is not None)
    readers_of_it = parent.children()
    indexer.send_signal(signal.SIGKILL)
    indexer.wait()
    indexer.stdout.close()
    assert readers_of_it
    until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in readers_of_it))


# Little room


@pytest.mark.parametrize("room", [100_000, pytest.param(500_000, marks=pytest.mark.slow)])
def test_a_full_disk_is_said_and_the_next_run_completes(tmp_path, seed, room):
    random, folder, location = Random(seed), tmp_path / "folder", tmp_path / "r.db"
    fill(folder, random, 200)
    with indexed(location):
        pass
    said = tmp_path / "said"
    indexer = fork(_add_with_little_room, location, folder, location.stat().st_size + room, said)
    join_all([indexer])
    assert str(location) in said.read_text() and "full" in said.read_text()
    with indexed(location) as (store, documents):
        assert store.check_integrity() == []
        [state] = documents.list_folders()
        assert state.state in ("error", "indexing", "pending")
        assert state.state != "error" or "full" in state.reason
    assert_alike(location, tmp_path / "fresh.db", folder)


def _add_with_little_room(location, folder, most, said):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with indexed(location) as (_, documents):
        try:
            documents.add(folder)
        except StoreError as error:
            said.write_text(str(error))


_INDEXING = """
import re, sys
from athand import Athand
with Athand(sys.argv[1]) as athand:
    folder = athand.documents.add(sys.argv[2])
    # Not ru_maxrss: that begins with the memory of the process that started this one.
    print(folder.chunks, int(re.findall(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[0]) * 1024)
"""


@pytest.mark.parametrize(
    "files", [3, pytest.param(20, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.soak)]
)
def test_indexing_takes_little_memory(tmp_path, files):
    folder, random = tmp_path / "folder", Random(7)
    folder.mkdir()
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(3, 9))) for _ in range(5_000)]
    for at in range(files):
        lines = (" ".join(random.choices(words, k=12)) for _ in range(2_500))
        text = "".join(f"## Part {at}\n\n{line}\n\n" if at % 9 == 0 else f"{line}\n" for at, line in enumerate(lines))
        (folder / f"{at}.md").write_text(text)
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert size > files * 190_000
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _INDEXING, str(tmp_path / "r.db"), str(folder)],
        capture_output=True,
        text=True,
    )
    chunks, most = map(int, done.stdout.split())
    print(f"{size:,} bytes, {chunks:,} chunks, {most:,} bytes of memory, {time.monotonic() - begin:.1f} s")  # noqa: T201
    assert most < 400_000_000

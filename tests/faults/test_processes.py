"""Several processes and threads share one database: nobody is told that it is locked, and all see all."""

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from random import Random
from types import SimpleNamespace

import apsw
import pytest
from stores import assert_found, assert_sides_agree, fill, fork, join_all, made_up_word, opened, sentence

from athand import Athand
from athand.store.sqlite import connections

LARGEST_LOG = 80_000_000
LIMITS = ("_CHECKPOINT_PAGES", "_RESTART_PAGES")


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch):
    """Whoever waits for others waits longer than usual: they may be slow."""
    monkeypatch.setattr(connections, "BUSY_SECONDS", 12 * connections.BUSY_SECONDS)


@pytest.fixture
def largest_log(request, monkeypatch):
    """How long the log may get, where everything that keeps it short is so many times smaller."""
    for name in LIMITS:
        monkeypatch.setattr(connections, name, getattr(connections, name) // request.param)
    smaller = re.sub(
        r"(?<=journal_size_limit = )\d+", lambda size: str(int(size[0]) // request.param), connections._PRAGMAS
    )
    monkeypatch.setattr(connections, "_PRAGMAS", smaller)
    return LARGEST_LOG // request.param


def add_one(memories, random):
    word = made_up_word(random)
    memories.add(sentence(random, word), id=word)
    return word


def write_and_look(path, seed, writes, acknowledged):
    """Add memories, find each at once, and say so."""
    random = Random(seed)
    with opened(path) as (_, memories):
        for _ in range(writes):
            word = add_one(memories, random)
            os.write(acknowledged, f"{word}\n".encode())
            assert_found(memories, word)


def search_again_and_again(path, seed, searches):
    random = Random(seed)
    with opened(path) as (_, memories):
        for _ in range(searches):
            hits = memories.search(sentence(random), limit=5)
            assert not hits.notes


@pytest.mark.parametrize(
    ("writers", "readers", "writes"),
    [
        (3, 2, 10),
        pytest.param(4, 2, 40, marks=pytest.mark.slow),
        pytest.param(8, 4, 2000, marks=pytest.mark.soak),
    ],
)
def test_many_processes_write_and_search_one_file(tmp_path, seed, writers, readers, writes):
    path, random = tmp_path / "r.db", Random(seed)
    with opened(path) as (_, memories):
        add_one(memories, random)
    file = tmp_path / "acknowledged"
    with file.open("ab") as acknowledged:
        processes = [
            *(fork(write_and_look, path, random.random(), writes, acknowledged.fileno()) for _ in range(writers)),
            *(fork(search_again_and_again, path, random.random(), 2 * writes) for _ in range(readers)),
        ]
        join_all(processes)
    words = file.read_text().split()
    assert len(set(words)) == writers * writes
    with opened(path) as (store, memories):
        assert memories.count() == {"default": 1 + writers * writes}
        assert {memories.get(word).id for word in words} == set(words)
        assert store.check_integrity() == []
    assert_sides_agree(path)


def test_a_memory_added_by_one_process_is_found_by_meaning_in_another(tmp_path, seed):
    _add_and_find_by_turns(tmp_path / "r.db", Random(seed))


def test_a_memory_added_by_one_process_is_found_in_another_where_vectors_are_in_files(large, block, seed):
    _add_and_find_by_turns(large, Random(seed), block)


def _add_and_find_by_turns(path, random, many=0):
    """Two processes take turns, one line each through a pipe: one adds, the other finds, and the other way round."""
    to_child, from_child = os.pipe(), os.pipe()
    other = fork(_take_turns, path, random.random(), to_child, from_child)
    os.close(to_child[0])
    os.close(from_child[1])
    with opened(path) as (_, memories), os.fdopen(to_child[1], "w", 1) as tell, os.fdopen(from_child[0]) as hear:
        for _ in range(20):
            tell.write(add_one(memories, random) + "\n")
            assert_found(memories, hear.readline().strip())
        if many:
            tell.write(fill(memories, random, many)[-1] + "\n")
            assert_found(memories, hear.readline().strip())
    join_all([other])


def _take_turns(path, seed, incoming, outgoing):
    random = Random(seed)
    os.close(incoming[1])
    with opened(path) as (_, memories), os.fdopen(incoming[0]) as hear, os.fdopen(outgoing[1], "w", 1) as tell:
        for line in hear:
            assert_found(memories, line.strip())
            tell.write(add_one(memories, random) + "\n")


@pytest.mark.parametrize(
    "races", [4, pytest.param(20, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_processes_may_open_a_new_path_at_the_same_instant(tmp_path, seed, races):
    random = Random(seed)
    for race in range(races):
        path = tmp_path / str(race) / "r.db"
        gate, start = os.pipe()
        processes = [fork(_open_at_once, path, random.random(), gate, start) for _ in range(3)]
        os.close(gate)
        os.close(start)
        join_all(processes)
        with opened(path) as (_, memories):
            assert memories.count() == {"default": 3}


def _open_at_once(path, seed, gate, start):
    os.close(start)
    os.read(gate, 1)  # until everybody has closed the other end
    with opened(path) as (_, memories):
        add_one(memories, Random(seed))


def test_whoever_opens_a_new_path_waits_for_another_who_is_making_it(tmp_path, monkeypatch):
    """SQLite does not: to change the way a database is kept, it wants the lock now or never."""
    path = tmp_path / "r.db"
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: other.execute("COMMIT"))
        monkeypatch.setattr(connections, "time", waiting)
        with opened(path) as (_, memories):
            add_one(memories, Random(1))


@pytest.mark.parametrize(
    ("largest_log", "writes"),
    [(16, 120), pytest.param(1, 1000, marks=pytest.mark.slow), pytest.param(1, 10_000, marks=pytest.mark.soak)],
    indirect=["largest_log"],
)
def test_the_log_stays_bounded_while_others_search_all_the_time(tmp_path, seed, monkeypatch, largest_log, writes):
    monkeypatch.setattr(connections, "_CHECKPOINT_MILLISECONDS", 60_000)  # a machine may let a reader stand still
    path, random = tmp_path / "r.db", Random(seed)
    with opened(path) as (_, memories):
        add_one(memories, random)
    gate, stop = os.pipe()
    readers = [fork(_search_until_told, path, random.random(), gate, stop) for _ in range(3)]
    os.close(gate)
    with opened(path) as (_, memories):
        largest = 0
        for _ in range(writes):
            add_one(memories, random)
            largest = max(largest, (tmp_path / "r.db-wal").stat().st_size)
    os.close(stop)
    join_all(readers)
    assert largest < 0.6 * largest_log  # it starts over long before its file is cut


def _search_until_told(path, seed, gate, stop):
    random = Random(seed)
    os.close(stop)
    os.set_blocking(gate, False)
    with opened(path) as (_, memories):
        while not _is_closed(gate):
            memories.search(sentence(random))


def _is_closed(pipe):
    try:
        return os.read(pipe, 1) == b""
    except BlockingIOError:
        return False


@pytest.mark.parametrize("largest_log", [64, pytest.param(1, marks=pytest.mark.slow)], indirect=True)
def test_the_log_shrinks_once_a_reader_leaves_its_moment(tmp_path, seed, largest_log):
    """SQLite cannot fold the log while someone still reads from it; the promise is that it does not stay so."""
    path, random = tmp_path / "r.db", Random(seed)
    with opened(path) as (_, memories):
        add_one(memories, random)
        with closing(apsw.Connection(str(path))) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM memories").get == 1
            while (tmp_path / "r.db-wal").stat().st_size < largest_log:
                memories.add(made_up_word(random) * (largest_log // 1600))
            assert reader.execute("SELECT count(*) FROM memories").get == 1
        for _ in range(2):
            add_one(memories, random)
        assert (tmp_path / "r.db-wal").stat().st_size < largest_log


@pytest.mark.parametrize(
    "writes", [6, pytest.param(25, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_one_athand_serves_many_threads(tmp_path, seed, writes):
    random = Random(seed)
    with Athand(tmp_path / "r.db") as athand:

        def work(seed):
            mine = Random(seed)
            for _ in range(writes):
                assert_found(athand.memories, add_one(athand.memories, mine))
                athand.search(sentence(mine))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, [random.random() for _ in range(8)]))
        assert athand.memories.count() == {"default": 8 * writes}
        assert athand.check() == []
    assert_sides_agree(tmp_path / "r.db")

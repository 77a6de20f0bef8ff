"""Writers wait for each other in turn; a search waits for nobody; whoever waits in vain hears who writes."""

import os
from contextlib import closing, contextmanager

import apsw
import pytest
from stores import fork, join_all, opened

from athand import Athand
from athand.errors import StoreBusy
from athand.store.sqlite import connections


@pytest.fixture
def path(tmp_path):
    with opened(tmp_path / "r.db") as (_, memories):
        memories.add("Memory about a kettle", id="kettle")
    return tmp_path / "r.db"


@contextmanager
def written_by_another(path):
    """Another process has the lock for writing; its id."""
    (ours, ready), (wait, go_on) = os.pipe(), os.pipe()
    writer = fork(_hold, path, ready, wait)
    assert os.read(ours, 1) == b"r"
    try:
        yield writer.pid
    finally:
        os.write(go_on, b"g")
        join_all([writer])


def _hold(path, ready, wait):
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("BEGIN IMMEDIATE")
        os.write(ready, b"r")
        os.read(wait, 1)


def test_a_search_answers_while_another_process_writes_and_its_use_is_counted_afterwards(path, monkeypatch):
    waits = []
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(connections, "uniform", lambda *_: waits.append(1) or 0.01)
    with Athand(path) as athand:
        with written_by_another(path):
            hits = athand.memories.search("kettle")
            assert [hit.id for hit in hits] == ["kettle"] and hits.notes == ()
            assert athand.memories.get("kettle").access_count == 0 and waits == []
        athand.memories.search("kettle", session="s1")
        assert athand.memories.get("kettle").access_count == 2


def test_uses_that_wait_are_counted_when_the_store_is_closed(path):
    with Athand(path) as athand, written_by_another(path):
        athand.memories.search("kettle", session="s1")
    with Athand(path) as athand:
        assert athand.memories.get("kettle").access_count == 1
        assert [each.id for each in athand.memories.sessions()] == ["s1"]


def test_whoever_waits_in_vain_hears_which_process_writes_and_nothing_is_changed(path, monkeypatch):
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.1)
    with opened(path) as (_, memories), written_by_another(path) as process, pytest.raises(StoreBusy) as busy:
        memories.add("Memory about a lamp")
    assert f"now by process {process}: " in str(busy.value) and "running since" in str(busy.value)
    with opened(path) as (_, memories):
        assert [memory.id for memory in memories.list()] == ["kettle"]


@pytest.mark.parametrize(("writers", "writes"), [(4, 10), pytest.param(8, 500, marks=pytest.mark.soak)])
def test_all_get_their_turn_beside_those_that_write_without_a_pause(path, writers, writes):
    processes = [fork(_write, path, number, writes) for number in range(writers)]
    join_all(processes)
    with opened(path) as (store, _), store.snapshot() as snapshot:
        assert snapshot.rows("SELECT sum(amount) FROM tool_uses") == [(writers * writes,)]


def _write(path, number, writes):
    with opened(path) as (store, _):
        for at in range(writes):
            with store.transaction() as transaction:
                transaction.execute(
                    "INSERT INTO tool_uses (space, name, amount) VALUES (:space, :name, 1)",
                    {"space": f"w{number}", "name": f"n{at}"},
                )

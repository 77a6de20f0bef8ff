"""A writer is killed again and again; what it acknowledged is never lost."""

import json
import os
import shutil
import time
from functools import partial
from itertools import count, groupby
from random import Random

import pytest
from stores import assert_kept, assert_sides_agree, fork, opened, write_something


@pytest.mark.parametrize(
    "cycles", [12, pytest.param(60, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_what_was_acknowledged_survives_kill_9(tmp_path, seed, cycles):
    random = Random(seed)
    path = tmp_path / "r.db"
    known = {}
    for cycle in range(cycles):
        alive = [id_ for id_, state in known.items() if state == "kept"]
        told = [*((state, [id_]) for id_, state in known.items()), *_killed_while_writing(path, random, alive)]
        with opened(path) as (store, memories):
            known = assert_kept(store, memories, told)
            if cycle % 6 == 5:
                assert store.check_integrity() == []
        assert_sides_agree(path)
    assert len(known) > cycles


def _killed_while_writing(path, random, alive):
    """What a writer said until it was killed, after a random number of writes, in the middle of another."""
    ours, theirs = os.pipe()
    writer = fork(_write_until_killed, path, random.getrandbits(32), alive, theirs)
    os.close(theirs)
    with os.fdopen(ours) as words:
        heard = [line for _, line in zip(range(random.randint(0, 16)), words, strict=False)]
        time.sleep(random.uniform(0, 0.006))
        writer.kill()
        writer.join()
        heard += words
    return [json.loads(line) for line in heard]


def _write_until_killed(path, seed, alive, pipe):
    random = Random(seed)

    def tell(state, ids):
        os.write(pipe, (json.dumps([state, ids]) + "\n").encode())

    with opened(path) as (_, memories):
        while True:
            write_something(memories, random, alive, tell)


DEEDS = {
    "adding": lambda memories: memories.add_many(
        [{"content": f"A new {id_}", "id": id_} for id_ in ("kettle", "lamp")]
    ),
    "deleting": lambda memories: memories.delete("old"),
    "erasing": lambda memories: memories.delete("old", hard=True),
}
AFTER = {
    "adding": {"old": False, "kettle": False, "lamp": False},
    "deleting": {"old": True},
    "erasing": {},
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_write_that_is_killed_at_any_of_its_statements_has_taken_place_entirely_or_not_at_all(tmp_path, deed):
    path = tmp_path / "r.db"
    with opened(path) as (store, memories):
        memories.add("The old one", id="old")
        with store._connections.borrow() as connection:
            connection.exec_trace = partial(_keep_what_a_kill_would_leave, path, count(1))
        DEEDS[deed](memories)
    left = sorted(tmp_path.glob("*/r.db"), key=lambda each: int(each.parent.name))
    assert [state for state, _ in groupby(map(_state, [*left, path]))] == [{"old": False}, AFTER[deed]]


def _keep_what_a_kill_would_leave(path, numbers, *_statement):
    """Copy the database and its log as they are now; what is in memory alone is gone."""
    folder = path.parent / str(next(numbers))
    folder.mkdir()
    for file in (path, path.with_name("r.db-wal")):
        shutil.copy(file, folder)
    return True


def _state(path):
    """Which memories there are, and whether they are deleted; all that is derived must agree."""
    with opened(path) as (store, _):
        assert store.check_integrity() == []
        with store.snapshot() as snapshot:
            found = {id_: bool(deleted) for id_, deleted in snapshot.rows("SELECT id, is_deleted FROM memories")}
    assert_sides_agree(path)
    return found

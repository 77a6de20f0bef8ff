"""A writer is killed again and again; what it acknowledged is never lost."""

import json
import os
import time
from random import Random

import pytest
from stores import assert_kept, assert_sides_agree, fork, opened, write_something


@pytest.mark.parametrize("cycles", [60, pytest.param(1000, marks=pytest.mark.soak)])
def test_what_was_acknowledged_survives_kill_9(tmp_path, seed, cycles):
    random = Random(seed)
    path = tmp_path / "r.db"
    known = {}
    for cycle in range(cycles):
        alive = [id_ for id_, state in known.items() if state == "kept"]
        told = [*((state, [id_]) for id_, state in known.items()), *_killed_while_writing(path, random, alive)]
        with opened(path) as (store, memories):
            known = assert_kept(store, memories, told)
            if cycle % 10 == 9:
                assert store.integrity() == []
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

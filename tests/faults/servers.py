"""What the tests of lost servers share: those who write meanwhile, and what must be true afterwards."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random

import pytest
from stores import made_up_word, sentence
from tests.waiting import PATIENCE

from athand.errors import StoreError
from athand.store.postgres import connections, engine

LIMIT = 0.3  # seconds, in the place of the ten and more that a user would wait


class Writers:
    """Threads that add one memory after the other, and note what they were told of each."""

    def __init__(self, memories, random, threads=4):
        self.kept, self.unsure, self.errors = set(), set(), Counter()
        self._memories = memories
        self._stop = threading.Event()
        self._threads = ThreadPoolExecutor(threads or 1)
        self._writing = [self._threads.submit(self._write, Random(random.random())) for _ in range(threads)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._threads.shutdown()
        for each in self._writing:
            each.result()

    def wait_for(self, count):
        """Until so many more are acknowledged."""
        goal, deadline = len(self.kept) + count, time.monotonic() + PATIENCE
        while len(self.kept) < goal:
            assert time.monotonic() < deadline, f"Nobody gets on: {self.errors}"
            assert not any(each.done() and each.exception() for each in self._writing)
            time.sleep(0.001)

    def add(self, random):
        """Add one. Where that fails, try again with the same id and key, or leave it as it is."""
        id_ = made_up_word(random)
        text, project = sentence(random, id_), random.choice(("default", "other"))
        self.unsure.add(id_)
        while id_ not in self.kept:
            try:
                assert self._memories.add(text, id=id_, key=id_, project=project).id == id_
                self.kept.add(id_)
            except StoreError as error:
                self.errors[str(error)] += 1
                if self._stop.is_set() or random.random() < 0.3:
                    break

    def _write(self, random):
        while not self._stop.is_set():
            self.add(random)


def assert_kept(athand, told):
    """Every acknowledged memory is there, the others are there or not, and none is there twice."""
    with athand._store.snapshot() as snapshot:
        rows = snapshot.rows("SELECT id, content FROM memories")
        indexed = snapshot.rows("SELECT item_id FROM memories_passages")
    ids = {id_ for id_, _ in rows}
    assert told.kept - ids == set()
    assert ids - told.kept - told.unsure == set()
    assert len(rows) == len(ids) == len({content for _, content in rows})
    assert sorted(indexed) == sorted((id_,) for id_ in ids)
    assert athand.check() == []
    last = max(told.kept)
    assert athand.search(athand.memories.get(last).content, limit=1)[0].id == last


@contextmanager
def no_patience(athand):
    """Nobody waits for long: for times when nobody would answer, however long one waits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "CONNECT_SECONDS", LIMIT)
        patch.setattr(connections, "GRACE_SECONDS", 0)
        patch.setattr(connections.LimitedConnection, "limit", LIMIT)
        patch.setattr(athand._store._connections._pool, "timeout", LIMIT)
        patch.setattr(engine, "READ_SECONDS", LIMIT)
        patch.setattr(engine, "WRITE_SECONDS", LIMIT)
        yield


def works_again(work):
    """What `work` gives once the trouble is over: at once, or when lost connections have been replaced."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except StoreError:
            if time.monotonic() > deadline:
                raise

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.memories import Memories
from athand.store import open_store

EMBEDDER = LazyEmbedder(DEFAULT_MODEL)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def advance(self, **by):
        self.now += timedelta(**by)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def timed(clock, location):
    """Memories whose clock the test moves."""
    with closing(open_store(location, SCHEMAS)) as store:
        yield Memories(store, EMBEDDER, clock=clock)


@pytest.fixture
def fresh(clock):
    """Another store, empty, at the same time."""
    return Memories(open_store(":memory:", SCHEMAS), EMBEDDER, clock=clock)

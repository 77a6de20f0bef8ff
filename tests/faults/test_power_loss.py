"""The power goes at any moment; what was acknowledged is on the disk, and the database is whole."""

import re
from itertools import chain, count, islice
from random import Random

import apsw
import pytest
from powerloss import RecordingVFS, write_image
from stores import assert_kept, assert_sides_agree, opened, write_something

from athand.errors import AthandError

RUNS = 4
MOST = 5_000  # images until damage shows that is bound to come
TOLD = "told"


@pytest.mark.parametrize(
    "images", [60, pytest.param(300, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.soak)]
)
def test_what_was_acknowledged_survives_a_power_loss(tmp_path, seed, images):
    assert [damage for damage in islice(_images(tmp_path, Random(seed)), images) if damage] == []


def test_without_waiting_for_the_disk_a_power_loss_does_damage(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(apsw, "Connection", _connection_with("OFF"))
    images = islice(_images(tmp_path, Random(seed)), MOST)
    assert any("lost" in damage for damage in images) and any("corrupt" in damage for damage in images)


@pytest.mark.parametrize("images", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_a_store_that_waits_for_checkpoints_only_may_lose_but_never_breaks(tmp_path, seed, monkeypatch, images):
    monkeypatch.setattr(apsw, "Connection", _connection_with("NORMAL"))
    more = islice(_images(tmp_path, Random(seed)), MOST)
    some = list(islice(more, images))
    assert not any("corrupt" in damage for damage in some)
    assert any("lost" in damage for damage in chain(some, more))


def _connection_with(synchronous):
    """A connection that never lets the store choose how careful to be."""

    class Connection(apsw.Connection):
        def execute(self, statements, *arguments, **options):
            chosen = re.sub(r"synchronous = \w+", f"synchronous = {synchronous}", statements)
            return super().execute(chosen, *arguments, **options)

    return Connection


def _images(tmp_path, random):
    """What is wrong with one image after the other; nothing, if it is as it should be."""
    recordings = [_record(tmp_path / f"run{run}", random) for run in range(RUNS)]
    return (_damage(tmp_path / str(image), random.choice(recordings), random) for image in count())


def _record(folder, random):
    """A run of writes to a store that folds its log into the file now and then, and is closed and opened again.

    What was told of the writes stands between the events on the disk.
    """
    folder.mkdir()
    vfs = RecordingVFS(folder.name)
    alive = []
    for _ in range(random.randint(1, 3)):
        with opened(folder / "r.db", folder.name) as (store, memories):
            with store._connections.borrow() as connection:
                connection.wal_autocheckpoint(random.choice((8, 40, 1000)))
            for _ in range(random.randint(5, 25)):
                write_something(memories, random, alive, lambda *told: vfs.events.append((TOLD, *told)))
    vfs.unregister()
    return vfs.events


def _damage(folder, events, random):
    """What is wrong after the power went at a random moment; nothing, if all is well."""
    cut = random.randint(0, len(events))
    told = [event[1:] for event in events[:cut] if event[0] == TOLD]
    folder.mkdir()
    write_image([event for event in events[:cut] if event[0] != TOLD], random, folder)
    path = folder / "r.db"
    try:
        with opened(path) as (store, memories):
            if findings := store.check_integrity():
                return f"corrupt after event {cut}: {findings}"
            assert_kept(store, memories, told)
        assert_sides_agree(path)
    except AssertionError as error:
        return f"lost after event {cut}: {error}"
    except AthandError as error:
        return f"corrupt after event {cut}: {error}"
    return ""

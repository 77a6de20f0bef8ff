"""Indexing is killed again and again, while files change: the next run completes it, and nothing is wrong."""

import signal
import time
from itertools import count
from random import Random

import pytest
from document_folders import assert_alike, edit, fill, indexed
from stores import die_at_step, fork


def _add(location, folder):
    with indexed(location) as (_, documents):
        documents.add(folder)


def _killed(location, folder, seconds):
    """Index, but not for longer; whether it was killed before it was done."""
    indexer = fork(_add, location, folder)
    indexer.join(seconds)
    was_alive = indexer.exitcode is None
    indexer.kill()
    indexer.join()
    assert was_alive or indexer.exitcode == 0
    return was_alive


def test_indexing_that_is_killed_at_any_step_of_a_write_is_completed_by_the_next_run(tmp_path):
    folder = tmp_path / "folder"
    fill(folder, Random(1), 8)
    with indexed(tmp_path / "fresh.db") as (_, documents):
        documents.add(folder)
        expected = documents.fingerprint()
    for number in count(1):
        indexer = fork(_add_up_to, tmp_path / f"{number}.db", folder, number)
        indexer.join()
        with indexed(tmp_path / f"{number}.db") as (store, documents):
            assert store.check_integrity() == []
            documents.add(folder)
            assert documents.fingerprint() == expected
        if indexer.exitcode == 0:
            break
        assert indexer.exitcode == -signal.SIGKILL
    assert number > 1


def _add_up_to(location, folder, number):
    die_at_step(number)
    _add(location, folder)


def _kill_again_and_again(location, fresh, folder, random, kills):
    fill(folder, random, 120)
    begin = time.monotonic()
    _add(fresh("first"), folder)
    duration = time.monotonic() - begin
    killed = 0
    while killed < kills:
        if _killed(location, folder, random.uniform(0, duration) * random.choice((0.2, 0.5, 1))):
            killed += 1
        else:  # it was faster: there must be something to do for the next one
            fill(folder, random, 40)
        with indexed(location) as (store, _):
            assert store.check_integrity() == []
        if killed % 2:
            edit(folder, random)
    with indexed(location) as (_, documents):
        documents.add(folder)
    assert_alike(location, fresh("last"), folder)


@pytest.mark.parametrize(
    "kills", [5, pytest.param(20, marks=pytest.mark.slow), pytest.param(500, marks=pytest.mark.soak)]
)
def test_indexing_that_is_killed_is_completed_by_the_next_run(tmp_path, seed, kills):
    _kill_again_and_again(
        tmp_path / "r.db", lambda name: tmp_path / f"{name}.db", tmp_path / "folder", Random(seed), kills
    )


@pytest.mark.parametrize(
    "kills", [2, pytest.param(8, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.soak)]
)
def test_indexing_into_a_server_that_is_killed_is_completed_by_the_next_run(
    tmp_path, seed, kills, postgres, postgres_url
):
    made = []

    def fresh(_name):
        made.append(postgres.create())
        return made[-1]

    try:
        _kill_again_and_again(postgres_url, fresh, tmp_path / "folder", Random(seed), kills)
    finally:
        for url in made:
            postgres.drop(url)


@pytest.mark.parametrize("kills", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_removing_a_folder_that_is_killed_leaves_all_or_nothing(tmp_path, seed, kills):
    random, folder, location = Random(seed), tmp_path / "folder", tmp_path / "r.db"
    fill(folder, random, 60)
    for _ in range(kills):
        _add(location, folder)
        remover = fork(_remove, location)
        remover.join(random.uniform(0, 0.08))
        remover.kill()
        remover.join()
        with indexed(location) as (store, documents):
            assert store.check_integrity() == []
            assert [each.documents for each in documents.list_folders()] in ([60], [])
            assert bool(documents.count()) == bool(documents.list_folders())
    _add(location, folder)
    assert_alike(location, tmp_path / "fresh.db", folder)


def _remove(location):
    with indexed(location) as (_, documents):
        documents.remove("folder")

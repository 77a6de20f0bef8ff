"""Vectors that are damaged, foreign or old are never believed: the database is the truth, files beside it a copy."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from random import Random

import apsw
import pytest
from stores import EMBEDDER, SECRET, assert_found, fill, opened, sentence

from athand.store.sqlite import connections

QUERIES = ("deploy the staging server", "budget meeting with a customer", "zorblaxing passphrase", "winter bicycle")


def answers(path, *, use_files=True):
    """What searches find, to the last digit of their scores."""
    folder = Path(f"{path}-vectors")
    if not use_files:
        shutil.rmtree(folder, ignore_errors=True)
    with opened(path) as (_, memories):
        found = [memories.search(query, limit=50, reinforce=False) for query in QUERIES]
        return [[(hit.id, hit.why.total) for hit in hits] for hits in found]


def files_of(path):
    [header] = Path(f"{path}-vectors").rglob("header.json")
    return header.parent


@pytest.fixture
def searched(large):
    """A database that was searched, so that the files of its vectors are there; and what was found."""
    expected = answers(large)
    assert files_of(large) and answers(large) == expected
    return large, expected


def damage_vector(path, id_):
    with closing(apsw.Connection(str(path))) as database:
        damaged = "CAST(substr(vector, 1, 100) || x'3c3c3c3c' || substr(vector, 105) AS BLOB)"
        its_hash = "SELECT hash FROM memories_passages WHERE item_id = ?"
        database.execute(f"UPDATE vectors SET vector = {damaged} WHERE hash = ({its_hash})", (id_,))
        assert database.changes() == 1


def test_a_damaged_vector_is_noticed_left_out_and_made_again(tmp_path, seed):
    path, random = tmp_path / "r.db", Random(seed)
    with opened(path) as (_, memories):
        ids = fill(memories, random, 200)
    damage_vector(path, ids[7])
    with opened(path) as (store, memories):
        [finding] = store.check_integrity()
        assert "vector" in finding and "athand reindex" in finding
        content = memories.get(ids[7]).content
        [damaged] = [hit for hit in memories.search(content, limit=200) if hit.id == ids[7]]
        assert damaged.why.signals["keyword"].raw > 0 and damaged.why.signals["semantic"].raw == 0
        memories.reindex()
        assert store.check_integrity() == []
        assert_found(memories, ids[7])


@pytest.mark.parametrize("file", ["numbers", "spaces", "vectors", "bits", "header.json"])
def test_cut_off_files_change_no_answer(searched, file):
    path, expected = searched
    content = (files_of(path) / file).read_bytes()
    (files_of(path) / file).write_bytes(content[: len(content) // 3])
    assert answers(path) == expected


@pytest.mark.parametrize("file", ["numbers", "spaces", "vectors", "bits", "header.json"])
def test_missing_files_change_no_answer(searched, file):
    path, expected = searched
    (files_of(path) / file).unlink()
    assert answers(path) == expected


@pytest.mark.parametrize("file", ["numbers", "header.json"])
def test_random_bytes_in_a_file_change_no_answer(searched, seed, file):
    path, expected = searched
    size = (files_of(path) / file).stat().st_size
    (files_of(path) / file).write_bytes(Random(seed).randbytes(size))
    assert answers(path) == expected


@pytest.mark.parametrize("header", ["[]", "{}", "null", "7", '{"rows": "many"}'])
def test_a_header_that_is_no_header_changes_no_answer(searched, header):
    path, expected = searched
    (files_of(path) / "header.json").write_text(header)
    assert answers(path) == expected


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda block: {"rows": block // 4}, id="a part of a block"),
        pytest.param(lambda block: {"rows": -block}, id="fewer than none"),
        pytest.param(lambda block: {"rows": block * 10**9}, id="too many"),
        pytest.param(lambda block: {"rows": None}, id="no rows"),
        pytest.param(lambda block: {"last": "x"}, id="no number"),
    ],
)
def test_a_header_that_cannot_be_true_changes_no_answer(searched, block, change):
    path, expected = searched
    header = files_of(path) / "header.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | change(block)))
    assert answers(path) == expected


def test_files_of_another_database_change_no_answer(searched, block, tmp_path):
    path, expected = searched
    other = tmp_path / "other.db"
    with opened(other) as (_, memories):
        fill(memories, Random(2), block + 100)
    answers(other)
    shutil.rmtree(f"{path}-vectors")
    shutil.copytree(f"{other}-vectors", f"{path}-vectors")
    assert answers(path) == expected


def test_files_newer_than_a_restored_backup_change_no_answer(searched, block, tmp_path):
    path, expected = searched
    shutil.copy(path, tmp_path / "backup.db")
    with opened(path) as (_, memories):
        fill(memories, Random(3), block + 100)
    answers(path)
    shutil.copy(tmp_path / "backup.db", path)
    assert answers(path) == expected


def test_files_newer_than_a_backup_that_went_another_way_change_no_answer(tmp_path, block):
    """After the restore as many memories are added as before it, and the last one has the same text."""
    path, same = tmp_path / "r.db", sentence(Random(4), "goodbye")
    with opened(path) as (_, memories):
        memories.add("The beginning")
    shutil.copy(path, tmp_path / "backup.db")
    for way in (5, 6):
        shutil.copy(tmp_path / "backup.db", path)
        with opened(path) as (_, memories):
            fill(memories, Random(way), block - 2)
            memories.add(same)
        found = answers(path)
    assert found == answers(path, use_files=False)


def test_deleting_the_files_of_a_store_in_use_changes_no_answer(large, block, seed):
    with opened(large) as (_, memories):
        memories.search("deploy")
        shutil.rmtree(f"{large}-vectors")
        fill(memories, Random(seed), block)
        memories.search("deploy")
        assert_found(memories, "secret")
    assert answers(large) == answers(large, use_files=False)


def test_a_store_in_use_does_not_mind_that_another_rebuilds_everything(large, block, seed):
    random = Random(seed)
    with opened(large) as (_, memories), opened(large) as (_, others):
        assert_found(memories, "secret")
        others.reindex()
        assert_found(others, "secret")
        assert_found(memories, "secret")
        for each in (memories, others):
            fill(each, random, block // 2)
            assert_found(memories, "secret")
            assert_found(others, "secret")
    assert answers(large) == answers(large, use_files=False)


def test_a_search_of_an_old_moment_does_not_spoil_the_files_of_now(large, block, seed, monkeypatch):
    """One reader still sees the store as it was before a reindex, and writes down the vectors of then."""
    monkeypatch.setattr(connections, "READER_SECONDS", 1)  # the reindex waits in vain for the reader to leave
    with opened(large) as (_, memories), opened(large) as (old_store, old):
        with old_store.snapshot() as moment:
            moment.rows("SELECT count(*) FROM memories")
            memories.reindex()
            assert_found(memories, "secret")
            _search_in(moment)
        fill(memories, Random(seed), block)
        assert_found(memories, "secret")
        assert_found(old, "secret")
    assert answers(large) == answers(large, use_files=False)


def _search_in(moment):
    from athand.memories.scoring import INDEX
    from athand.types import Query

    vector = EMBEDDER.attempt(lambda model: model.embed_query(SECRET))
    found = moment.candidates(INDEX, Query(SECRET, ("zorblaxing",), vector, "athand-static-1"))
    assert max(candidate.cosine or 0 for candidate in found.passages) > 0.99

import numpy as np
import pytest

from athand import Athand
from athand.store.sqlite import matrix, matrix_files
from athand.store.sqlite.matrix_files import sign_planes


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 16 rows, so that a few dozen memories fill several."""
    for module in ("matrix_files", "matrix", "engine"):
        monkeypatch.setattr(f"athand.store.sqlite.{module}.BLOCK", 16)


def fill(athand, start, end):
    athand.memories.add_many({"content": f"entry {n} about topic {n % 7}", "id": f"m{n}"} for n in range(start, end))


def answers(athand, query="a topic entry"):
    return [(hit.id, round(hit.score, 6)) for hit in athand.search(query, limit=30)]


def stored_rows(path):
    files = matrix_files.MatrixFiles(path.with_name(path.name + "-vectors"), "memories", 1, 384)
    header = files._header()
    return header["rows"] if header else 0


def test_signs_are_packed_by_planes_of_64_dimensions():
    vectors = np.random.default_rng(1).normal(size=(5, 100))
    planes = sign_planes(vectors)
    assert planes.shape == (2, 5)
    for row in range(5):
        for dimension in range(100):
            bit = int(planes[dimension // 64, row]) >> (dimension % 64) & 1
            assert bit == (vectors[row, dimension] > 0)


def test_full_blocks_go_to_files_and_are_read_by_the_next_process(tmp_path, small_blocks):
    path = tmp_path / "store.db"
    with Athand(str(path)) as first:
        fill(first, 0, 50)
        expected = answers(first)
    assert stored_rows(path) == 48
    with Athand(str(path)) as second:
        assert answers(second) == expected
        fill(second, 50, 75)
        expected = answers(second)
    assert stored_rows(path) == 64
    with Athand(str(path)) as third:
        assert answers(third) == expected


def test_closing_a_snapshot_visits_only_matrices_with_blocks_to_save(tmp_path, small_blocks, monkeypatch):
    visited = []
    save = matrix.VectorMatrix.save
    monkeypatch.setattr(matrix.VectorMatrix, "save", lambda *given: (visited.append(given[0]._corpus), save(*given)))
    path = tmp_path / "store.db"
    with Athand(str(path)) as athand:
        fill(athand, 0, 10)
        answers(athand)  # part of a block stays in memory
        with athand._store.snapshot() as snapshot:
            snapshot.rows("SELECT 1")
        assert visited == []
        for number in range(10, 20):
            fill(athand, number, number + 1)
        answers(athand)
        assert (visited, stored_rows(path)) == (["memories"], 16)
        answers(athand)
        assert visited == ["memories"]


def test_two_processes_extend_the_files_in_turn(tmp_path, small_blocks):
    path = str(tmp_path / "store.db")
    with Athand(path) as one, Athand(path) as two:
        for start in range(0, 150, 25):
            fill(one if start % 50 else two, start, start + 25)
            assert answers(one) == answers(two)
        assert one.check() == []


def test_files_grown_stale_by_deletions_are_made_anew(tmp_path, small_blocks):
    path = tmp_path / "store.db"
    with Athand(str(path)) as athand:
        fill(athand, 0, 128)
        for number in range(116):
            athand.memories.delete(f"m{number}")
        athand.search("topic")
        assert {id_ for id_, _ in answers(athand)} == {f"m{number}" for number in range(116, 128)}
    with Athand(str(path)) as again:
        assert len(answers(again)) == 12


def test_the_vector_side_finds_what_another_process_added_last(tmp_path, small_blocks):
    path = str(tmp_path / "store.db")
    with Athand(path) as one, Athand(path) as two:
        fill(one, 0, 40)
        two.search("warm up")
        one.memories.add("the physician was late", id="new")
        assert two.search("doctor")[0].id == "new"

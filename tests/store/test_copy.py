"""Moving a store from one engine to another, and back."""

import shutil

import pytest

from athand import Athand
from athand import copy as copying
from athand.errors import Conflict, DataError

SENTENCES = [f"Fact number {number} about the {topic}" for number in range(12) for topic in ("garden", "harbour")]


def fill(athand):
    """Something of everything a store can hold."""
    memories = athand.memories
    memories.start_session("shop", id="monday")
    for number, text in enumerate(SENTENCES):
        memories.add(
            text, id=f"m{number:02}", project="shop" if number % 2 else "home", tags=["kept"], key=f"k{number}"
        )
    memories.add("Staging deploys need the VPN", id="old", project="shop", session="monday")
    memories.add("Staging deploys need no VPN any more", id="new", project="shop", session="monday")
    memories.supersede("old", "new")
    memories.add("Wörter mit Ümlauten, 日本語 and a quote ' \\ %s :name", id="odd", tier="global", pinned=True)
    memories.delete("m03")
    memories.delete("m05", hard=True)
    memories.end_session("monday", "All deployed.")


def everything(athand, tmp_path):
    path = tmp_path / "export.jsonl"
    path.unlink(missing_ok=True)
    athand.memories.export(path)
    return path.read_text("utf-8")


def answers(athand):
    questions = ("how do I deploy to staging?", "garden fact 7", "harbor", "Ümlauten")
    found = [athand.memories.search(each, reinforce=False, include_superseded=True) for each in questions]
    return [[(hit.id, round(hit.score, 4)) for hit in hits] for hits in found]


@pytest.fixture
def target(location, tmp_path):
    """Where to copy to, of each engine: a copy is opened again, so it is not in memory."""
    return str(tmp_path / "copy.db") if location == ":memory:" else location


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with a store of everything, closed."""
    folder = tmp_path_factory.mktemp("filled")
    with Athand(folder / "original.db") as athand:
        fill(athand)
    return folder


@pytest.fixture
def original(filled, tmp_path):
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    with Athand(tmp_path / "original.db") as athand:
        yield athand


def test_a_store_moves_to_postgres_and_back_and_nothing_changes(original, postgres_url, tmp_path):
    counts = original.copy_to(postgres_url)
    assert counts["memories"] == len(SENTENCES) + 2
    with Athand(postgres_url) as moved:
        assert everything(moved, tmp_path) == everything(original, tmp_path)
        assert answers(moved) == answers(original)
        assert moved.memories.fingerprint() == original.memories.fingerprint()
        assert moved.check() == []
        moved.copy_to(tmp_path / "back.db")
    with Athand(tmp_path / "back.db") as back:
        assert everything(back, tmp_path) == everything(original, tmp_path)
        assert answers(back) == answers(original)
        assert back.check() == []


@pytest.mark.parametrize("cut_after", [1, 20, *(pytest.param(after, marks=pytest.mark.slow) for after in (10, 40))])
def test_a_copy_that_was_cut_off_goes_on(original, target, cut_after, tmp_path, monkeypatch):
    monkeypatch.setattr(copying, "BATCH", 7)

    def cut(done, total):
        if done >= cut_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        original.copy_to(target, progress=cut)
    original.memories.delete("m07", hard=True)
    original.memories.update("m08", content="This was changed in between")
    original.copy_to(target)
    with Athand(target) as copy:
        assert everything(copy, tmp_path) == everything(original, tmp_path)
        assert copy.check() == []


def test_what_was_copied_already_is_not_written_again(original, target, tmp_path, monkeypatch):
    monkeypatch.setattr(copying, "BATCH", 5)
    with pytest.raises(KeyboardInterrupt):
        original.copy_to(target, progress=lambda done, total: _stop() if done == total else None)
    written = []
    monkeypatch.setattr(copying, "_replace", lambda *given: written.append(given))
    original.copy_to(target)
    assert written == []


def _stop():
    raise KeyboardInterrupt


def test_writing_at_the_source_meanwhile_does_not_disturb_the_copy(original, tmp_path):
    first = iter([True])
    original.copy_to(
        tmp_path / "copy.db",
        progress=lambda done, total: (
            original.memories.add("Written meanwhile", id="late") if next(first, False) else None
        ),
    )
    with Athand(tmp_path / "copy.db") as copy:
        assert copy.check() == []
        assert len(copy.memories.list(limit=100)) == len(original.memories.list(limit=100)) - 1


def test_a_copy_goes_on_after_the_model_was_changed(original, target, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        original.copy_to(target, progress=lambda done, total: _stop())
    with original._store.transaction() as transaction:
        transaction.execute("UPDATE models SET model_id = 'another'")
    original.copy_to(target)
    with Athand(target) as copy:
        assert copy.memories.fingerprint() == original.memories.fingerprint()


def test_a_store_with_something_in_it_is_not_overwritten(original, target, tmp_path):
    with Athand(target) as other:
        other.memories.add("mine", id="mine")
    with pytest.raises(Conflict, match="not empty"):
        original.copy_to(target)
    with Athand(target) as other:
        assert [memory.id for memory in other.memories.list()] == ["mine"]


def test_a_finished_copy_is_a_store_like_any_other_and_not_overwritten(original, tmp_path):
    original.copy_to(tmp_path / "copy.db")
    with pytest.raises(Conflict, match="not empty"):
        original.copy_to(tmp_path / "copy.db")


def test_a_store_is_not_copied_onto_itself(original, tmp_path):
    with pytest.raises(Conflict, match="the store to be copied"):
        original.copy_to(tmp_path / "original.db")


def test_a_copy_that_differs_is_not_called_complete(original, tmp_path, monkeypatch):
    monkeypatch.setattr(copying, "_replace", lambda *given: None)
    with pytest.raises((DataError, KeyError)):
        original.copy_to(tmp_path / "copy.db")


def test_vectors_of_a_model_that_covers_only_a_part_are_copied_too(original, postgres_url):
    with original._store.transaction() as transaction:
        transaction.execute("UPDATE coverage SET complete = 0")
    original.copy_to(postgres_url)
    with Athand(postgres_url) as moved:
        assert moved.memories.fingerprint() == original.memories.fingerprint()


def test_the_command_copies_and_says_what(original, run, tmp_path):
    original.close()
    done = run("store", "copy", str(tmp_path / "original.db"), str(tmp_path / "copy.db"))
    assert done.code == 0
    assert "compared" in done.err
    assert run("store", "copy", str(tmp_path / "original.db"), str(tmp_path / "new.db"), "--json").json["verified"]
    assert run("memory", "show", "new", "--store", str(tmp_path / "copy.db"), "--json").json["id"] == "new"


def test_the_command_does_not_make_the_store_it_should_copy(run, tmp_path):
    done = run("store", "copy", str(tmp_path / "nowhere.db"), str(tmp_path / "copy.db"))
    assert done.code == 1
    assert "There is no store" in done.err
    assert not (tmp_path / "nowhere.db").exists()


@pytest.fixture
def with_documents(original, tmp_path):
    folder = tmp_path / "notes"
    (folder / "src").mkdir(parents=True)
    for number in range(30):
        (folder / f"page{number}.md").write_text(
            f"# Page {number}\n\nStaging deploy number {number}, 100% sure_of it.\n"
        )
    (folder / "src" / "client.py").write_text("def refreshToken(client):\n    return client.post('/token')\n")
    (folder / "empty.txt").write_text("")
    original.documents.add(folder, project="shop")
    return original


def found_documents(athand):
    documents = athand.documents
    answers = [
        documents.search_content(exact_terms=["100% sure_of"], limit=50),
        documents.search_content(
            semantic_concepts=["staging deploy"], exact_terms=["number 7"], min_score=0.0, limit=50
        ),
    ]
    found = [[(each.chunk_id, round(each.relevance_score, 6)) for each in answer.data.results] for answer in answers]
    hits = [(hit.id, round(hit.score, 6)) for hit in documents.search("where is the token refreshed")]
    problems = [problem.document_id for problem in documents.problems()]
    return found, hits, problems, documents.get_document_text("notes", "src/client.py").text


def test_documents_move_too(with_documents, postgres_url, tmp_path):
    expected = found_documents(with_documents)
    assert expected[0][0] and expected[1] and expected[2] == ["empty.txt"]
    with_documents.copy_to(postgres_url)
    with Athand(postgres_url) as moved:
        assert found_documents(moved) == expected
        assert moved.check() == []
        moved.copy_to(tmp_path / "back.db")
    with Athand(tmp_path / "back.db") as back:
        assert found_documents(back) == expected
        assert back.check() == []
        assert back.documents.fingerprint() == with_documents.documents.fingerprint()


def test_a_copy_of_documents_that_was_cut_off_goes_on(with_documents, target, monkeypatch):
    monkeypatch.setattr(copying, "BATCH", 10)

    def cut(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_documents.copy_to(target, progress=cut)
    with_documents.copy_to(target)
    with Athand(target) as copied:
        assert found_documents(copied) == found_documents(with_documents)

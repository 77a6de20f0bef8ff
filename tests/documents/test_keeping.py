"""What is kept, what is forgotten, and whose it is."""

import apsw
import pytest
from tests.engines import one_engine

from athand import Athand
from athand.app import SCHEMAS
from athand.documents import Documents, refresh
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.errors import Conflict, InvalidInput, NotFound, Unavailable
from athand.store import open_store


def found(documents, term):
    return [each.document_id for each in documents.search_content(exact_terms=[term]).data.results]


class TestIgnoring:
    @pytest.mark.parametrize("rules", ["*", "*.md"])
    @one_engine
    def test_what_is_ignored_later_is_forgotten(self, documents, tree, rules):
        documents.add(tree.write_all({"a.md": "needle", "b.md": "needle"}))
        tree.write(".athandignore", rules)
        assert found(documents, "needle") == []

    @one_engine
    def test_an_empty_directory_that_stays_means_that_the_files_are_gone(self, documents, tree):
        documents.add(tree.write("sub/a.md", "needle"))
        tree.remove("sub/a.md")
        assert found(documents, "needle") == []


class TestMachines:
    """A server may be used by several machines; a path means something on one of them."""

    @pytest.fixture
    def machines(self, postgres_url):
        stores = [open_store(postgres_url, SCHEMAS) for _ in range(2)]
        both = [Documents(store, LazyEmbedder(DEFAULT_MODEL)) for store in stores]
        for name, documents in zip(("one", "other"), both, strict=True):
            documents.host = name
        yield both
        for documents, store in zip(both, stores, strict=True):
            documents.close()
            store.close()

    def test_the_same_path_on_two_machines_is_two_folders(self, machines, tree):
        one, other = machines
        tree.write("a.md", "needle")
        assert (one.add(tree).folder_id, other.add(tree).folder_id) == ("project", "project-2")
        assert {each.folder_id: each.state for each in other.list_folders()} == {
            "project": "offline",
            "project-2": "ready",
        }

    def test_nobody_takes_the_folder_of_another_machine(self, machines, tree):
        one, other = machines
        one.add(tree.write("a.md", "needle"), folder_id="notes")
        with pytest.raises(Conflict, match="on one"):
            other.add(tree, folder_id="notes")
        with pytest.raises(Unavailable, match="another machine"):
            other.refresh("notes")
        assert found(one, "needle") == ["a.md"]

    def test_a_folder_stays_the_same_when_its_store_moves(self, tree, postgres_url, tmp_path):
        with Athand(tmp_path / "first.db") as first:
            first.documents.add(tree.write("a.md", "needle"))
            first.copy_to(postgres_url)
        with Athand(postgres_url) as server:
            assert server.documents.add(tree).folder_id == "project"
            server.copy_to(tmp_path / "back.db")
        with Athand(tmp_path / "back.db") as back:
            assert back.documents.refresh("project").state == "ready"


def test_an_answer_without_vectors_is_not_remembered(tmp_path, tree, monkeypatch):
    tree.write("a.md", "The harbour master counts the boats at dawn.")
    asked = {"semantic_concepts": ["counting boats in the harbour"], "min_score": 0.1}
    with Athand(tmp_path / "r.db") as athand:
        with monkeypatch.context() as without:
            without.setattr(athand._embedder, "attempt", lambda action: None)
            athand.documents.add(tree)
        athand.documents._when_uncovered = lambda: None
        with pytest.raises(Unavailable, match="meaning"):
            athand.documents.search_content(**asked)
        athand.documents.embed_missing()
        assert athand.documents.search_content(**asked).data.results


def test_the_loss_of_literal_texts_is_noticed(tmp_path, tree):
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(tree.write("a.md", "needle in the hay"))
        assert athand.check() == []
        connection = apsw.Connection(str(tmp_path / "r.db"))
        connection.execute("INSERT INTO documents_literals (documents_literals) VALUES ('delete-all')")
        connection.close()
        assert any("literal" in finding for finding in athand.check())
        athand.documents.reindex()
        assert athand.check() == []
        assert found(athand.documents, "needle") == ["a.md"]


@one_engine
def test_many_removed_files_do_not_hold_up_a_search(documents, tree, monkeypatch):
    documents.add(tree.write_all({f"{number}.md": "needle" for number in range(60)}))
    started = []
    monkeypatch.setattr(
        refresh.FolderRefresher, "start_background", lambda refresher, folder: started.append(folder.folder_id)
    )
    for number in range(60):
        tree.remove(f"{number}.md") if number else None
    documents.search("needle")
    assert started == ["project"]


@one_engine
def test_a_folder_of_secrets_is_known_by_its_own_name(documents, tmp_path):
    folder = tmp_path / ".kube"
    folder.mkdir()
    (folder / "config").write_text("users:\n- name: me\n  user: {password: hunter2canary}\n")
    documents.add(folder)
    assert found(documents, "hunter2canary") == []
    assert [problem.document_id for problem in documents.problems()] == ["config"]


@one_engine
def test_a_secret_in_a_name_is_not_kept(documents, tree):
    name = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    documents.add(tree.write_all({f"{name}.md": "needle", "b.md": "needle"}))
    assert found(documents, "needle") == ["b.md"]
    [problem] = documents.problems()
    assert name not in problem.document_id and "secret" in problem.reason


def test_every_document_comes_once_where_that_is_asked(documents, tree):
    long = "\n\n".join(f"## Part {number}\n\n{'The ferry leaves the pier. ' * 60}" for number in range(30))
    documents.add(tree.write_all({f"long{number}.md": long for number in range(3)}))
    tree.write_all({f"short{number}.md": "The ferry leaves the pier." for number in range(20)})
    hits = documents.search("when does the ferry leave the pier", limit=10, once=True)
    assert len({hit.item.document_id for hit in hits}) == len(hits) == 10


@pytest.mark.parametrize("folder_id", [None, "", ["x"], 5])
@one_engine
def test_a_call_about_one_folder_needs_its_name(documents, tree, folder_id):
    documents.add(tree.write("a.md", "needle"))
    calls = (
        lambda: documents.explore(folder_id),
        lambda: documents.list_documents(folder_id),
        lambda: documents.get_document_data(folder_id, "a.md"),
        lambda: documents.get_document_text(folder_id, "a.md"),
        lambda: documents.get_chunks(folder_id, ["x"]),
        lambda: documents.remove(folder_id),
    )
    for call in calls:
        with pytest.raises((NotFound, InvalidInput)):
            call()
    assert found(documents, "needle") == ["a.md"]

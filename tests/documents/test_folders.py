"""Folders: adding, freshness, changes on disk, being away, and forgetting."""

import os
import shutil
import threading
from datetime import UTC, datetime, timedelta

import pytest
from tests.engines import one_engine
from tests.waiting import PATIENCE
from zoo import like_anybody

from athand import Athand
from athand.app import SCHEMAS
from athand.documents import Documents
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.errors import Conflict, InvalidInput, NotFound, Unavailable
from athand.store import open_store


def found(documents, term, **asked):
    return [each.document_id for each in documents.search_content(exact_terms=[term], **asked).data.results]


class TestNames:
    def test_a_folder_is_named_after_its_directory(self, documents, tree):
        folder = documents.add(tree.write("a.md", "text"))
        assert (folder.folder_id, folder.path) == ("project", str(tree.root))
        assert (folder.state, folder.documents, folder.chunks, folder.progress) == ("ready", 1, 1, 1.0)
        assert documents.list_folders() == [folder]

    def test_two_of_the_same_name_get_different_ids(self, documents, tree, another_tree):
        tree.write("a.md", "needle one")
        another_tree.write("a.md", "needle two")
        assert [documents.add(each).folder_id for each in (tree, another_tree)] == ["project", "project-2"]
        assert len(found(documents, "needle")) == 2
        assert found(documents, "needle", folder_id="project-2") == ["a.md"]

    def test_adding_twice_keeps_the_name_and_brings_it_up_to_date(self, documents, tree):
        documents.add(tree.write("a.md", "needle"))
        tree.write("b.md", "needle")
        assert documents.add(tree).documents == 2
        assert documents.add(f"{tree.root}/../project/").folder_id == "project"
        assert len(documents.list_folders()) == 1

    @one_engine
    def test_a_name_can_be_given_and_must_be_free(self, documents, tree, another_tree):
        tree.write("a.md", "text")
        another_tree.write("a.md", "text")
        assert documents.add(tree, folder_id="My.docs-1").folder_id == "My.docs-1"
        assert documents.add(tree, folder_id="My.docs-1").folder_id == "My.docs-1"
        with pytest.raises(Conflict, match=r"My\.docs-1"):
            documents.add(tree, folder_id="other")
        with pytest.raises(Conflict, match="project"):
            documents.add(another_tree, folder_id="My.docs-1")

    @one_engine
    def test_a_name_must_be_a_name(self, documents, tree):
        for name in ("", " ", "a b", "a/b", "a'b", "a\0b", "x" * 300, 5, "\ud800", "a\nb"):
            with pytest.raises(InvalidInput, match="folder_id"):
                documents.add(tree, folder_id=name)
        assert documents.list_folders() == []

    def test_any_directory_gets_a_readable_name_that_works(self, documents, tmp_path):
        for directory in ("Größe & Maß", "..x..", "---", "UPPER", "日本語", "a" * 200):
            (tmp_path / directory).mkdir()
            (tmp_path / directory / "a.md").write_text("needle")
            folder = documents.add(tmp_path / directory)
            assert 0 < len(folder.folder_id) <= 40
            assert found(documents, "needle", folder_id=folder.folder_id) == ["a.md"]

    @one_engine
    def test_what_is_no_folder_is_refused(self, documents, tree, monkeypatch):
        monkeypatch.chdir(tree.root)
        tree.write("a.md", "text")
        for path in (tree.root / "nowhere", "a\0b", "~nobody-at-all/x"):
            with pytest.raises(NotFound):
                documents.add(path)
        for path in ("", "  ", None, 5, b"/tmp", tree.root / "a.md"):
            with pytest.raises(InvalidInput):
                documents.add(path)
        assert documents.list_folders() == []

    @one_engine
    def test_progress_is_told(self, documents, tree):
        for number in range(5):
            tree.write(f"{number}.md", "text")
        told = []
        documents.add(tree, progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (5, 5)

    @one_engine
    def test_it_can_be_indexed_in_the_background(self, documents, tree):
        tree.write("a.md", "needle")
        assert documents.add(tree, wait=False).folder_id == "project"
        documents._refresher.close()
        assert found(documents, "needle") == ["a.md"]


class TestChanges:
    @pytest.fixture(autouse=True)
    def folder(self, documents, tree):
        tree.write_all({"a.md": "alpha needle", "b.md": "beta needle"})
        documents.add(tree)

    def test_an_edit_is_seen_by_the_next_search(self, documents, tree):
        tree.write("a.md", "gamma needle")
        assert found(documents, "gamma") == ["a.md"]
        assert found(documents, "alpha") == []

    @one_engine
    def test_so_is_an_edit_that_keeps_size_and_almost_the_time(self, documents, tree):
        for number in range(10, 30):
            (tree.root / "a.md").write_text(f"alpha number {number}")
            assert found(documents, f"number {number}") == ["a.md"]

    def test_new_and_removed_files_are_seen(self, documents, tree):
        tree.write("sub/c.md", "needle three")
        tree.remove("b.md")
        assert sorted(found(documents, "needle")) == ["a.md", "sub/c.md"]
        assert documents.list_folders()[0].documents == 2
        with pytest.raises(NotFound):
            documents.get_document_text("project", "b.md")

    def test_every_call_sees_them(self, documents, tree):
        tree.write("new.md", "# Zebra\n\nzebra crossing")
        assert documents.list_documents("project").total == 3
        tree.remove("new.md")
        assert "new.md" not in [each.document_id for each in documents.explore("project").documents]
        tree.write("new.md", "# Zebra\n\nzebra crossing")
        assert documents.find_documents("zebra crossing").documents[0].document_id == "new.md"
        tree.write("new.md", "# Okapi\n\nokapi house")
        assert documents.get_document_text("project", "new.md").text == "# Okapi\n\nokapi house"

    def test_a_file_that_becomes_unreadable_is_removed_and_listed(self, documents, tree):
        tree.write("a.md", b"\x00\x01\x02\x00binary")
        assert found(documents, "alpha") == []
        [problem] = documents.problems()
        assert (problem.document_id, problem.is_indexed) == ("a.md", False)
        assert problem.reason
        tree.write("a.md", "alpha again")
        assert found(documents, "alpha") == ["a.md"]
        assert documents.problems() == []

    @one_engine
    def test_a_file_that_gets_ignored_is_removed(self, documents, tree):
        tree.write(".gitignore", "a.md\n")
        assert "a.md" not in found(documents, "needle")

    @one_engine
    def test_a_directory_that_becomes_a_file_is_seen(self, documents, tree):
        tree.write("x/y.md", "needle")
        assert "x/y.md" in found(documents, "needle")
        shutil.rmtree(tree.root / "x")
        tree.write("x", "needle as a file")
        assert sorted(found(documents, "needle")) == ["a.md", "b.md", "x"]


class TestEmbedding:
    @pytest.fixture
    def embedded(self, documents, monkeypatch):
        """The texts that the model is given."""
        texts = []
        model = documents.embedder.attempt(lambda model: model)
        real = model.embed_passages
        monkeypatch.setattr(model, "embed_passages", lambda given: texts.extend(given) or real(given), raising=False)
        return texts

    @one_engine
    def test_only_what_changed_is_embedded(self, documents, tree, embedded):
        tree.write_all({"a.md": "alpha", "b.md": "beta"})
        documents.add(tree)
        assert sorted(embedded) == ["alpha", "beta"]
        embedded.clear()
        documents.refresh("project")
        assert embedded == []
        tree.write("a.md", "gamma")
        documents.refresh("project")
        assert embedded == ["gamma"]

    def test_a_rename_keeps_its_vectors(self, documents, tree, embedded):
        tree.write("old.md", "# Title\n\nalpha needle")
        documents.add(tree)
        embedded.clear()
        (tree.root / "sub").mkdir()
        (tree.root / "old.md").rename(tree.root / "sub/new.md")
        assert found(documents, "needle") == ["sub/new.md"]
        assert embedded == []
        assert documents.search("alpha needle")[0].item.document_id == "sub/new.md"

    def test_a_touch_changes_nothing(self, documents, tree, embedded):
        tree.write("a.md", "alpha")
        before = documents.add(tree)
        chunk = documents.search_content(exact_terms=["alpha"]).data.results[0].chunk_id
        embedded.clear()
        os.utime(tree.root / "a.md", (1_750_000_000, 1_750_000_000))
        documents.refresh("project")
        after = documents.list_folders()[0]
        assert embedded == []
        assert after.generation == before.generation
        assert documents.search_content(exact_terms=["alpha"]).data.results[0].chunk_id == chunk
        assert documents.list_documents("project").documents[0].modified_at == datetime.fromtimestamp(
            1_750_000_000, UTC
        )


class TestBeingAway:
    @pytest.fixture(autouse=True)
    def folder(self, documents, tree):
        documents.add(tree.write_all({"a.md": "needle", "b.md": "needle"}))

    def test_a_missing_folder_is_offline_and_still_found(self, documents, tree):
        tree.root.rename(tree.root.parent / "unmounted")
        answer = documents.search_content(exact_terms=["needle"])
        assert len(answer.data.results) == 2
        assert answer.freshness["project"]["state"] == "offline"
        assert "project" in answer.freshness["project"]["problem"]
        [shown] = documents.list_folders()
        assert (shown.state, shown.documents) == ("offline", 2)
        assert shown.reason
        assert documents.get_document_text("project", "a.md").text == "needle"
        with pytest.raises(Unavailable):
            documents.refresh("project")
        (tree.root.parent / "unmounted").rename(tree.root)
        tree.write("c.md", "needle")
        answer = documents.search_content(exact_terms=["needle"])
        assert len(answer.data.results) == 3
        assert answer.freshness["project"]["state"] == "ready"
        assert "problem" not in answer.freshness["project"]

    @one_engine
    def test_an_empty_mount_point_removes_nothing(self, documents, tree):
        for path in ("a.md", "b.md"):
            tree.remove(path)
        answer = documents.search_content(exact_terms=["needle"])
        assert len(answer.data.results) == 2
        assert "empty" in answer.freshness["project"]["problem"]

    @one_engine
    def test_a_directory_that_cannot_be_read_keeps_its_documents(self, documents, tree):
        tree.write("locked/c.md", "needle")
        assert len(found(documents, "needle")) == 3
        (tree.root / "locked").chmod(0)
        try:
            with like_anybody():
                assert len(found(documents, "needle")) == 3
        finally:
            (tree.root / "locked").chmod(0o700)


class TestAge:
    @pytest.fixture
    def clocked(self, location, tree):
        """Documents whose clock the test moves."""
        now = [datetime(2026, 3, 1, 12, tzinfo=UTC)]
        store = open_store(location, SCHEMAS)
        documents = Documents(store, LazyEmbedder(DEFAULT_MODEL), clock=lambda: now[0])
        documents.add(tree.write("a.md", "needle"))
        yield documents, now
        documents.close()
        store.close()

    @one_engine
    def test_an_index_is_as_old_as_the_last_look(self, clocked, tree, monkeypatch):
        documents, now = clocked
        monkeypatch.setattr("athand.documents.refresh._MIN_INTERVAL", 1e9)
        documents.search_content(exact_terms=["needle"])  # the last look
        now[0] += timedelta(seconds=90)
        tree.write("b.md", "needle")
        answer = documents.search_content(exact_terms=["needle"])
        assert answer.freshness["project"]["age_seconds"] == 90.0
        assert len(answer.data.results) == 1
        monkeypatch.undo()
        documents.refresh("project")
        answer = documents.search_content(exact_terms=["needle"])
        assert answer.freshness["project"]["age_seconds"] == 0
        assert len(answer.data.results) == 2

    def test_an_index_left_in_the_middle_is_gone_on_with(self, clocked, tree):
        documents, now = clocked
        with documents.store.transaction() as transaction:
            transaction.execute("UPDATE document_folders SET state = 'indexing', total = 9, done = 3")
        assert documents.list_folders()[0].state == "indexing"
        assert documents.list_folders()[0].progress == pytest.approx(1 / 3)
        now[0] += timedelta(minutes=10)
        assert documents.list_folders()[0].state == "pending"
        assert documents.search_content(exact_terms=["needle"]).freshness["project"]["state"] == "ready"


class TestForgetting:
    def test_a_removed_folder_is_nowhere(self, documents, tree, another_tree):
        tree.write("a.md", "alpha needle")
        another_tree.write("b.md", "beta needle")
        documents.add(tree)
        documents.add(another_tree, folder_id="kept")
        assert documents.remove("project").folder_id == "project"
        assert found(documents, "needle") == ["b.md"]
        assert [each.folder_id for each in documents.list_folders()] == ["kept"]
        assert documents.count() == {"kept": 1}
        assert (tree.root / "a.md").read_text() == "alpha needle"
        for call in (documents.remove, documents.refresh, documents.explore):
            with pytest.raises(NotFound):
                call("project")

    def test_no_row_of_it_is_left(self, athand, documents, tree):
        tree.write_all({"a.md": "alpha needle", "bad.md": b"\0\1\2"})
        documents.add(tree)
        assert documents.problems()
        documents.remove("project")
        tables = ["document_folders", "documents", "document_chunks", "document_problems", "documents_passages"]
        with documents.store.snapshot() as snapshot:
            for table in tables:
                assert snapshot.rows(f"SELECT count(*) FROM {table}") == [(0,)], table
        assert documents.count() == {}
        assert athand.check() == []

    def test_nothing_of_its_text_is_left_on_disk(self, tmp_path, tree, another_tree):
        tree.write("secretplans/Zanzibar.md", "# Xylophonist\n\nThe quetzalcoatlus flies at midnight over Timbuktu.")
        another_tree.write("kept.md", "Something else that stays")
        location = tmp_path / "store.db"
        traces = [
            b"quetzalcoatlus",
            b"quetz",
            b"uetz",
            b"zalco",
            b"timbuktu",
            b"Timbuktu",
            b"xylophon",
            b"Zanzibar",
            b"secretplans",
        ]
        with Athand(location) as athand:
            athand.documents.add(another_tree, folder_id="kept")
            athand.documents.add(tree)
            assert found(athand.documents, "quetzalcoatlus")
            athand.documents.remove("project")
            for file in sorted(tmp_path.glob("store.db*")):
                for each in [file] if file.is_file() else sorted(file.rglob("*")):
                    if each.is_file():
                        data = each.read_bytes()
                        assert [trace for trace in traces if trace in data] == [], each
            assert found(athand.documents, "stays") == ["kept.md"]
            assert athand.check() == []

    def test_a_removed_document_leaves_no_letters_behind(self, tmp_path, tree):
        tree.write_all({"a.md": "quetzalcoatlus one", "b.md": "needle two"})
        with Athand(tmp_path / "store.db") as athand:
            athand.documents.add(tree)
            tree.remove("a.md")
            assert found(athand.documents, "quetzal") == []
            with athand.documents.store.snapshot() as snapshot:
                for letters in ("que", "uet", "coa"):
                    sql = "SELECT rowid FROM documents_literals WHERE documents_literals MATCH :letters"
                    assert snapshot.rows(sql, {"letters": letters}) == []

    @one_engine
    def test_it_can_be_added_again(self, documents, tree):
        documents.add(tree.write("a.md", "needle"))
        documents.remove("project")
        documents.add(tree)
        assert found(documents, "needle") == ["a.md"]

    def test_a_store_opened_again_knows_its_folders(self, tmp_path, tree):
        tree.write_all({f"{number:02}.md": "needle" for number in range(5)})
        with Athand(tmp_path / "store.db") as first:
            first.documents.add(tree)
            token = first.documents.search_content(exact_terms=["needle"], limit=2).continuation.next_token
        with Athand(tmp_path / "store.db") as second:
            assert [each.folder_id for each in second.documents.list_folders()] == ["project"]
            answer = second.documents.search_content(continuation_token=token)
            assert [each.document_id for each in answer.data.results] == ["02.md", "03.md"]


def test_a_store_that_can_only_be_read_still_answers(tmp_path, tree):
    location = tmp_path / "store.db"
    with Athand(location) as athand:
        athand.documents.add(tree.write_all({"a.md": "needle", "b.md": "needle"}))
    location.chmod(0o400)
    with Athand(location) as athand:
        documents = athand.documents
        first = documents.search_content(exact_terms=["needle"], limit=1)
        assert documents.search_content(continuation_token=first.continuation.next_token).data.results
        assert documents.list_documents("project", limit=1).continuation.next_token
        assert documents.search("needle")
        tree.write("c.md", "needle")
        answer = documents.search_content(exact_terms=["needle"])
        assert len(answer.data.results) == 2
        assert "read-only" in answer.freshness["project"]["problem"]


def test_a_removed_folder_leaves_no_spelling_behind(tmp_path, tree, another_tree):
    tree.write("a.md", "zebraed")
    another_tree.write("b.md", "zebra")
    with Athand(tmp_path / "store.db") as athand:
        athand.documents.add(tree)
        athand.documents.add(another_tree, folder_id="kept")
        athand.documents.remove("project")
        assert b"zebraed" not in (tmp_path / "store.db").read_bytes()


def test_reindexing_makes_the_same_again(athand, documents, tree):
    tree.write_all({f"{number}.md": f"# Title {number}\n\nneedle number {number} of many" for number in range(7)})
    documents.add(tree)
    before = documents.fingerprint()
    assert documents.reindex() == 7
    assert documents.fingerprint() == before
    assert len(found(documents, "needle")) == 7
    assert athand.check() == []


def test_any_call_may_be_the_first_one_in_memory(tree):
    tree.write("a.md", "needle")
    threads = []
    for call, *given in (
        ("list_documents", "project"),
        ("find_documents", "needle"),
        ("get_document_data", "project", "a.md"),
        ("get_document_text", "project", "a.md"),
    ):
        opened = Athand(":memory:")  # stays open: what waits for itself cannot be closed
        opened.documents.add(tree)
        threads.append(threading.Thread(target=getattr(opened.documents, call), args=given, daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()

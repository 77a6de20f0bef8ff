"""An index is made anew while others search and write; whatever ends it in the middle, the old index answers."""

import os
import signal
import threading
import time
from contextlib import closing, contextmanager

import apsw
import pytest
from tests.faults.stores import EMBEDDER, fork, opened

from athand import Athand
from athand.errors import StoreError, Unavailable
from athand.store.sqlite.rebuild import NewIndex

MINUTE = 60


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.db"


@contextmanager
def pausing(monkeypatch, step, at=1):
    """What is done in the block happens before this step of a rebuild, which it has for its own."""
    reached, go_on, calls, original = threading.Event(), threading.Event(), [], getattr(NewIndex, step)

    def paused(*given):
        calls.append(given)
        if len(calls) == at:
            reached.set()
            assert go_on.wait(MINUTE)
        return original(*given)

    monkeypatch.setattr(NewIndex, step, paused)
    try:
        yield reached, go_on
    finally:
        go_on.set()


def test_others_write_while_an_index_is_made_and_it_has_what_they_wrote(monkeypatch, path):
    with opened(path) as (_, memories), opened(path) as (_, others):
        for number in range(5):
            memories.add(f"Memory about kettle{number}", id=f"m{number}", project=f"p{number}")
        with pausing(monkeypatch, "_catch_up") as (reached, go_on):
            thread = threading.Thread(target=memories.reindex)
            thread.start()
            assert reached.wait(MINUTE)
            others.add("A lamp in a new project", id="lamp", project="new")
            others.delete("m0")
            others.delete("m1", hard=True)
            others.update("m2", content="It is about a carpet now")
            assert others.search("kettle3")[0].id == "m3"
            go_on.set()
            thread.join(MINUTE)
        assert not thread.is_alive()
        assert [hit.id for hit in others.search("lamp", limit=1)] == ["lamp"]
        assert [hit.id for hit in others.search("carpet", limit=1)] == ["m2"]
        assert "m0" not in {hit.id for hit in others.search("kettle0")}
        assert others.store.check_integrity() == [] and others.check() == []
        made = others.fingerprint()
        memories.reindex()
        assert others.fingerprint() == made


def test_a_write_between_the_last_look_and_the_exchange_is_in_the_new_index(monkeypatch, path):
    with opened(path) as (_, memories), opened(path) as (_, others):
        memories.add("Memory about a kettle", id="kettle")
        with pausing(monkeypatch, "replace_old") as (reached, go_on):
            thread = threading.Thread(target=memories.reindex)
            thread.start()
            assert reached.wait(MINUTE)
            others.add("Memory about a lamp", id="lamp")
            go_on.set()
            thread.join(MINUTE)
        assert memories.search("lamp")[0].id == "lamp"
        assert memories.store.check_integrity() == [] and memories.check() == []


def test_a_document_that_changes_meanwhile_is_found_by_its_new_text_only(monkeypatch, path, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Kettle\n\nThe kettle boils over.\n")
    (folder / "b.md").write_text("# Lamp\n\nThe lamp is lit.\n")
    with Athand(path) as athand, Athand(path) as others:
        folder_id = athand.documents.add(folder, folder_id="docs").folder_id
        with pausing(monkeypatch, "_catch_up") as (reached, go_on):
            thread = threading.Thread(target=athand.documents.reindex)
            thread.start()
            assert reached.wait(MINUTE)
            (folder / "a.md").write_text("# Carpet\n\nThe carpet is red, and quite long.\n")
            (folder / "b.md").unlink()
            others.documents.refresh(folder_id)
            go_on.set()
            thread.join(MINUTE)
        for text, found in (("kettle boils", 0), ("carpet is red", 1), ("lamp is lit", 0)):
            assert len(others.documents.search_content(exact_terms=[text]).data.results) == found
        assert others.check() == []
        made = others.documents.fingerprint()
        athand.documents.reindex()
        assert others.documents.fingerprint() == made


@pytest.mark.parametrize("step", ["_put", "_catch_up", "_copy_tables", "_copy_statistics", "_renew_coverage"])
def test_killed_at_any_step_the_old_index_answers_and_the_next_one_is_made_in_full(path, step):
    with opened(path) as (_, memories):
        memories.add("Memory about a kettle", id="kettle")
        before = memories.fingerprint()
    killed = fork(_die_in_a_rebuild, path, step)
    killed.join(MINUTE)
    assert killed.exitcode == -signal.SIGKILL
    with opened(path) as (store, memories):
        assert memories.search("kettle")[0].id == "kettle"
        assert memories.fingerprint() == before and store.check_integrity() == []
        memories.reindex()
        assert memories.fingerprint() == before and store.check_integrity() == []


def _die_in_a_rebuild(path, step):
    setattr(NewIndex, step, lambda *given: os.kill(os.getpid(), signal.SIGKILL))
    with opened(path) as (_, memories):
        memories.reindex()


def test_closing_ends_a_rebuild_soon_and_leaves_the_old_index_and_no_file(monkeypatch, path):
    athand = Athand(path)
    athand.memories.add("Memory about a kettle", id="kettle")
    ended = []

    def reindex():
        with pytest.raises((StoreError, Unavailable)) as raised:
            athand.memories.reindex()
        ended.append(str(raised.value))

    with pausing(monkeypatch, "_catch_up") as (reached, go_on):
        thread = threading.Thread(target=reindex)
        thread.start()
        assert reached.wait(MINUTE)
        closing = threading.Thread(target=athand.close)
        closing.start()
        while not athand.memories.closing.is_set():
            time.sleep(0.01)
        go_on.set()
        for each in (thread, closing):
            each.join(MINUTE)
    [message] = ended
    assert "closed" in message or "program ended" in message
    assert list(path.parent.glob(".*unfinished*")) == []
    with opened(path) as (store, memories):
        assert memories.search("kettle")[0].id == "kettle" and store.check_integrity() == []


def test_a_damaged_index_is_made_anew_with_everything_that_is_stored(path):
    with opened(path) as (store, memories):
        for number in range(20):
            memories.add(f"Memory about kettle{number}", id=f"m{number}")
        whole = memories.fingerprint()
        with closing(apsw.Connection(str(path))) as connection:
            connection.execute("DELETE FROM memories_passages WHERE number % 2; DELETE FROM vocabulary")
            connection.execute("DELETE FROM spaces WHERE space <> ''; UPDATE memories_words_data SET block = x'00'")
        assert store.check_integrity() != []
        memories.reindex()
        assert store.check_integrity() == [] and memories.fingerprint() == whole
        assert EMBEDDER.problem is None

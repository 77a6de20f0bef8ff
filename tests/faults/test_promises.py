"""What a write promises, looked at where it would be broken: on the disk, a moment later, by another reader."""

import os
import signal
from contextlib import ExitStack, closing
from datetime import UTC, datetime

import apsw
import numpy as np
import pytest
from powerloss import RecordingVFS
from stores import EMBEDDER, fork, opened

from athand import Athand
from athand.app import SCHEMAS
from athand.errors import DataError, StoreBusy, StoreError
from athand.flows import Flows
from athand.memories import Memories
from athand.store import restore_store
from athand.store.sqlite import SqliteStore, backup, connections

MINUTE = 60
WRITES = 120
DEEDS = {
    "a memory": lambda memories, flows: memories.add("Tokens rotate daily"),
    "many memories": lambda memories, flows: memories.add_many({"content": f"Fact {at}"} for at in range(3)),
    "a change": lambda memories, flows: memories.update("old", content="Something new"),
    "a file": lambda memories, flows: memories.folder("shop").create("/memories/notes.md", "a note\n"),
    "a changed file": lambda memories, flows: memories.folder("shop").str_replace("/memories/old.md", "old", "new"),
    "a session": lambda memories, flows: flows.start_session(app="wallet", id="second"),
    "a step": lambda memories, flows: flows.record("walk", tool="ui_click", target={"testId": "send"}),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_what_was_acknowledged_is_on_the_disk(tmp_path, deed):
    disk = RecordingVFS(tmp_path.name)
    with closing(SqliteStore(str(tmp_path / "r.db"), SCHEMAS, tmp_path.name)) as store:
        memories, flows = Memories(store, EMBEDDER), Flows(store, EMBEDDER)
        memories.add("The old one", id="old")
        memories.folder("shop").create("/memories/old.md", "an old note\n")
        flows.start_session(app="wallet", id="walk")
        disk.events.clear()
        DEEDS[deed](memories, flows)
        log = [event[1] for event in disk.events if event[0] == "r.db-wal"]
    disk.unregister()
    assert "write" in log and log[-1] == "sync"


def test_what_was_acknowledged_is_there_though_the_process_dies_at_once(tmp_path):
    with opened(tmp_path / "r.db"):
        pass
    for number in range(3):
        writer = fork(_add_and_die, tmp_path / "r.db", f"m{number}")
        writer.join(MINUTE)
        assert writer.exitcode == -signal.SIGKILL
        with opened(tmp_path / "r.db") as (_, memories):
            assert memories.get(f"m{number}").id == f"m{number}"


def _add_and_die(path, id_):
    with opened(path) as (_, memories):
        memories.add(f"Remember {id_}", id=id_)
        os.kill(os.getpid(), signal.SIGKILL)


def test_not_one_of_many_writes_is_lost(tmp_path):
    path = tmp_path / "r.db"
    with opened(path) as (_, memories):
        for number in range(WRITES):
            memories.add(f"Fact number {number}", id=f"m{number}")
    with closing(apsw.Connection(str(path))) as connection:
        assert {id_ for (id_,) in connection.execute("SELECT id FROM memories")} == {f"m{at}" for at in range(WRITES)}


def test_a_document_and_its_passages_appear_together(tmp_path):
    folder, path = tmp_path / "notes", tmp_path / "r.db"
    folder.mkdir()
    (folder / "a.md").write_text("# Kettle\n\nThe kettle boils over.\n")
    seen = set()
    with Athand(path) as athand, closing(apsw.Connection(str(path))) as other:
        for connection in _connections(athand._store):
            connection.exec_trace = lambda *_: seen.add(_documents_and_passages(other)) or True
        athand.documents.add(folder, folder_id="notes")
    assert seen == {(0, 0, 0), (1, 1, 1)}


def _connections(store):
    """All connections that a store may use."""
    with ExitStack() as borrowed:
        return [borrowed.enter_context(store._connections.borrow()) for _ in range(connections._POOL_SIZE)]


def _documents_and_passages(connection):
    return connection.execute(
        "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM document_chunks), "
        "(SELECT count(*) FROM documents_passages)"
    ).fetchone()


@pytest.fixture
def filled(tmp_path):
    with opened(tmp_path / "r.db") as (_, memories):
        memories.add("Tokens rotate daily", id="old")
    return tmp_path / "r.db"


def test_a_backup_that_would_not_be_whole_is_not_kept(filled, tmp_path):
    with closing(apsw.Connection(str(filled))) as connection:
        connection.execute("DELETE FROM memories_passages")
    with Athand(filled) as athand, pytest.raises(DataError, match="The copy is damaged"):
        athand.back_up(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_a_store_in_use_is_not_replaced(filled, tmp_path, monkeypatch):
    monkeypatch.setattr(backup, "_BUSY_MILLISECONDS", 100)  # it is open for as long as it is waited for
    with Athand(filled) as athand:
        copy = athand.back_up(tmp_path / "copy.db")
        with closing(apsw.Connection(str(filled))) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match="Stop it first"):
                restore_store(str(filled), copy, datetime.now(UTC))


def test_another_vector_is_another_index(filled):
    with opened(filled) as (store, memories):
        before = memories.fingerprint()
        [(vector,)] = _rows(store, "SELECT vector FROM vectors")
        changed = np.frombuffer(vector, "<f2")[::-1].tobytes()
        with closing(apsw.Connection(str(filled))) as connection:
            connection.execute("UPDATE vectors SET vector = ?", (changed,))
        assert memories.fingerprint() != before


def _rows(store, sql):
    with store.snapshot() as snapshot:
        return snapshot.rows(sql)


def test_a_full_disk_is_called_so(filled):
    with opened(filled) as (store, memories):
        for connection in _connections(store):
            connection.pragma("max_page_count", connection.pragma("page_count"))
        with pytest.raises(
            StoreError, match=r"The disk of .* is full. Nothing of this write was kept; free some space"
        ):
            memories.add_many({"content": f"Fact number {at} " + "kettle " * 200} for at in range(50))

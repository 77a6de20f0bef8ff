"""A database file that others are just creating is waited for."""

import threading

import apsw
from tests.waiting import PATIENCE

from athand.app import SCHEMAS
from athand.store.sqlite import SqliteStore


def test_a_new_store_is_opened_while_another_process_creates_it(tmp_path):
    path, opened, failed = tmp_path / "r.db", [], []

    def open_it():
        try:
            opened.append(SqliteStore(str(path), SCHEMAS))
        except Exception as error:
            failed.append(error)

    creator = apsw.Connection(str(path))
    creator.execute("BEGIN IMMEDIATE")  # SQLite itself does not wait for one who is about to write a new file
    opening = threading.Thread(target=open_it)
    opening.start()
    opening.join(1)  # it would have failed long ago
    assert not failed
    assert opening.is_alive()
    creator.close()
    opening.join(PATIENCE)
    assert not failed
    assert opened[0].check_integrity() == []
    opened[0].close()

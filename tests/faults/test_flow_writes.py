"""What is recorded of a walk is on the disk when it is acknowledged: a power cut right afterwards loses none of it."""

import json
from collections import Counter

import pytest
from powerloss import RecordingVFS
from stores import EMBEDDER

from athand.app import SCHEMAS
from athand.flows import Flows
from athand.store.sqlite import SqliteStore

PAGE = {"url": "https://shop.test/login", "test_ids": [{"testId": "log-in"}]}


@pytest.fixture
def disk():
    vfs = RecordingVFS("flows")
    yield vfs
    vfs.unregister()


@pytest.fixture
def flows(tmp_path, disk):
    store = SqliteStore(str(tmp_path / "r.db"), SCHEMAS, "flows")
    yield Flows(store, EMBEDDER)
    store.close()


def unsafe(events):
    """How many writes of each file the disk may still lose."""
    waiting = Counter()
    for name, what, *_ in events:
        if what == "sync":
            del waiting[name]
        elif what == "write":  # a log that is emptied is in the file already
            waiting[name] += 1
    return waiting


def test_every_write_of_flows_waits_for_the_disk(flows, disk, tmp_path):
    (tmp_path / "old" / "steps").mkdir(parents=True)
    (tmp_path / "old" / "session.json").write_text('{"sessionId": "old", "goal": "Pay"}')
    step = {"timestamp": "2026-03-01T12:00:00+00:00", "tool": {"name": "click", "target": {"testId": "pay"}}}
    (tmp_path / "old" / "steps" / "1.json").write_text(json.dumps(step))
    password = {"tool": "type", "target": {"testId": "password"}, "input": {"text": "correct horse 7!"}}
    writes = {
        "start": lambda: flows.start_session(id="walk", goal="Log in"),
        "step": lambda: flows.record("walk", tool="click", target={"testId": "log-in"}, before=PAGE),
        "secret": lambda: flows.record("walk", before=PAGE, **password),
        "import": lambda: flows.import_(tmp_path / "old"),
        "rejection": lambda: flows.reject_heal(flows.steps("walk")[0], "other"),
        "deletion": lambda: flows.delete("walk"),
    }
    for name, write in writes.items():
        disk.events.clear()
        write()
        assert any(what == "write" for _, what, *_ in disk.events), name
        assert not unsafe(disk.events), name

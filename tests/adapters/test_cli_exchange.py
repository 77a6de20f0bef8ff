"""All that is one's own in one file: written, read into another engine, refused when it is not what it should be."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.tools.servers.kit import write_config
from tests.waiting import PATIENCE

from athand import Athand, archive_file
from athand.errors import BadData, Conflict, NotFound, StoreError
from athand.flows import Observation


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """An archive of a store that has something of everything, and what is in the store."""
    folder = tmp_path_factory.mktemp("archive")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text("# Deploys\n\nStaging deploys need the VPN.")
    with Athand(folder / "store.db") as athand:
        fill(athand, folder)
        done = athand.export(folder / "all.zip")
    assert (done.memories, done.sessions, done.tools, done.rules, done.folders) == (2, 2, 2, 1, 1)
    return folder / "all.zip"


def fill(athand, folder):
    athand.memories.start_session("shop", id="audit")
    athand.memories.add("Tokens rotate every 24 h", project="shop", id="old")
    athand.memories.add("Tokens rotate every 12 h", project="shop", id="new", session="audit", tags=["auth"])
    athand.memories.supersede("old", "new")
    athand.documents.add(folder / "notes")
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    tools = [
        {"name": "find", "description": "Finds issues\u2028of all projects", "inputSchema": schema},
        {"name": "drop", "inputSchema": schema},
    ]
    athand.tools.add("jira", tools)
    athand.tools.reject("jira__drop")
    athand.tools.rule("jira__*", "ask")
    for app in ("shop", "default"):
        session = athand.flows.start_session(goal=f"Buy in {app}", app=app, id=f"walk-{app}")
        seen = Observation("cart", "https://shop.test", ({"testId": "pay", "visible": True},), ())
        athand.flows.record(session.id, tool="click", target={"testId": "pay"}, before=seen)


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "athand.json"}


def test_the_same_comes_out_of_every_engine(archive, athand, tmp_path):
    done = athand.import_(archive)
    assert (done.memories, done.sessions, done.tools, done.servers, done.rules, done.folders) == (2, 2, 2, 1, 1, 1)
    assert done.problems == ()
    assert athand.check() == []
    assert athand.import_(archive).to_dict() == {**dict.fromkeys(done.to_dict(), 0), "waiting": [], "problems": []}
    athand.export(tmp_path / "again.zip")
    again, first = contents(tmp_path / "again.zip"), contents(archive)
    assert {name for name in first if again[name] != first[name]} == {"tools.jsonl"}  # its tools are not approved here
    athand.tools.approve("jira__find")
    assert [hit.id for hit in athand.tools.search("find issues")] == ["jira__find"]
    assert athand.tools.describe("jira__drop").state == "rejected"
    assert [hit.id for hit in athand.memories.search("tokens")] == ["new"]
    athand.documents.refresh("notes")
    assert athand.documents.search("deploys")[0].item.document_id == "a.md"


def test_the_command_line_exports_and_imports(run, archive, tmp_path):
    read = run("import", str(archive))
    assert read.code == 0
    assert "2 memories, 2 flows, 2 tools, 1 server, 1 rule, 1 folder" in read.err
    target = tmp_path / "mine.zip"
    assert run("export", str(target), "--json").json["memories"] == 2
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert run("export", str(target)).code == 1
    assert "{odd}" in run("export", str(tmp_path / "{odd}.zip")).err
    assert run("export", str(target), "--force").code == 0
    assert not [each.name for each in tmp_path.iterdir() if each.name.startswith(".")]


def repacked(archive, target, change):
    """The archive with its files changed, and a header that fits them if the change does not say otherwise."""
    files = contents(archive)
    change(files)
    with zipfile.ZipFile(target, "w") as out:
        for name, data in files.items():
            out.writestr(name, data)
        if "athand.json" not in files:
            hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
            out.writestr("athand.json", json.dumps({"format": "athand-archive", "version": 1, "files": hashes}))
    return target


def edit(name, old, new):
    return lambda files: files.update({name: files[name].replace(old, new)})


@pytest.mark.parametrize(
    "change",
    [
        lambda files: files.update({"../evil.json": b"{}"}),
        lambda files: files.update({"/tmp/evil.json": b"{}"}),
        lambda files: files.update({"flows/shop/../../evil/session.json": b"{}"}),
        lambda files: files.update({"flows/..\\x/y/session.json": b"{}"}),
        lambda files: files.update({"something.txt": b""}),
        lambda files: files.update({"athand.json": b"[]"}),
        lambda files: files.update({"athand.json": b'{"format": "athand-archive", "version": 2}'}),
        lambda files: files.update({"athand.json": b'{"format": "athand-archive", "version": 1, "files": {}}'}),
        lambda files: files.update({"tools.jsonl": b"{broken"}),
        lambda files: files.update({"tools.jsonl": b'{"table": "memories", "space": "a", "id": "b"}\n'}),
        lambda files: files.update({"tools.jsonl": b'{"table": "tool_rules", "space": 1, "pattern": [2]}\n'}),
        lambda files: files.update({"tools.jsonl": b'{"table": "tool_rules", "space": "a\xff"}\n'}),
        lambda files: files.update({"tools.jsonl": b'{"table": "tool_trust", "space": "", "path": "/x", "hash": 1}\n'}),
        lambda files: files.update({"tools.jsonl": b'{"table": "tool_rules", "id); DROP TABLE tools; --": 1}\n'}),
        edit("tools.jsonl", b'"space": "default"', b'"space": "a\\u0000b"'),
        edit("tools.jsonl", b'"state": "rejected"', b'"state": "trusted"'),
        edit("tools.jsonl", b'"id": "jira__find"', b'"id": "other__find"'),
        edit("tools.jsonl", b'"created_at": ', b'"created_at": 9999999999'),
        edit("tools.jsonl", b'"transport": "none"', b'"source": "relative.json", "transport": "stdio"'),
        edit("tools.jsonl", b'"decision": "ask"', b'"decision": "maybe"'),
        edit("folders.jsonl", b'"space": "notes"', b'"space": "../notes"'),
        edit("folders.jsonl", b'"path": "/', b'"path": "'),
        edit("folders.jsonl", b'"added_at": ', b'"added_at": -9999999999999'),
        edit("tools.jsonl", b"Finds issues", b"Sends secrets"),
        edit("memories.jsonl", b'"kind"', b'"kine"'),
    ],
)
def test_an_archive_that_is_not_ours_is_refused(archive, tmp_path, change):
    strange = repacked(archive, tmp_path / "strange.zip", change)
    with Athand(":memory:") as athand:
        with pytest.raises(BadData):
            athand.import_(strange)
        assert athand.tools.list() == []
        assert athand.check() == []
    assert not Path("/tmp/evil.json").exists()


def test_an_archive_that_swells_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_file, "_SMALL", 1_000_000)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("memories.jsonl", b"0" * 9_000_000)
        out.writestr(
            "athand.json",
            json.dumps({"format": "athand-archive", "version": 1, "files": {"memories.jsonl": "0" * 64}}),
        )
    with Athand(":memory:") as athand, pytest.raises(BadData, match="more room"):
        athand.import_(bomb)


def test_what_is_no_archive_is_named(tmp_path):
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 not really")
    with Athand(":memory:") as athand:
        with pytest.raises(BadData, match="no archive"):
            athand.import_(tmp_path / "x.zip")
        with pytest.raises(NotFound, match="athand export"):
            athand.import_(tmp_path / "none.zip")
        with pytest.raises(Conflict, match="--force"):
            athand.export(tmp_path / "x.zip")


def test_an_archive_that_cannot_be_unpacked_here_is_told(archive, tmp_path):
    name = f"flows/{'é' * 250}/walk/session.json"  # too long for a file system, short enough for a zip
    strange = repacked(archive, tmp_path / "long.zip", lambda files: files.update({name: b"{}"}))
    with Athand(":memory:") as athand, pytest.raises(StoreError, match="Nothing was imported"):
        athand.import_(strange)


def test_an_archive_of_another_compression_that_is_damaged_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_LZMA) as out:
        out.writestr("athand.json", json.dumps({"format": "athand-archive", "padding": "x" * 100}))
    data = bytearray((tmp_path / "x.zip").read_bytes())
    data[60:70] = b"\xff" * 10
    (tmp_path / "x.zip").write_bytes(data)
    with Athand(":memory:") as athand, pytest.raises(BadData, match="damaged"):
        athand.import_(tmp_path / "x.zip")


def test_nothing_is_written_over_a_folder_or_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with Athand(tmp_path / "store.db") as athand:
        for target in (tmp_path, tmp_path / "pipe", tmp_path / "link"):
            for write in (athand.export, athand.back_up, lambda path, force: athand.memories.export(path)):
                with pytest.raises(StoreError, match="is no file"):
                    write(target, force=True)
    assert stat.S_ISFIFO((tmp_path / "link").stat().st_mode)


def test_nothing_is_written_over_the_store_itself(tmp_path):
    place = tmp_path / "store.db"
    (tmp_path / "link.db").symlink_to(place)
    with Athand(tmp_path / "link.db") as athand:
        athand.memories.add("first", id="first")
        for target in (place, tmp_path / "link.db", tmp_path / "store.db-wal"):
            for write in (athand.export, athand.back_up):
                with pytest.raises(Conflict, match="the store itself"):
                    write(target, force=True)
            with pytest.raises(Conflict, match="the store itself"):
                athand.memories.export(target)
    with Athand(place) as athand:
        assert athand.check() == []
        assert [memory.id for memory in athand.memories.list()] == ["first"]


STUCK = """
import sys, time
from athand import archive
from athand.adapters.cli import main
def write_parts(content, snapshot, archive, progress):
    archive.add("memories.jsonl", [b"private" * 1_000_000])
    print("begun", flush=True)
    while True:
        time.sleep(0.01)  # one long sleep may begin just after a signal, and hear nothing of it
archive._write_parts = write_parts
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_export_that_is_ended_leaves_nothing(tmp_path, number, code):
    out = tmp_path / "out"
    out.mkdir()
    with Athand(str(tmp_path / "store.db")):
        pass
    words = [sys.executable, "-c", STUCK, "export", str(out / "all.zip"), "--store", str(tmp_path / "store.db")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        try:
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, list(out.iterdir())) == (code, [])


def test_servers_come_along_without_their_secrets(tmp_path):
    config = write_config(tmp_path / "servers.json", ghost={"command": "no-such", "env": {"KEY": "s3cret-value"}})
    with Athand(":memory:") as athand:
        athand.tools.load(config, connect=False)
        athand.export(tmp_path / "all.zip")
    assert b"ghost" in contents(tmp_path / "all.zip")["tools.jsonl"]
    assert not any(b"s3cret-value" in data for data in contents(tmp_path / "all.zip").values())


def test_the_command_line_backs_up_and_restores(run, add, tmp_path):
    add("first", "--id", "first")
    made = run("backup", "--json")
    assert made.json["verified"]
    add("second", "--id", "second")
    backup = made.json["backup"]
    assert run("backup", backup).code == 1
    asked = run("restore", backup)
    assert asked.code == 2
    assert "--yes" in asked.err
    restored = run("restore", backup, "--yes", "--json")
    assert Path(restored.json["kept"]).is_file()
    assert [each["id"] for each in run("memory", "list", "--json").json] == ["first"]
    assert run("restore", str(tmp_path / "nothing.db"), "--yes").code == 1
    assert run("backup", str(tmp_path / "named.db"), "-q").out.strip() == str(tmp_path / "named.db")
